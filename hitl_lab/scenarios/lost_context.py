"""A node asks from another thread than its own.

interrupt() finds its task by a context variable. A thread pool starts threads without the node's context, so there it
raises RuntimeError; asyncio.to_thread, asyncio tasks and a copied context carry it along.
"""

import asyncio
import operator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def question():
    return {"log": [f"answer: {interrupt('Ready?')}"]}


def in_pool(state):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(question).result()


def in_pool_with_context(state):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, question).result()


async def in_executor(state):
    return await asyncio.get_running_loop().run_in_executor(None, question)


async def in_thread(state):
    return await asyncio.to_thread(question)


async def in_asyncio_task(state):
    async def asking():
        return question()

    return await asyncio.create_task(asking())


def build(saver, node):
    graph = StateGraph(State)
    graph.add_node("ask", node)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, node):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, node=node),
        story=(Invoke({"log": []}), Resume("yes")),
        topic="async",
        cases=("A36",),
        only="async" if asyncio.iscoroutinefunction(node) else None,
    )


SCENARIOS = (
    variant("asked_in_pool", "interrupt() in a thread pool finds no task", in_pool),
    variant("asked_in_pool_with_context", "interrupt() in a thread pool with the node's context", in_pool_with_context),
    variant("asked_in_executor", "interrupt() in loop.run_in_executor finds no task", in_executor),
    variant("asked_in_thread", "interrupt() in asyncio.to_thread", in_thread),
    variant("asked_in_asyncio_task", "interrupt() in an asyncio task of the node's own", in_asyncio_task),
)
