"""The state holds a lock, which no checkpointer can serialise, before a node that asks.

When it fails depends on the durability mode: "sync" fails before the node that asks, "async" and "exit" after it ran,
and "exit" has saved nothing at all.
"""

import threading
from functools import partial
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Scenario, as_async, as_is


class State(TypedDict):
    lock: Any
    answer: str


def take_lock(state):
    return {"lock": threading.Lock()}


def ask(state):
    return {"answer": interrupt("Ready?")}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("take_lock", kind(take_lock))
    graph.add_node("ask", kind(ask))
    graph.add_edge(START, "take_lock")
    graph.add_edge("take_lock", "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="unserialisable_state",
    title="A value that cannot be saved: when it fails depends on the durability mode",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"answer": ""}),),
    topic="state",
    cases=("A35",),
    racy=True,
)
