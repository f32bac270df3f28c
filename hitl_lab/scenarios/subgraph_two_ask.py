"""A subgraph asks two questions at once, and two subgraphs ask one each.

Both questions reach the top graph, each with an id of its own, whichever task they come from: a bare answer is refused,
an id map answers both.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph

from ._scenario import Invoke, Resume, Scenario, as_async, as_is
from .two_tasks_ask import answer, legal, sales


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def graph_of(saver=None, **nodes):
    graph = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph.compile(checkpointer=saver)


def build_one(saver, kind=as_is):
    return graph_of(saver, office=graph_of(legal=kind(legal), sales=kind(sales)))


def build_two(saver, kind=as_is):
    return graph_of(saver, north=graph_of(legal=kind(legal)), south=graph_of(sales=kind(sales)))


STORY = (Invoke({"log": []}), Resume("yes"), Resume(answer(legal="yes", sales="no")))

SCENARIOS = (
    Scenario(
        name="subgraph_two_ask",
        title="Two questions inside one subgraph task need an id map",
        build=build_one,
        abuild=partial(build_one, kind=as_async),
        story=STORY,
        topic="subgraphs",
        cases=("A12",),
    ),
    Scenario(
        name="two_subgraphs_ask",
        title="Two subgraphs in parallel ask one question each",
        build=build_two,
        abuild=partial(build_two, kind=as_async),
        story=STORY,
        topic="subgraphs",
        cases=("A10",),
    ),
)
