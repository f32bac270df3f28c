"""Beside a sibling that finished, a node raises after its answer; then the run goes on with None.

The sibling's write and the answer wait as pending writes, and only the failed node runs again. But a node that wrote
before it raised counts as finished: unlike a pause, an exception hands over all of `task.writes`, and the node never
runs again. A router that raises is the usual case: its node's return value was written before it, and no edge is taken.
"""

import operator
from functools import partial
from itertools import count
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Continue, Invoke, Resume, Scenario
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def book(state):
    return {"log": ["booked"]}


def build(saver, writes_first=False, use_async=False):
    attempts = count(1)

    def pay(state):
        answer = interrupt("Pay 40 EUR?")
        if writes_first:
            send = send_hook()
            send([("log", ["paying"])])
        if next(attempts) == 1:
            raise ConnectionError("the bank is closed")
        return {"log": [f"paid: {answer}"]}

    async def apay(state):
        return pay(state)

    graph = StateGraph(State)
    graph.add_node("book", book)
    graph.add_node("pay", apay if use_async else pay)
    for node in ("book", "pay"):
        graph.add_edge(START, node)
        graph.add_edge(node, END)
    return graph.compile(checkpointer=saver)


def build_router(saver, use_async=False):
    attempts = count(1)

    def review(state):
        return {"log": [f"answer: {interrupt('Pay 40 EUR?')}"]}

    async def areview(state):
        return review(state)

    def route(state):
        if next(attempts) == 1:
            raise ConnectionError("the bank is closed")
        return "pay"

    def pay(state):
        return {"log": ["paid"]}

    graph = StateGraph(State)
    graph.add_node("review", areview if use_async else review)
    graph.add_node("pay", pay)
    graph.add_edge(START, "review")
    graph.add_conditional_edges("review", route, ["pay"])
    graph.add_edge("pay", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, writes_first):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, writes_first=writes_first),
        abuild=partial(build, writes_first=writes_first, use_async=True),
        story=(Invoke({"log": []}), Resume("yes"), Continue()),
        topic="errors",
    )


SCENARIOS = (
    variant("node_error", "A node that raises runs again, its finished sibling does not", False),
    variant(
        "node_error_after_write", "A node that wrote, then raised, counts as finished and is never run again", True
    ),
    Scenario(
        name="router_error",
        title="A router that raises is never asked again: the run ends there",
        build=build_router,
        abuild=partial(build_router, use_async=True),
        story=(Invoke({"log": []}), Resume("yes"), Continue()),
        topic="errors",
    ),
)
