"""Recording stays where it was asked for, and leaves LangGraph as it was."""

import asyncio
import contextlib
import operator
import threading
from typing import Annotated, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.pregel import _loop, _runner, main

import hitl_lab
from hitl_lab import scenarios
from hitl_lab.scenarios._scenario import run

HOLDERS = (main, _loop, _runner, main.Pregel)


def names():
    return {(id(h), k): v for h in HOLDERS for k, v in vars(h).items()}


@pytest.fixture(autouse=True)
def untouched():
    before = names()
    yield
    after = names()
    assert {k for k in before if before[k] is not after.get(k)} == set()
    assert set(after) == set(before)


def test_modules_are_as_before_after_an_exception():
    with pytest.raises(ValueError, match="mine"), hitl_lab.record():
        raise ValueError("mine")


def test_modules_are_as_before_after_a_keyboard_interrupt():
    with pytest.raises(KeyboardInterrupt), hitl_lab.record() as trace:
        run(scenarios.get("fix_a_split_node"), InMemorySaver())
        raise KeyboardInterrupt
    assert [a.status for a in trace.story.runs] == ["paused", "done"]


def test_modules_are_as_before_when_a_node_is_interrupted_by_the_keyboard():
    from typing import TypedDict

    from langgraph.graph import START, StateGraph

    class State(TypedDict):
        x: int

    def node(state):
        raise KeyboardInterrupt

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=InMemorySaver())
    with hitl_lab.record() as trace, pytest.raises(KeyboardInterrupt):
        graph.invoke({"x": 1}, {"configurable": {"thread_id": "1"}})
    assert trace.story.runs[0].status == "error"


def story(index):
    scenario = scenarios.get("parallel_sibling")
    config = {"configurable": {"thread_id": f"t{index}"}}
    run(scenario, InMemorySaver(), config=config)


def test_ten_recorded_threads_and_one_that_is_not():
    start = threading.Barrier(11)
    traces, faults = {}, []

    def recorded(index):
        try:
            start.wait(20)
            with hitl_lab.record() as trace:
                for _ in range(3):
                    story(index)
            traces[index] = trace
        except BaseException as exc:  # a thread's exception must fail the test
            faults.append(exc)

    def unrecorded():
        start.wait(20)
        for _ in range(3):
            story("plain")

    threads = [threading.Thread(target=recorded, args=(i,)) for i in range(10)] + [threading.Thread(target=unrecorded)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults
    expected = None
    for index, trace in traces.items():
        # Each story has a saver of its own.
        savers = ("", " in saver 2", " in saver 3")
        assert {a.thread for a in trace.story.runs} == {f"t{index}{more}" for more in savers}
        assert len(trace.story.runs) == 6
        told = [(r.run, r.node, r.channel, r.fate) for r in trace.ledger]
        expected = expected or told
        assert told == expected


def test_a_run_in_another_thread_keeps_langgraphs_own_classes():
    seen = {}
    original = _loop.SyncPregelLoop.__init__

    def spy(self, *args, **kwargs):
        seen[threading.current_thread().name] = type(self)
        return original(self, *args, **kwargs)

    _loop.SyncPregelLoop.__init__ = spy
    try:
        with hitl_lab.record():
            other = threading.Thread(target=story, args=(1,), name="other")
            other.start()
            story(2)
            other.join(30)
    finally:
        _loop.SyncPregelLoop.__init__ = original
    from hitl_lab.tracing.seams import TracedSyncLoop

    assert seen["other"] is _loop.SyncPregelLoop
    assert seen["MainThread"] is TracedSyncLoop
    assert TracedSyncLoop.__name__ == "SyncPregelLoop"  # so that LangGraph's own error texts stay as they are


def test_async_tasks_record_apart():
    from hitl_lab.scenarios._scenario import arun

    async def one(index):
        with hitl_lab.record() as trace:
            config = {"configurable": {"thread_id": f"t{index}"}}
            await arun(scenarios.get("broken_node"), InMemorySaver(), config=config)
        return trace

    async def plain():
        await arun(scenarios.get("broken_node"), InMemorySaver())

    async def all_of_them():
        return await asyncio.gather(*[one(i) for i in range(5)], plain())

    *traces, _ = asyncio.run(all_of_them())
    for index, trace in enumerate(traces):
        assert {a.thread for a in trace.story.runs} == {f"t{index}"}
        assert [r.fate for r in trace.ledger] == ["applied", "applied", "dropped", "applied", "applied"]


def test_nested_records_both_hold_the_run():
    with hitl_lab.record() as outer:
        story(1)
        with hitl_lab.record() as inner:
            story(2)
        story(3)
    assert [a.thread for a in inner.story.runs] == ["t2", "t2"]
    assert [a.thread for a in outer.story.runs] == ["t1", "t1", "t2", "t2", "t3", "t3"]
    assert [r.fate for r in inner.ledger] == [r.fate for r in outer.ledger][: len(inner.ledger)]


class State(TypedDict):
    log: Annotated[list, operator.add]


def test_a_record_in_a_recorded_node_holds_the_graph_that_the_node_calls():
    """It held nothing: the graph inside told the recorder of the node that called it."""
    inside = StateGraph(State).add_node("x", lambda state: {"log": ["x"]}).add_edge(START, "x").compile()
    held = []

    def calls(state):
        with hitl_lab.record() as trace:
            inside.invoke({"log": []})
        held.append(trace)
        return {"log": ["called"]}

    graph = StateGraph(State).add_node("calls", calls).add_edge(START, "calls").compile(checkpointer=InMemorySaver())
    for outer in (contextlib.nullcontext(), hitl_lab.record()):
        with outer as trace:
            graph.invoke({"log": []}, {"configurable": {"thread_id": str(len(held))}})
    alone, within = held
    assert [str(row.value) for row in within.ledger] == ["[]", "['x']"] == [str(row.value) for row in alone.ledger]
    assert [(run.name, run.status) for run in within.story.runs] == [("subgraph", "done")]
    assert {e.write for e in within.events if e.kind == "wrote"} < {e.write for e in trace.events if e.kind == "wrote"}


def test_nested_records_hide_what_the_outer_hides():
    with hitl_lab.record(redact=lambda channel, value: "***"), hitl_lab.record() as inner:
        story(1)
    assert "order" not in inner.to_json()


def test_no_live_object_is_kept():
    import gc
    import weakref

    kept = []
    original = _loop.SyncPregelLoop.__init__

    def spy(self, *args, **kwargs):
        kept.append(weakref.ref(self))
        return original(self, *args, **kwargs)

    _loop.SyncPregelLoop.__init__ = spy
    try:
        with hitl_lab.record() as trace:
            story(1)
    finally:
        _loop.SyncPregelLoop.__init__ = original
    gc.collect()
    assert trace.events
    assert [ref() for ref in kept if ref() is not None] == []
