"""A compiled graph is a node of another graph; its inner node `ask` pauses.

The subgraph has checkpoints of its own under the parent's: `prepare` is saved there and does not run again. What `ask`
wrote before its question is dropped inside, and the parent returns no phantom of it. At the end the parent's reducer
adds the whole inner list, "order" included, to the "order" it has: a shared list key doubles.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, Stream, Update, as_async, as_is
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def prepare(state):
    return {"log": ["prepared"]}


def ask(state):
    send = send_hook()
    send([("log", ["asking"])])
    return {"log": [f"answer: {interrupt('Ready?')}"]}


def report(state):
    return {"log": [f"{len(state['log'])} lines"]}


def build_inner(kind=as_is):
    inner = StateGraph(State)
    inner.add_node("prepare", kind(prepare))
    inner.add_node("ask", kind(ask))
    inner.add_edge(START, "prepare")
    inner.add_edge("prepare", "ask")
    inner.add_edge("ask", END)
    return inner.compile()  # it inherits the parent's checkpointer


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("inner", build_inner(kind))
    graph.add_node("report", kind(report))
    graph.add_edge(START, "inner")
    graph.add_edge("inner", "report")
    graph.add_edge("report", END)
    return graph.compile(checkpointer=saver)


def inner_config(snapshot):
    return snapshot.tasks[0].state.config


MODES = ("values", "updates", "tasks", "checkpoints", "debug", "messages", "custom")


def variant(name, title, *story, cases=(), needs=()):
    return Scenario(
        name=name,
        title=title,
        build=build,
        abuild=partial(build, kind=as_async),
        story=story,
        topic="subgraphs",
        cases=cases,
        needs=needs,
    )


START_IT = Invoke({"log": ["order"]})
NOTE = {"log": ["note"]}

SCENARIOS = (
    variant("subgraph_as_node", "A question inside a subgraph pauses both graphs", START_IT, Resume("yes")),
    variant(
        "subgraph_update_inside",
        "update_state with the subgraph's own config keeps the work done inside; only the asking node runs again",
        START_IT,
        Update(NOTE, config=inner_config),
        Resume("yes"),
        cases=("A24",),
    ),
    variant(
        "subgraph_update_parent",
        "update_state on the parent restarts the subgraph from its first node",
        START_IT,
        Update(NOTE),
        Resume("yes"),
        cases=("A24",),
    ),
    variant(
        "subgraph_streamed",
        "A stream with subgraphs=True tells which graph each chunk comes from",
        Stream({"log": ["order"]}, modes=("values", "updates", "tasks"), options={"subgraphs": True}),
        Resume("yes"),
    ),
    variant(
        "subgraph_streamed_v2",
        "The same in every mode at once, as version='v2'",
        Stream({"log": ["order"]}, modes=MODES, options={"subgraphs": True, "version": "v2"}),
        Resume("yes"),
        needs=("langgraph>=1.1",),
    ),
)
