"""The two views of `get_state()`, told apart by name: live without a checkpoint id, a record with one."""

import pytest
from _stories import perform
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from hitl_lab import scenarios
from hitl_lab.tracing import events as ev
from hitl_lab.tracing.recorder import record
from hitl_lab.views.tables import ledger_table

pytestmark = pytest.mark.versions
CONFIG = {"configurable": {"thread_id": "1"}}


def paused(name="parallel_sibling"):
    graph = scenarios.get(name).build(InMemorySaver())
    return graph, graph.invoke(scenarios.get(name).story[0].input, CONFIG)


def read(trace):
    return [e for e in trace.story.events if isinstance(e, ev.StateRead)]


def test_a_trace_reads_the_live_view_and_names_it():
    with record() as trace:
        graph, _ = paused()
    live, stored = graph.get_state(CONFIG), graph.get_state(graph.get_state(CONFIG).config)
    assert live.values != stored.values and set(live.next) < set(stored.next)  # the two differ here
    (seen,) = read(trace)
    assert seen.next == live.next
    assert seen.values == live.values
    assert "`get_state()` (live view) reads checkpoint C2" in str(trace)
    assert "get_state() live" in str(trace.ledger)


def test_the_html_names_it(tmp_path):
    with record() as trace:
        paused()
    text = trace.to_html(tmp_path / "trace.html").read_text("utf-8")
    assert "get_state() reads (live view)" in text and "get_state() live" in text
    assert "get_state() live" in ledger_table(trace.ledger)._plain["columns"]


def update_at(config, graph, **more):
    with record() as trace:
        graph.update_state(config, {"log": ["note"]}, **more)
    return trace


def test_an_update_at_the_pause_by_its_id_takes_the_question_from_the_live_view():
    graph, _ = paused("two_questions")
    asked = graph.get_state(CONFIG)
    trace = update_at(asked.config, graph)
    assert "which the caller named" in str(trace)
    assert "The question I1 \"Which size?\" is no longer shown by `get_state()` (live view)." in str(trace)


def test_an_update_at_an_old_pause_takes_nothing_that_the_live_view_showed():
    graph, _ = paused("two_questions")
    asked = graph.get_state(CONFIG)
    graph.invoke(Command(resume="L"), CONFIG)
    graph.invoke(Command(resume="red"), CONFIG)
    assert graph.get_state(asked.config).interrupts  # the record view still shows it
    assert not graph.get_state(CONFIG).interrupts
    trace = update_at(asked.config, graph, as_node="order")
    (start,) = (e for e in trace.story.events if isinstance(e, ev.UpdateStarted))
    assert start.addressed and start.interrupts == () == start.next
    assert "no longer shown" not in str(trace) and "skipped" not in str(trace)
    assert "HL005" not in [f.code for f in trace.findings]


def test_a_fork_of_a_finished_run_says_no_question_is_gone():
    with record() as trace:
        perform(scenarios.get("fork_with_update"))
    assert "no longer shown" not in str(trace)
