"""Every scenario, traced and untraced: the same returns, streams, checkpoints, exceptions and number of node runs."""

import asyncio
import contextlib

import pytest
from _stories import runnable

from hitl_lab import scenarios
from hitl_lab.scenarios._compare import comparable
from hitl_lab.scenarios._scenario import arun, run
from hitl_lab.scenarios.savers import async_sqlite, memory, sqlite
from hitl_lab.tracing.recorder import record

# What a scenario measures of itself differs from run to run: the time a node was given, how far a saver got.
TIMED = {"node_timeout", "durability_async"}


def seen(outcomes, stored):
    told = comparable(outcomes)
    for outcome in told if isinstance(told, list) else ():
        if isinstance(outcome, dict):
            outcome.pop("action", None)
    checkpoints = [
        (
            t.config["configurable"]["thread_id"],
            t.config["configurable"]["checkpoint_ns"].split(":")[0],
            t.metadata.get("source"),
            t.metadata.get("step"),
            comparable(t.checkpoint["channel_values"]),
            sorted(_row(channel, value) for _, channel, value in t.pending_writes or ()),
        )
        for t in stored
    ]
    return told, sorted(checkpoints, key=repr)


def _row(channel, value):
    # A message without an id gets one when it is applied; whether the saver, in its own thread, was faster is chance.
    return repr((channel, comparable(value))).replace("'id': None", "'id': '<id>'")


def sync_run(scenario, saver, traced, durability, call):
    with (sqlite if saver == "sqlite" else memory)() as opened:
        with record() if traced else contextlib.nullcontext():
            outcomes = run(scenario, opened, durability=durability, call=call)
        return seen(outcomes, list(opened.list(None)))


def async_run(scenario, saver, traced, durability, call):
    async def go():
        async with contextlib.AsyncExitStack() as stack:
            if saver == "sqlite":
                opened = await stack.enter_async_context(async_sqlite())
            else:
                opened = stack.enter_context(memory())
            with record() if traced else contextlib.nullcontext():
                outcomes = await arun(scenario, opened, durability=durability, call=call)
            return seen(outcomes, [t async for t in opened.alist(None)])

    return asyncio.run(go())


def hold(name, kind, saver, durability, call="invoke"):
    scenario = runnable(name)
    if scenario.only not in (None, kind):
        pytest.skip(f"shows only in a run that is {scenario.only}")
    if durability == "async" and scenario.racy:
        pytest.skip("with a saver in the background, what it saves depends on timing")
    if name in TIMED:
        pytest.skip("tells its own timing")
    play = sync_run if kind == "sync" else async_run
    plain = play(scenario, saver, False, durability, call)
    assert play(scenario, saver, True, durability, call) == plain


@pytest.mark.versions
@pytest.mark.parametrize("name", scenarios.names())
def test_sync(name):
    hold(name, "sync", "memory", "sync")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sync sqlite exit invoke", "async memory sync invoke", "async sqlite exit stream",
                                 "sync memory async stream", "async memory async invoke"])  # fmt: skip
@pytest.mark.parametrize("name", scenarios.names())
def test_otherwise(name, how):
    hold(name, *how.split())
