"""A node of a subgraph asks, then leaves the subgraph with Command(graph=Command.PARENT).

The command travels up as an exception: the subgraph ends at once, and its update and goto are the parent's.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def ask(state):
    target = interrupt("Who takes over?")
    return Command(graph=Command.PARENT, update={"log": [f"handed to {target}"]}, goto=target)


def sales(state):
    return {"log": ["sales took over"]}


def support(state):
    return {"log": ["support took over"]}


def build(saver, kind=as_is):
    inner = StateGraph(State)
    inner.add_node("ask", kind(ask))
    inner.add_edge(START, "ask")
    graph = StateGraph(State)
    graph.add_node("desk", inner.compile(), destinations=("sales", "support"))
    graph.add_node("sales", kind(sales))
    graph.add_node("support", kind(support))
    graph.add_edge(START, "desk")
    graph.add_edge("sales", END)
    graph.add_edge("support", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="parent_command",
    title="A subgraph's node asks, then sends its parent elsewhere",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"log": []}), Resume("sales")),
    topic="subgraphs",
)
