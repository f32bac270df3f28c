"""What the kit tells of the public reports: fates, answers, pauses. What LangGraph does is in test_cases.py."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from _stories import perform, runnable
from packaging.version import Version

from hitl_lab import scenarios
from hitl_lab.answers import answers
from hitl_lab.tracing import events as ev
from hitl_lab.tracing.recorder import record

pytestmark = pytest.mark.versions


def traced(name, **how):
    scenario = runnable(name)
    with record() as trace:
        perform(scenario, asynchronous=scenario.only == "async", **how)
    return trace


def fates(trace, **wanted):
    return [(r.run, r.node, r.fate, r.rewritten_by, r.discarded_by) for r in trace.ledger.where(**wanted)]


def seen(trace, kind):
    return [e for e in trace.story.events if isinstance(e, kind)]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a01_dropped_phantom_rewritten(durability):
    (row,) = traced("broken_node", durability=durability).ledger.where(fate="dropped")
    assert (row.channel, row.via, row.phantom, row.rewritten_by) == ("messages", "send", True, "run 2")
    assert row.where.function == "PregelRunner.commit"


@pytest.mark.parametrize("name", ["mutated_state_dict", "pydantic_state", "dataclass_state"])
def test_a03_what_is_no_write_is_undefined(name):
    rows = traced(name).ledger.where(fate="undefined")
    assert [(r.run, r.channel, r.via) for r in rows] == [
        ("run 1", "note", "assigned on the state object"),
        ("run 2", "note", "assigned on the state object"),
    ]


def test_a04_who_runs_again_and_who_is_handed_back():
    resumed = [e for e in seen(traced("two_tasks_one_by_one"), ev.Ticked) if e.step == 1]
    assert [[(t.name, t.finished) for t in e.tasks] for e in resumed] == [
        [("legal", False), ("sales", False)],
        [("legal", False), ("sales", False)],
        [("legal", True), ("sales", False)],
    ]


def test_a06_retries_throw_writes_away():
    trace = traced("retry_before_question")
    assert [e.why for e in seen(trace, ev.Retried)] == ["retry", "retry"]
    assert fates(trace, fate="dropped", rewritten_by="run 1") == [("run 1", "charge", "dropped", "run 1", None)] * 2
    assert [e.answered for e in seen(trace, ev.InterruptCalled)] == [False, True]


def test_a10_a_bare_answer_is_refused():
    trace = traced("two_tasks_bare_answer")
    assert [a.fate for a in answers(trace.story)] == ["refused", "taken"]


def test_a13_each_visit_has_a_question_of_its_own():
    asked = [i.id for e in seen(traced("loop_asks"), ev.Paused) for i in e.interrupts]
    assert len(asked) == len(set(asked)) == 3


def test_a15_discarded_by_the_update():
    trace = traced("update_discards_sibling")
    if Version(version("langgraph")) < Version("1.0.10"):  # there the update took the sibling's write along
        assert fates(trace, node="lookup", run="run 1") == [("run 1", "lookup", "applied", None, None)]
        return
    assert fates(trace, node="lookup", run="run 1") == [("run 1", "lookup", "discarded", "run 2", "update 1")]
    assert "is no longer shown by `get_state()` (live view)" in str(trace)


def test_a16_the_answer_is_lost():
    trace = traced("fix_c_as_paused_node")
    assert [a.fate for a in answers(trace.story)] == ["lost"]
    assert "`review` counts as done and is skipped." in str(trace)


def test_a17_an_update_in_the_command_is_the_null_tasks():
    (row,) = traced("command_update").ledger.where(via="command")
    assert (row.handed, row.fate, row.saved) == ("null task", "applied", True)


def test_a19_a_breakpoint_after_a_node_names_that_node():
    (paused,) = seen(traced("breakpoint_at_run_time"), ev.Paused)
    assert (paused.reason, paused.nodes, paused.interrupts) == ("interrupt_after", ("write",), ())


def test_a21_discarded_by_the_new_input():
    trace = traced("new_input_while_paused")
    assert fates(trace, node="lookup", run="run 1") == [("run 1", "lookup", "discarded", "run 2", "run 2")]


def test_a23_which_question_took_which_answer():
    trace = traced("subgraph_in_function")
    calls = [(e.run - trace.story.runs[0].key, e.name, e.answered) for e in seen(trace, ev.InterruptCalled)]
    assert [c[1:] for c in calls] == [("first", False), ("first", True), ("second", False), ("second", True)]
    assert {a.fate for a in answers(trace.story)} == {"taken"}


def test_a24_an_update_inside_is_told_inside():
    (row,) = traced("subgraph_update_inside").ledger.where(via="update_state")
    assert (row.path, row.fate, row.in_state) == ("inner/prepare", "applied", True)


def test_a26_a_tasks_result_waits_for_its_caller():
    assert {r.fate for r in traced("functional_mutation").ledger.where(channel="__return__")} == {"pending"}


@pytest.mark.parametrize("name", ["swallowed_by_except", "swallowed_by_finally"])
def test_a30_no_pause_and_the_write_is_kept(name):
    trace = traced(name)
    assert not seen(trace, ev.Paused)
    assert [e.answered for e in seen(trace, ev.InterruptCalled)] == [False]
    assert {r.fate for r in trace.ledger} == {"applied"}


@pytest.mark.parametrize(
    ("name", "fate"), [("other_thread", "lost"), ("new_saver", "lost"), ("no_checkpointer", "refused")]
)
def test_a34_where_an_answer_went(name, fate):
    assert [a.fate for a in answers(traced(name).story)] == [fate]


def test_a35_what_cannot_be_saved_is_lost():
    (row,) = traced("unserialisable_state").ledger.where(channel="lock")
    assert (row.fate, row.in_state, row.saved) == ("lost", False, False)
    assert "put raised TypeError" in row.reason


def test_a40_a_fork_discards_what_was_pending():
    trace = traced("travel_while_paused")
    assert fates(trace, node="lookup", run="run 1") == [("run 1", "lookup", "discarded", "run 2", "run 2")]
    assert seen(trace, ev.RunStarted)[1].addressed


def test_an_untracked_value_ends_with_its_run():
    (row,) = traced("untracked_value").ledger.where(channel="connection")
    assert (row.fate, row.phantom, row.in_state, row.checkpoint) == ("lost", True, False, None)


def test_every_case_stands_in_the_documentation():
    text = (Path(__file__).parent.parent / "docs" / "cases.md").read_text("utf-8")
    assert {f"A{n:02}" for n in range(1, 43)} <= set(re.findall(r"\bA\d\d\b", text))
    for row in (line for line in text.splitlines() if line.startswith("| [A") and line.count(" | ") == 3):
        assert set(re.findall(r"`([a-z_]+)`", row.split(" | ")[2])) <= set(scenarios.names()), row
