"""Two branches of different length meet in `join`; the longer one asks a person.

The short branch is applied long before the pause. A join over both names waits for both; a plain node with two
incoming edges runs once per superstep that reaches it; defer=True makes it wait for the end of the run.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def short(state):
    return {"log": ["short"]}


def long(state):
    return {"log": ["long"]}


def ask(state):
    return {"log": [f"ask: {interrupt('Ready?')}"]}


def join(state):
    return {"log": [f"join saw {len(state['log'])}"]}


def build(saver, kind=as_is, how="both"):
    graph = StateGraph(State)
    for node in (short, long, ask):
        graph.add_node(node.__name__, kind(node))
    graph.add_node("join", kind(join), defer=how == "deferred")
    graph.add_edge(START, "short")
    graph.add_edge(START, "long")
    graph.add_edge("long", "ask")
    if how == "both":
        graph.add_edge(["short", "ask"], "join")
    else:
        graph.add_edge("short", "join")
        graph.add_edge("ask", "join")
    graph.add_edge("join", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, how):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, how=how),
        abuild=partial(build, how=how, kind=as_async),
        story=(Invoke({"log": []}), Resume("yes")),
        topic="parallel",
    )


SCENARIOS = (
    variant("join_waits", "A join over two branches runs once, after the answer", "both"),
    variant("join_twice", "A node with two plain edges runs before the answer and again after it", "plain"),
    variant("join_deferred", "A deferred node waits for the branch that asked", "deferred"),
)
