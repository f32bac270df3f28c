"""Thirty tasks side by side, five of them interrupted: however the threads run, the ledger is the same."""

import asyncio
import operator
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from hitl_lab.scenarios._send import send_hook
from hitl_lab.tracing.recorder import record

TASKS, ASKING = 30, (3, 8, 13, 21, 29)
CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    log: Annotated[list, operator.add]


def work(item):
    n = item["n"]
    send_hook()([("log", [f"begin {n}"])])
    if n in ASKING:
        interrupt(f"Item {n}?")
    return {"log": [f"done {n}"]}


async def awork(item):
    return work(item)


def graph(node):
    builder = StateGraph(State)
    builder.add_node("work", node)
    builder.add_conditional_edges(START, lambda state: [Send("work", {"n": n}) for n in range(TASKS)], ["work"])
    return builder.compile(InMemorySaver())


def answers(state):
    return Command(resume={i.id: "yes" for i in state.interrupts})


def once():
    made = graph(work)
    with record() as trace:
        made.invoke({"log": []}, CONFIG, durability="sync")
        paused = str(trace.ledger)
        made.invoke(answers(made.get_state(CONFIG)), CONFIG, durability="sync")
    return paused, str(trace.ledger), trace


async def aonce():
    made = graph(awork)
    with record() as trace:
        await made.ainvoke({"log": []}, CONFIG, durability="sync")
        paused = str(trace.ledger)
        await made.ainvoke(answers(await made.aget_state(CONFIG)), CONFIG, durability="sync")
    return paused, str(trace.ledger), trace


@pytest.mark.versions
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_thirty_tasks_five_interrupted(kind):
    *_, trace = once() if kind == "sync" else asyncio.run(aonce())
    first = [r for r in trace.ledger if r.run == "run 1" and r.node == "work"]
    assert len(first) == 2 * TASKS - len(ASKING)
    assert {r.value[0] for r in first if r.fate == "dropped"} == {f"begin {n}" for n in ASKING}
    assert all(r.phantom and r.rewritten_by == "run 2" for r in first if r.fate == "dropped")
    assert {r.fate for r in first if r.fate != "dropped"} == {"applied"}
    assert len(trace.ledger.where(fate="applied", run="run 2")) == 2 * len(ASKING)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_two_hundred_times_the_same_ledger(kind):
    async def many():
        return {(await aonce())[:2] for _ in range(100)}

    ledgers = {once()[:2] for _ in range(100)} if kind == "sync" else asyncio.run(many())
    assert len(ledgers) == 1


def test_a_node_that_sends_from_eight_threads_at_once():
    """Each write has one key, and they stand in the order of `task.writes`, whoever came first to the recorder."""

    def node(state):
        send, together = send_hook(), threading.Barrier(8)

        def work(i):
            together.wait()
            for k in range(40):
                send([("log", [f"{i}.{k}"]), ("log", [f"{i}.{k} too"])])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        return {"log": ["end"]}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=InMemorySaver())
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with record() as trace:
            log = graph.invoke({"log": []}, CONFIG)["log"]
    finally:
        sys.setswitchinterval(before)
    written = {e.write: e.value for e in trace.events if e.kind == "wrote"}
    (commit,) = [e for e in trace.events if e.kind == "commit" and e.name == "node"]
    assert len(log) == 641
    assert [text for key in commit.writes for text in written[key]] == log
    assert commit.dropped == ()
    assert {row.fate for row in trace.ledger if row.node == "node"} == {"applied"}
    assert not [e for e in trace.events if e.kind == "note"]
