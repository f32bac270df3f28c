"""Running a scenario's story in a test, and saying in one line what came of it."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from importlib.metadata import version

import pytest
from langchain_core.messages import BaseMessage
from packaging.version import Version

from hitl_lab import scenarios
from hitl_lab.scenarios._scenario import arun, run
from hitl_lab.scenarios.savers import async_sqlite, memory, sqlite

# The messages of the broken node and its fixes, as saved by the pause
PAUSED = "human: My parcel is broken. | ai: We refund 40 EUR."
PAYLOAD = f"{PAUSED} + payload"

# What LangGraph has changed since the oldest release that is supported: the right value is the newest's.
CHANGED = {
    "delta_channel_dismissed": "erased the history when the saver came by the config",
    "functional_nested": "ran the inner task again",
    "retry_after_answer": "took the answer from the second attempt",
    "subgraph_two_ask": "let a bare answer through to two questions in one subgraph task",
    "travel_to_pause": "did not ask anew",
    "travel_with_answer": "ran the finished sibling again",
    "tool_wrapped": "told the model of the pause as a tool error",
}


def told(values):
    """A state in one line."""
    if isinstance(values, BaseMessage):
        payload = " + payload" if values.additional_kwargs.get("hitl_payload") else ""
        return f"{values.type}: {values.content}{payload}"
    if isinstance(values, dict):
        return "; ".join(told(v) if k in ("log", "messages") else f"{k} {told(v)}" for k, v in values.items())
    if isinstance(values, list | tuple):
        return " | ".join(map(told, values))
    return str(values)


def counted(outcomes):
    runs = Counter(name for outcome in outcomes for name in outcome.ran)
    return " ".join(name if times == 1 else f"{name}*{times}" for name, times in sorted(runs.items()))


def raised(outcomes):
    return " ".join(type(outcome.error).__name__ if outcome.error else "-" for outcome in outcomes)


def runnable(name):
    scenario = scenarios.get(name)
    if reason := scenario.missing():
        pytest.skip(reason)
    if name in CHANGED and Version(version("langgraph")) < Version("1.2.24"):
        pytest.skip(f"an older LangGraph {CHANGED[name]}")
    return scenario


def perform(scenario, saver="memory", asynchronous=False, **how):
    if not asynchronous:
        with (sqlite if saver == "sqlite" else memory)() as opened:
            return run(scenario, opened, **how)

    async def go():
        async with AsyncExitStack() as stack:
            if saver == "sqlite":
                opened = await stack.enter_async_context(async_sqlite())
            else:
                opened = stack.enter_context(memory())
            return await arun(scenario, opened, **how)

    return asyncio.run(go())
