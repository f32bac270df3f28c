"""An async node waits for ever after its answer, and its timeout ends it.

The timeout is an error like any other: what the attempt wrote is dropped, the caller gets NodeTimeoutError, and None
runs the node again, with the same answer.
"""

import asyncio
import operator
from itertools import count
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Continue, Invoke, Resume, Scenario
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def build(saver):
    attempts = count(1)

    async def fetch(state):
        send = send_hook()
        answer = interrupt("Fetch it?")
        send([("log", ["fetching"])])
        if next(attempts) == 1:
            await asyncio.Event().wait()  # nobody ever sets it
        return {"log": [f"fetched: {answer}"]}

    graph = StateGraph(State)
    graph.add_node("fetch", fetch, timeout=0.05)
    graph.add_edge(START, "fetch")
    graph.add_edge("fetch", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="node_timeout",
    title="A timeout after the answer drops the attempt's writes, the answer is kept",
    build=build,
    story=(Invoke({"log": []}), Resume("yes"), Continue()),
    topic="errors",
    needs=("langgraph>=1.2.0",),
    only="async",
)
