"""A subgraph is visited twice; compiled with checkpointer=True it remembers its first visit.

By default (None) a subgraph inherits the parent's checkpointer for one visit: enough to pause and resume inside. With
True its state lives on from visit to visit; with False it has none, so a question inside runs it again from its start,
and durability="sync" ends in an AttributeError of LangGraph's own.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    topic: str
    report: str


class Inner(State):
    visits: Annotated[list[str], operator.add]  # the subgraph's own channel, the parent does not have it


def prepare(state):
    return {"visits": [state["topic"]]}


def ask(state):
    answer = interrupt(f"Continue {state['topic']}?")
    return {"report": f"{answer}, {len(state['visits'])} visits"}


def build(saver, kind=as_is, checkpointer=None):
    inner = StateGraph(Inner)
    inner.add_node("prepare", kind(prepare))
    inner.add_node("ask", kind(ask))
    inner.add_edge(START, "prepare")
    inner.add_edge("prepare", "ask")
    inner.add_edge("ask", END)
    graph = StateGraph(State)
    graph.add_node("inner", inner.compile(checkpointer=checkpointer))
    graph.add_edge(START, "inner")
    graph.add_edge("inner", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, checkpointer, durability=None):
    options = {"durability": durability} if durability else {}
    return Scenario(
        name=name,
        title=title,
        build=partial(build, checkpointer=checkpointer),
        abuild=partial(build, kind=as_async, checkpointer=checkpointer),
        story=(
            Invoke({"topic": "one"}, options=options),
            Resume("yes", options=options),
            Invoke({"topic": "two"}, options=options),
            Resume("yes", options=options),
        ),
        topic="subgraphs",
        cases=("A22",),
    )


SCENARIOS = (
    variant("subgraph_own_checkpointer", "checkpointer=True: the subgraph's state lives on to the next visit", True),
    variant("subgraph_inherited_checkpointer", "checkpointer=None: every visit begins with an empty state", None),
    variant("subgraph_without_checkpointer", "checkpointer=False: a question restarts the subgraph", False, "async"),
    variant("subgraph_without_checkpointer_sync", "checkpointer=False and durability='sync' fail", False, "sync"),
)
