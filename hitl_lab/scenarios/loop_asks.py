"""A node that asks is visited again and again by a loop over the graph.

Every visit is a new task and pauses anew; the answers of earlier visits are in the state and are not asked again.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def write(state):
    return {"log": [f"draft {len(state['log']) // 2 + 1}"]}


def ask(state):
    return {"log": [interrupt(f"Is {state['log'][-1]} good?")]}


def again(state):
    return END if state["log"][-1] == "yes" else "write"


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("write", kind(write))
    graph.add_node("ask", kind(ask))
    graph.add_edge(START, "write")
    graph.add_edge("write", "ask")
    graph.add_conditional_edges("ask", again, ["write", END])
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="loop_asks",
    title="A loop pauses at every visit of the node that asks",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"log": []}), Resume("no"), Resume("no"), Resume("yes")),
    topic="control flow",
    cases=("A13",),
)
