"""A node calls a compiled graph like a function; inside, `first` and `second` ask a question each.

The subgraph goes on where it paused, but the calling node is an ordinary node: it runs again from its top at every
resume, so what it does before the call happens once per answer more.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


class Inner(TypedDict):
    notes: Annotated[list[str], operator.add]


def first(state):
    return {"notes": [f"first: {interrupt('First?')}"]}


def second(state):
    return {"notes": [f"second: {interrupt('Second?')}"]}


def build_inner(checkpointer=None):
    inner = StateGraph(Inner)
    inner.add_node("first", first)
    inner.add_node("second", second)
    inner.add_edge(START, "first")
    inner.add_edge("first", "second")
    inner.add_edge("second", END)
    return inner.compile(checkpointer=checkpointer)


def build(saver, checkpointer=None, use_async=False):
    inner = build_inner(checkpointer)

    def call(state):
        send = send_hook()
        send([("log", ["calling"])])
        result = inner.invoke({"notes": ["start"]})
        return {"log": result["notes"]}

    async def acall(state):
        send = send_hook()
        send([("log", ["calling"])])
        result = await inner.ainvoke({"notes": ["start"]})
        return {"log": result["notes"]}

    graph = StateGraph(State)
    graph.add_node("call", acall if use_async else call)
    graph.add_edge(START, "call")
    graph.add_edge("call", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, checkpointer):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, checkpointer=checkpointer),
        abuild=partial(build, checkpointer=checkpointer, use_async=True),
        story=(Invoke({"log": ["order"]}), Resume("1"), Resume("2")),
        topic="subgraphs",
        cases=("A22", "A23"),
    )


SCENARIOS = (
    variant("subgraph_in_function", "A graph called inside a node resumes inside, its caller runs from the top", None),
    variant("subgraph_in_function_own_checkpointer", "The same with checkpointer=True: no different here", True),
)
