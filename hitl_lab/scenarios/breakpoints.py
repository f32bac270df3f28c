"""A static breakpoint before or after a node, given at compile time; the graph is continued in four ways.

Only None goes on. {} and a new input start over at START, and an answer is taken by nobody. The pause has no question
and no interrupt id; with interrupt_after the node's writes are in the checkpoint already.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph

from ._scenario import Continue, Invoke, Resume, Scenario, Stream, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def write(state):
    return {"log": ["written"]}


def publish(state):
    return {"log": ["published"]}


def build(saver, kind=as_is, **stops):
    graph = StateGraph(State)
    graph.add_node("write", kind(write))
    graph.add_node("publish", kind(publish))
    graph.add_edge(START, "write")
    graph.add_edge("write", "publish")
    graph.add_edge("publish", END)
    return graph.compile(checkpointer=saver, **stops)


BEFORE = {"interrupt_before": ["publish"]}
ORDER = Invoke({"log": ["order"]})


def variant(name, title, *story, cases=(), **stops):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, **stops),
        abuild=partial(build, kind=as_async, **stops),
        story=story,
        topic="breakpoints",
        cases=cases,
    )


SCENARIOS = (
    variant("breakpoint_before", "interrupt_before, continued with None", ORDER, Continue(), cases=("A18",), **BEFORE),
    variant(
        "breakpoint_after",
        "interrupt_after: the node has run and is saved",
        ORDER,
        Continue(),
        interrupt_after=["write"],
    ),
    variant(
        "breakpoint_empty_input",
        "invoke({}) at a breakpoint starts over",
        ORDER,
        Invoke({}),
        Continue(),
        cases=("A18",),
        **BEFORE,
    ),
    variant(
        "breakpoint_new_input",
        "A new input at a breakpoint starts over",
        ORDER,
        Invoke({"log": ["second order"]}),
        Continue(),
        cases=("A18",),
        **BEFORE,
    ),
    variant(
        "breakpoint_answered", "Command(resume=...) at a breakpoint: nobody takes it", ORDER, Resume("yes"), **BEFORE
    ),
    variant(
        "breakpoint_everywhere",
        "interrupt_before='*' stops before every node",
        ORDER,
        Continue(),
        Continue(),
        interrupt_before="*",
    ),
    variant(
        "breakpoint_streamed",
        "A breakpoint in a stream is an empty __interrupt__; invoke shows nothing",
        Stream({"log": ["order"]}, modes="updates"),
        Continue(),
        cases=("A38",),
        **BEFORE,
    ),
    variant(
        "breakpoint_at_run_time",
        "A breakpoint given to invoke() is not remembered by the next call",
        Invoke({"log": ["order"]}, options={"interrupt_after": ["write"]}),
        Continue(),
        Invoke({"log": ["second order"]}),
        cases=("A19",),
    ),
)
