"""A draft is made in the node that asks about it: the person approves one draft, another one is sent.

The node runs again after the answer and makes a new draft. Made by a node of its own, the approved draft is in the
state and is the one that is sent.
"""

from functools import partial
from itertools import count
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    topic: str
    draft: str
    approved: str
    sent: str


def build(saver, kind=as_is):
    drafts = count(1)  # stands for a model, which writes something else each time

    def write_and_send(state):
        draft = f"draft {next(drafts)} on {state['topic']}"
        return {"approved": interrupt(draft), "sent": draft}

    graph = StateGraph(State)
    graph.add_node("write_and_send", kind(write_and_send))
    graph.add_edge(START, "write_and_send")
    graph.add_edge("write_and_send", END)
    return graph.compile(checkpointer=saver)


def build_split(saver, kind=as_is):
    drafts = count(1)

    def write(state):
        return {"draft": f"draft {next(drafts)} on {state['topic']}"}

    def send(state):
        return {"approved": interrupt(state["draft"]), "sent": state["draft"]}

    graph = StateGraph(State)
    graph.add_node("write", kind(write))
    graph.add_node("send", kind(send))
    graph.add_edge(START, "write")
    graph.add_edge("write", "send")
    graph.add_edge("send", END)
    return graph.compile(checkpointer=saver)


def approve(snapshot):
    return snapshot.interrupts[0].value


STORY = (Invoke({"topic": "refunds"}), Resume(approve))

SCENARIOS = (
    Scenario(
        name="changed_draft",
        title="The person approves draft 1, draft 2 is sent",
        build=build,
        abuild=partial(build, kind=as_async),
        story=STORY,
        topic="state",
        cases=("A08",),
    ),
    Scenario(
        name="kept_draft",
        title="The draft in a node of its own: what was approved is sent",
        build=build_split,
        abuild=partial(build_split, kind=as_async),
        story=STORY,
        topic="state",
        cases=("A08",),
    ),
)
