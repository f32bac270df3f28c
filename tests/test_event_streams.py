"""`astream_events` in each version: told by its own name, with what its last event gave."""

import asyncio

import pytest
from _stories import PAYLOAD, perform, runnable, told
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from hitl_lab import scenarios
from hitl_lab.tracing import events as ev
from hitl_lab.tracing.recorder import record

pytestmark = pytest.mark.versions
CONFIG = {"configurable": {"thread_id": "1"}}
QUESTION = scenarios.get("broken_node").story[0].input
old = pytest.mark.filterwarnings("ignore:astream_events version='v1'", "ignore:astream_log is deprecated")


def graph():
    return scenarios.get("broken_node").abuild(InMemorySaver())


def seen(trace, kind):
    return [e for e in trace.story.events if isinstance(e, kind)]


def recorded(make):
    """A trace of `await make(graph)`, and what that returned."""

    async def go():
        with record() as trace:
            out = await make(graph())
        return trace, out

    return asyncio.run(go())


async def collected(stream):
    return [event async for event in stream]


@old
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_run_is_called_by_the_name_of_the_method(version):
    async def both(graph):
        await collected(graph.astream_events(QUESTION, CONFIG, version=version))
        await collected(graph.astream_events(Command(resume="approved"), CONFIG, version=version))

    trace, _ = recorded(both)
    assert [e.action for e in seen(trace, ev.RunStarted)] == ["astream_events"] * 2
    assert [e.action for e in seen(trace, ev.Returned)] == ["astream_events"] * 2
    assert "run 1 of 2: astream_events" in str(trace)
    assert [a.status for a in trace.story.actions] == ["paused", "done"]


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_v3_too(kind):
    with record() as trace:
        perform(runnable("stream_events_v3"), asynchronous=kind == "async")
    expected = "stream_events" if kind == "sync" else "astream_events"
    assert [e.action for e in seen(trace, ev.RunStarted)] == [expected, "invoke" if kind == "sync" else "ainvoke"]


@old
def test_astream_log_is_not_taken_for_it():
    trace, _ = recorded(lambda graph: collected(graph.astream_log(QUESTION, CONFIG)))
    assert [e.action for e in seen(trace, ev.RunStarted)] == ["astream_log"]


def test_the_last_event_of_v2_shows_the_dropped_write():
    trace, events = recorded(lambda graph: collected(graph.astream_events(QUESTION, CONFIG, version="v2")))
    output = events[-1]["data"]["output"]
    assert told(output["messages"]) == PAYLOAD
    (returned,) = seen(trace, ev.Returned)
    assert returned.seen and returned.phantom == ("messages",)
    assert [r.phantom for r in trace.ledger if r.fate == "dropped"] == [True]
    assert "HL002" in [f.code for f in trace.findings]


@old
def test_the_last_event_of_v1_shows_no_state():
    trace, events = recorded(lambda graph: collected(graph.astream_events(QUESTION, CONFIG, version="v1")))
    assert list(events[-1]["data"]["output"]) == ["__interrupt__"]
    (returned,) = seen(trace, ev.Returned)
    assert not returned.seen and not returned.phantom


@pytest.mark.parametrize("version", ["v2"])
def test_events_that_the_caller_leaves_early(version):
    async def first(graph):
        stream = graph.astream_events(QUESTION, CONFIG, version=version)
        async for event in stream:
            if event["event"] == "on_chain_end" and event["name"] == "draft":
                break
        await stream.aclose()

    trace, _ = recorded(first)
    (returned,) = seen(trace, ev.Returned) or [None]
    assert returned is None or not returned.seen  # the last event never came
    assert trace.story.actions[0].name == "astream_events"


def test_a_chain_that_is_streamed_is_not_the_graph():
    async def go(graph):
        chain = graph | (lambda state: state)
        await collected(chain.astream_events(QUESTION, CONFIG, version="v2"))

    trace, _ = recorded(go)
    assert [e.action for e in seen(trace, ev.RunStarted)] == ["astream"]


def test_nobody_knows_who_called_in_a_task_of_its_own():
    async def go(graph):
        await collected(graph.astream_events(QUESTION, CONFIG, version="v2"))
        await asyncio.gather(graph.ainvoke(QUESTION, {"configurable": {"thread_id": "2"}}))
        await graph.ainvoke(QUESTION, {"configurable": {"thread_id": "3"}})

    trace, _ = recorded(go)
    calls = [e.source for e in seen(trace, ev.RunStarted)]
    assert calls[:2] == [None, None]  # not the line that runs the event loop
    assert calls[2].function.endswith("go")
