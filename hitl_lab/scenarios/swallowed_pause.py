"""The node's own try/except/finally catches the pause: GraphInterrupt is an Exception.

`except Exception` and a `return` in `finally` swallow it: there is no pause, the node finishes without an answer, and
for once the write before the question is kept. A plain `finally` block only runs at the pause and again at the resume.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def caught(state):
    send = send_hook()
    send([("log", ["asking"])])
    try:
        return {"log": [f"answer: {interrupt('Sure?')}"]}
    except Exception as error:
        return {"log": [f"tool failed: {type(error).__name__}"]}


def returned(state):
    send = send_hook()
    send([("log", ["asking"])])
    try:
        answer = interrupt("Sure?")
    finally:
        return {"log": ["closed"]}  # noqa: B012 - the mistake that is shown
    return {"log": [f"answer: {answer}"]}


def cleaned_up(state):
    send = send_hook()
    try:
        return {"log": [f"answer: {interrupt('Sure?')}"]}
    finally:
        send([("log", ["closed"])])


def let_through(state):
    try:
        return {"log": [f"answer: {interrupt('Sure?')}"]}
    except GraphBubbleUp:  # first of all, let LangGraph's own signals pass
        raise
    except Exception as error:
        return {"log": [f"tool failed: {type(error).__name__}"]}


def build(saver, node, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("ask", kind(node))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, node):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, node=node),
        abuild=partial(build, node=node, kind=as_async),
        story=(Invoke({"log": []}), Resume("yes")),
        topic="errors",
        cases=("A30",),
    )


SCENARIOS = (
    variant("swallowed_by_except", "except Exception swallows the pause", caught),
    variant("swallowed_by_finally", "return in finally swallows the pause", returned),
    variant("finally_runs_twice", "A finally block runs at the pause and at the resume", cleaned_up),
    variant("except_lets_pause_through", "GraphBubbleUp raised again: the pause works", let_through),
)
