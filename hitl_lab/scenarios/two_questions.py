"""One node asks two questions, one after the other, and writes between them.

The first answer is replayed by its position when the second is asked: two questions are three runs of the node. The
write between the questions is dropped once and made again.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def order(state):
    send = send_hook()
    size = interrupt("Which size?")
    send([("log", [f"size: {size}"])])
    colour = interrupt("Which colour?")
    return {"log": [f"colour: {colour}"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("order", kind(order))
    graph.add_edge(START, "order")
    graph.add_edge("order", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="two_questions",
    title="Two questions in one node are three runs of it",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"log": []}), Resume("L"), Resume("blue")),
    topic="several questions",
    cases=("A09",),
)
