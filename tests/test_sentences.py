"""What the sentences claim, where it would be easy to claim too much."""

import asyncio

import pytest
from _stories import perform, runnable

from hitl_lab import scenarios
from hitl_lab.tracing.recorder import record
from hitl_lab.views.stepper import trace_frames


def text(name, asynchronous=None):
    scenario = runnable(name)
    with record() as trace:
        perform(scenario, asynchronous=scenario.only == "async" if asynchronous is None else asynchronous)
    return str(trace)


def test_a_node_that_failed_after_a_write_is_not_said_to_have_finished():
    told = text("node_error_after_write")
    assert "`book` finished in an earlier run: its saved writes are handed back" in told
    assert "`pay` failed after a write in an earlier run: its saved writes are handed back" in told


def test_a_node_that_its_superstep_cancelled_is_not_said_to_have_finished():
    told = text("step_timeout")
    assert "`fetch` was cancelled after a write in an earlier run: its saved writes are handed back" in told
    assert "finished in an earlier run" not in told


def test_the_stepper_shows_them_so():
    with record() as trace:
        perform(runnable("node_error_after_write"))
    document = trace_frames(trace).document
    last = [e for e in document["events"] if e["kind"] == "tick" and e.get("states")][-1]
    names = {document["tasks"][n]["node"]: state for n, state in last["states"]}
    assert names == {"book": "finished", "pay": "failed"}
    nodes = {document["nodes"][n]["label"]: state for n, state in last["nodes"]}
    assert nodes["pay"] == "failed" and nodes["book"] == "finished"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_stream_left_at_its_question_says_that_the_question_waits(asynchronous):
    told = text("stream_stopped_at_question", asynchronous)
    assert 'the run ends here. Its thread waits for an answer to I1 "Review the draft".' in told
    assert "the run ends here." in text("stream_stopped_early", asynchronous)
    assert "waits for an answer" not in text("stream_stopped_early", asynchronous)


def test_a_stream_that_nobody_closed_has_not_ended():
    """`break` in `async for` leaves the generator open: what it would still do is not in the trace."""

    async def leave():
        from langgraph.checkpoint.memory import InMemorySaver

        graph = scenarios.get("broken_node").abuild(InMemorySaver())
        with record() as trace:
            stream = graph.astream(scenarios.get("broken_node").story[0].input, {"configurable": {"thread_id": "1"}})
            async for chunk in stream:
                if "__interrupt__" in chunk:
                    break
        await stream.aclose()
        return trace

    trace = asyncio.run(leave())
    assert [a.status for a in trace.story.actions] == ["running"]
    assert [r.fate for r in trace.ledger] == ["applied", "applied", "dropped"]


def test_an_update_inside_a_graph_speaks_of_the_view_inside():
    told = text("subgraph_update_inside")
    # The graph above still shows the question: test_a24 of test_cases.py.
    assert "is no longer shown by `get_state()` (live view inside `inner`)." in told
    assert "`get_state()` (live view inside `inner`) reads checkpoint" in told
    assert "(live view inside `middle/innermost`)" in text("subgraph_nested_update_inside")
