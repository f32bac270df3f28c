"""A node asks, then goes where the answer says by returning Command(goto=..., update=...).

The Command is a return value like any other. A static edge from the same node is not replaced by it: with both, both
targets run.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def decide(state):
    answer = interrupt("Send or discard?")
    return Command(update={"log": [f"decided: {answer}"]}, goto=answer)


def send(state):
    return {"log": ["sent"]}


def discard(state):
    return {"log": ["discarded"]}


def build(saver, kind=as_is, edge=False):
    graph = StateGraph(State)
    graph.add_node("decide", kind(decide), destinations=("send", "discard"))
    graph.add_node("send", kind(send))
    graph.add_node("discard", kind(discard))
    graph.add_edge(START, "decide")
    if edge:
        graph.add_edge("decide", "send")
    graph.add_edge("send", END)
    graph.add_edge("discard", END)
    return graph.compile(checkpointer=saver)


SCENARIOS = (
    Scenario(
        name="command_goto",
        title="Command(goto=...) after the answer chooses the next node",
        build=build,
        abuild=partial(build, kind=as_async),
        story=(Invoke({"log": []}), Resume("discard")),
        topic="control flow",
    ),
    Scenario(
        name="command_goto_and_edge",
        title="Command(goto=...) beside a static edge: both targets run",
        build=partial(build, edge=True),
        abuild=partial(build, kind=as_async, edge=True),
        story=(Invoke({"log": []}), Resume("discard")),
        topic="control flow",
        cases=("A07",),
    ),
)
