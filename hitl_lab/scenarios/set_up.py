"""What goes wrong around the graph: no checkpointer, no thread id, another thread, another saver.

Without a checkpointer the pause looks normal and only the answer fails. On another thread, or after a restart with a
new saver, the answer starts a run from nothing, and nobody says so.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Continue, Invoke, Rebuild, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def ask(state):
    return {"log": [f"answer: {interrupt('Ready?')}"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("ask", kind(ask))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def build_without(saver, kind=as_is):
    return build(None, kind)


def without_thread(configurable, saver):
    return {}


def misspelt(configurable, saver):
    return {"thread": configurable["thread_id"]}


# without a checkpointer "sync" ends in an AttributeError of LangGraph's own, the other modes in a warning
NO_DURABILITY = {"durability": None}


def variant(name, title, *then, build=build, configurable=None):
    options = NO_DURABILITY if build is build_without else {}
    return Scenario(
        name=name,
        title=title,
        build=build,
        abuild=partial(build, kind=as_async),
        story=(Invoke({"log": ["order"]}, options=options), *then),
        topic="set-up",
        cases=("A34",),
        configurable=configurable,
    )


SCENARIOS = (
    variant(
        "no_checkpointer",
        "Without a checkpointer the pause looks normal, only the answer fails",
        Resume("yes", options=NO_DURABILITY),
        build=build_without,
    ),
    variant("no_thread_id", "Without a thread id nothing runs", configurable=without_thread),
    variant("misspelt_thread_id", "With a misspelt thread id nothing runs", configurable=misspelt),
    variant("other_thread", "The answer on another thread starts from nothing", Resume("yes", thread="other")),
    variant(
        "new_saver", "The answer after a restart with a new saver", Rebuild(build, saver=InMemorySaver), Resume("yes")
    ),
    variant("same_saver", "The answer after a restart on the same saver goes on", Rebuild(build), Resume("yes")),
    variant(
        "nothing_to_resume",
        "An answer and None after the run has ended do nothing",
        Resume("yes"),
        Resume("again"),
        Continue(),
    ),
)
