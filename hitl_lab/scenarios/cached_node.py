"""A node with a CachePolicy runs before a node that asks; the second thread finds its result in the cache.

A cached task does not run and yet its writes are applied: "applied" without a run of the node.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.cache.memory import InMemoryCache
from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy, interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def lookup(state):
    return {"log": ["stock: 3"]}


def ask(state):
    return {"log": [f"answer: {interrupt('How many?')}"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    # the default key hashes the node's input, so the same input hits on another thread too
    graph.add_node("lookup", kind(lookup), cache_policy=CachePolicy())
    graph.add_node("ask", kind(ask))
    graph.add_edge(START, "lookup")
    graph.add_edge("lookup", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver, cache=InMemoryCache())


SCENARIO = Scenario(
    name="cached_node",
    title="A cached node's writes are applied without a run",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(
        Invoke({"log": ["order"]}),
        Resume("2"),
        Invoke({"log": ["order"]}, thread="second"),
        Resume("1", thread="second"),
    ),
    topic="errors",
)
