"""A run is asked to stop at the next superstep, by RunControl.request_drain(), before a node that asks.

The superstep under way is finished and saved, then invoke() raises GraphDrained; None goes on from there.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import interrupt

from ._scenario import Continue, Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def write(state):
    get_runtime().control.request_drain("the server shuts down")
    return {"log": ["written"]}


def ask(state):
    return {"log": [f"answer: {interrupt('Ready?')}"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("write", kind(write))
    graph.add_node("ask", kind(ask))
    graph.add_edge(START, "write")
    graph.add_edge("write", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="drained",
    title="A run that is asked to stop ends between two supersteps",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"log": []}), Continue(), Resume("yes")),
    topic="errors",
    needs=("langgraph>=1.2.0",),
)
