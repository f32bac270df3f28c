"""A graph stops at a breakpoint; a new deployment has one state key less.

The checkpoint still counts the removed channel as new to the breakpoint, so it fires again at every call with None and
the graph never goes on.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph

from ._scenario import Continue, Invoke, Rebuild, Scenario, as_async, as_is


class Old(TypedDict):
    log: Annotated[list[str], operator.add]
    mood: str


class New(TypedDict):
    log: Annotated[list[str], operator.add]


def write(state):
    return {"log": ["written"], "mood": "good"}


def write_new(state):
    return {"log": ["written"]}


def publish(state):
    return {"log": ["published"]}


def build(saver, kind=as_is, schema=Old, write=write):
    graph = StateGraph(schema)
    graph.add_node("write", kind(write))
    graph.add_node("publish", kind(publish))
    graph.add_edge(START, "write")
    graph.add_edge("write", "publish")
    graph.add_edge("publish", END)
    return graph.compile(checkpointer=saver, interrupt_before=["publish"])


SCENARIO = Scenario(
    name="schema_drift",
    title="A state key removed while paused: the breakpoint fires for ever",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(
        Invoke({"log": ["order"], "mood": "fair"}),
        Rebuild(partial(build, schema=New, write=write_new)),
        Continue(),
        Continue(),
        Continue(),
    ),
    topic="breakpoints",
    cases=("A20",),
)
