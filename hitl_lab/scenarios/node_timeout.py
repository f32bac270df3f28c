"""An async node waits for ever, and its own timeout, or that of the superstep, ends it.

The node's timeout drops what the attempt wrote, and None runs the node again, with the same answer. The superstep's
timeout cancels the node instead: what it had written is kept and applied, and the node never runs again.
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


def build_step(saver):
    attempts = count(1)

    async def fetch(state):
        send = send_hook()
        send([("log", ["fetching"])])
        if next(attempts) == 1:
            await asyncio.Event().wait()
        return {"log": ["fetched"]}

    async def ask(state):
        return {"log": [f"answer: {interrupt('Fetch it?')}"]}

    graph = StateGraph(State)
    graph.add_node("fetch", fetch)
    graph.add_node("ask", ask)
    for node in ("fetch", "ask"):
        graph.add_edge(START, node)
        graph.add_edge(node, END)
    made = graph.compile(checkpointer=saver)
    made.step_timeout = 0.3  # far more than the superstep takes without the node that waits
    return made


TIMEOUT = Scenario(
    name="node_timeout",
    title="A timeout after the answer drops the attempt's writes, the answer is kept",
    build=build,
    story=(Invoke({"log": []}), Resume("yes"), Continue()),
    topic="errors",
    needs=("langgraph>=1.2.0",),
    only="async",
)

STEP = Scenario(
    name="step_timeout",
    title="A superstep that runs out of time: what its cancelled node wrote is kept, and the node never runs again",
    build=build_step,
    story=(Invoke({"log": []}), Continue(), Resume("yes")),
    topic="errors",
    only="async",
)

SCENARIOS = (TIMEOUT, STEP)
