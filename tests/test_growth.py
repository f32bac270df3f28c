"""Twice the work costs at most 2.2 times as much, counted in lines of Python that ran or in bytes, never in seconds.

Lines are counted by a trace function, so a loop in C (a list that is copied or searched) does not show; bytes are those
of tracemalloc.
"""

import gc
import gzip
import json
import sys
import tracemalloc
from typing import Annotated, Any, TypedDict

import pytest
from _growing import CONFIG, SHAPES, recorded, talk_graph
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

import hitl_lab
from hitl_lab.trace import Trace, TraceWriter
from hitl_lab.views.stepper import trace_frames

TWICE = 2.2
# Below 60 items a snapshot of a list grows with the list; growth is looked at where it does not any more.
WORK = dict.fromkeys(SHAPES, 30) | {
    "a_list_that_grows": 80,
    "many_pauses": 80,
    "many_updates": 150,
    "many_questions": 70,
}


def lines(work):
    """How many lines of Python a call runs."""
    count = 0

    def seen(frame, event, arg):
        nonlocal count
        count += 1
        return seen

    before = sys.gettrace()
    sys.settrace(seen)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


READINGS = {
    "story": lambda trace: trace.story,
    "ledger": lambda trace: trace.ledger,
    "findings": lambda trace: trace.findings,
    "frames": trace_frames,
    "text": str,
    "file": lambda trace: Trace.from_json(trace.to_json()),
}


@pytest.fixture(scope="module", autouse=True)
def warm():
    """Read the installed source once: it is kept, so the first reading costs more than the next."""
    for shape in ("one_long_run", "many_questions", "many_updates", "many_subgraphs", "many_called_tasks"):
        trace = recorded(shape, 3)
        for read in READINGS.values():
            read(trace)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_trace_is_read_in_linear_time(shape):
    once, twice = (recorded(shape, WORK[shape] * n) for n in (1, 2))
    assert len(twice.events) <= 2.05 * len(once.events)
    for name, read in READINGS.items():
        a, b = (lines(lambda trace=trace, read=read: read(trace)) for trace in (once, twice))
        assert b <= TWICE * a, f"{name} of {shape}: {a:,} lines, then {b:,}"


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["one_long_run", "a_list_that_grows", "many_tasks", "many_sends_before_an_error"])
def test_recording_is_linear_in_the_events(shape):
    """What the recorder adds to the lines that LangGraph itself runs in this thread.

    The least of three: how often this thread looks for what the others have done is chance, up to a tenth of its lines.
    """

    def added(work):
        plain = min(lines(lambda: SHAPES[shape](work)) for _ in range(3))
        return min(lines(lambda: recorded(shape, work)) for _ in range(3)) - plain

    added(5)
    assert added(160) <= TWICE * added(80)


def kept(make):
    """The bytes that stay while what `make` returns is held."""
    make()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        held = make()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        del held
        tracemalloc.stop()


SIZE = 2_000  # characters of a message: the longest text that a snapshot keeps whole


def talk(n):
    with hitl_lab.record() as trace:
        talk_graph(size=SIZE).invoke({"n": 0, "upto": n, "messages": []}, CONFIG)
    return trace


def writes(n):
    """The same writes as task.writes holds them."""
    return [
        [("n", 1_000 + i), ("messages", [AIMessage(f"{i:>{SIZE}}", id=f"m{i}")]), ("branch:to:step", None)]
        for i in range(n)
    ]


@pytest.mark.slow
def test_a_trace_keeps_its_writes_not_the_state_of_each_step():
    once, twice = kept(lambda: talk(75)), kept(lambda: talk(150))
    assert twice <= TWICE * once
    # Copies of the list at each of the 150 steps would be 75 times the writes.
    assert twice <= 3 * kept(lambda: writes(150))


@pytest.mark.slow
def test_a_read_trace_is_as_small():
    def read(n):
        trace = talk(n)
        assert trace.events
        return trace

    assert kept(lambda: read(150)) <= TWICE * kept(lambda: read(75))


def written(trace, path):
    with TraceWriter(path, trace.facts) as out:
        for event in trace.events:
            out.write(event)
    return path.stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["one_long_run", "a_list_that_grows", "many_questions", "many_subgraphs"])
def test_a_file_takes_100_bytes_an_event_above_its_values(tmp_path, shape):
    trace = recorded(shape, 150)
    values = gzip.compress(json.dumps([list(values_of(e)) for e in trace.events]).encode())
    streamed = written(trace, tmp_path / "trace.jsonl.gz")
    saved = trace.save(tmp_path / "saved.jsonl.gz").stat().st_size
    for size in (streamed, saved):
        assert size - len(values) <= 100 * len(trace.events)


def values_of(event):
    for name in ("value", "values", "changes", "input", "command"):
        yield getattr(event, name, None)


@pytest.mark.slow
def test_a_file_is_written_as_a_stream(tmp_path):
    """What is held while it is written does not grow with the events."""
    trace = recorded("one_long_run", 100)

    def peak(times, name):
        gc.collect()
        tracemalloc.start()
        try:
            with TraceWriter(tmp_path / name, trace.facts) as out:
                before = tracemalloc.get_traced_memory()[0]
                for _ in range(times):
                    for event in trace.events:
                        out.write(event)
                return tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()

    for name in ("trace.jsonl", "trace.jsonl.gz"):
        peak(1, name)
        assert peak(4, name) <= peak(1, name) + 20_000
        assert peak(4, name) <= 200_000


class Kept(TypedDict, total=False):
    n: int
    messages: Annotated[list, add_messages]
    kept: Any


def test_a_value_is_kept_as_it_was_when_it_was_written():
    """A node keeps what it wrote, and changes it at the next step; so does the caller with what it got."""
    mine = {"tags": ["first"], "deep": {"n": [1]}}
    message = AIMessage("said", id="m0", additional_kwargs={"risk": ["low"]})

    def step(state):
        if state["n"] == 0:
            return {"n": 1, "messages": [message], "kept": mine}
        mine["tags"].append("later")
        mine["deep"]["n"][0] = 2
        message.content = "changed"
        message.additional_kwargs["risk"].append("high")
        return {"n": 2}

    builder = StateGraph(Kept)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda s: "step" if s["n"] < 2 else END, ["step", END])
    graph = builder.compile(checkpointer=InMemorySaver())
    with hitl_lab.record() as trace:
        got = graph.invoke({"n": 0, "messages": []}, CONFIG)
        got["messages"].append("and more")
        got["kept"]["tags"].clear()
    wrote = {e.channel: e.value for e in trace.events if e.kind == "wrote" and e.name == "step" and e.step == 1}
    assert wrote["kept"] == {"tags": ["first"], "deep": {"n": [1]}}
    assert wrote["messages"][0]["fields"]["content"] == "said"
    assert wrote["messages"][0]["fields"]["additional_kwargs"] == {"risk": ["low"]}
    applied = next(e for e in trace.events if e.kind == "applied" and "kept" in e.changes)
    assert applied.changes["kept"] == {"set": {"tags": ["first"], "deep": {"n": [1]}}}
    returned = next(e for e in trace.events if e.kind == "returned")
    assert len(returned.values["messages"]) == 1
    assert returned.values["kept"]["tags"] == ["first", "later"]
