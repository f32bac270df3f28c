"""Two nodes run in one superstep: `lookup` finishes, `ask` pauses.

The finished sibling's write waits as a pending write and is not made again; what `ask` wrote before its question is
dropped. After the answer both are applied at once, and `report` sees both.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, Stream, as_async, as_is
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def lookup(state):
    return {"log": ["stock: 3"]}


def ask(state):
    send = send_hook()
    send([("log", ["asking"])])
    return {"log": [f"answer: {interrupt('How many?')}"]}


def report(state):
    return {"log": [f"{len(state['log'])} lines"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    for node in (lookup, ask, report):
        graph.add_node(node.__name__, kind(node))
    graph.add_edge(START, "lookup")
    graph.add_edge(START, "ask")
    graph.add_edge(["lookup", "ask"], "report")
    graph.add_edge("report", END)
    return graph.compile(checkpointer=saver)


abuild = partial(build, kind=as_async)

SCENARIOS = (
    Scenario(
        name="parallel_sibling",
        title="A finished sibling's write stays pending through the pause",
        build=build,
        abuild=abuild,
        story=(Invoke({"log": ["order"]}), Resume("2")),
        topic="parallel",
    ),
    Scenario(
        name="parallel_sibling_streamed",
        title="The last values chunk mixes the finished sibling's write with the dropped one, without __interrupt__",
        build=build,
        abuild=abuild,
        story=(Stream({"log": ["order"]}, modes="values"), Resume("2")),
        topic="parallel",
        cases=("A38",),
    ),
)
