"""The router of a conditional edge asks the question, after its node has returned.

The router belongs to the node's task: the pause drops the node's returned update too, and the answer runs the node
again before the router. A router at START belongs to the task that takes the input, so there the input is dropped.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def propose(state):
    return {"log": ["proposal"]}


def route(state):
    return "publish" if interrupt(f"Publish {state['log'][-1]}?") == "yes" else END


def begin(state):
    return "propose" if interrupt("Begin?") == "yes" else END


def publish(state):
    return {"log": ["published"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("propose", kind(propose))
    graph.add_node("publish", kind(publish))
    graph.add_edge(START, "propose")
    graph.add_conditional_edges("propose", kind(route), ["publish", END])
    graph.add_edge("publish", END)
    return graph.compile(checkpointer=saver)


def build_start(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("propose", kind(propose))
    graph.add_conditional_edges(START, kind(begin), ["propose", END])
    graph.add_edge("propose", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, make, log):
    return Scenario(
        name=name,
        title=title,
        build=make,
        abuild=partial(make, kind=as_async),
        story=(Invoke({"log": log}), Resume("yes")),
        topic="control flow",
    )


SCENARIOS = (
    variant("router_interrupts", "A router that interrupts drops what its node returned", build, []),
    variant("start_router_interrupts", "A router at START that interrupts drops the input", build_start, ["order"]),
)
