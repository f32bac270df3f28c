"""After the answer a loop never ends, until the recursion limit stops it.

GraphRecursionError comes out, every superstep before it is saved; None starts another round of the same length.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from ._scenario import Continue, Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def ask(state):
    return {"log": [f"answer: {interrupt('Ready?')}"]}


def spin(state):
    return {"log": ["spin"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("ask", kind(ask))
    graph.add_node("spin", kind(spin))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "spin")
    graph.add_edge("spin", "spin")
    return graph.compile(checkpointer=saver).with_config(recursion_limit=4)


SCENARIO = Scenario(
    name="endless_loop",
    title="The recursion limit ends a loop; what ran is saved",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"log": []}), Resume("yes"), Continue()),
    topic="errors",
)
