"""A channel declared UntrackedValue holds a connection that no checkpoint may contain.

It is applied like any other write and seen by later nodes of the same run, but it is never saved: after the pause it is
gone, and the resumed node finds nothing.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.channels import UntrackedValue
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    connection: Annotated[str, UntrackedValue(str)]
    log: Annotated[list[str], operator.add]


def connect(state):
    return {"connection": "open", "log": ["connected"]}


def ask(state):
    seen = state.get("connection", "no connection")
    answer = interrupt(f"Go on with: {seen}?")
    return {"log": [f"{answer}, {seen}"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("connect", kind(connect))
    graph.add_node("ask", kind(ask))
    graph.add_edge(START, "connect")
    graph.add_edge("connect", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="untracked_value",
    title="An untracked value does not survive the pause",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"log": []}), Resume("yes")),
    topic="state",
)
