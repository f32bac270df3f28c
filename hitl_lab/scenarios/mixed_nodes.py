"""One graph with a sync and an async node side by side; only the async calls can run it.

The sync node runs in a thread of the event loop's executor, the async one in the loop itself; to LangGraph both are
tasks of one superstep.
"""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def sync_node(state):
    send = send_hook()
    send([("log", ["sync asks"])])
    return {"log": [f"sync: {interrupt('Ready?')}"]}


async def async_node(state):
    return {"log": ["async"]}


def build(saver):
    graph = StateGraph(State)
    for node in (sync_node, async_node):
        graph.add_node(node.__name__, node)
        graph.add_edge(START, node.__name__)
        graph.add_edge(node.__name__, END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="mixed_nodes",
    title="Sync and async nodes in one superstep",
    build=build,
    story=(Invoke({"log": []}), Resume("yes")),
    topic="async",
    only="async",
)
