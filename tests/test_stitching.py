"""Traces of several processes as one: as if one process had recorded it all."""

import copy

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import hitl_lab
from hitl_lab import Trace, in_another_process, scenarios, stitch
from hitl_lab.errors import TraceFileError
from hitl_lab.scenarios._scenario import _perform, _start, run
from hitl_lab.stored import stored_rows

# Finished siblings, several questions, updates, Commands with more than an answer, subgraphs, functions, errors.
NAMES = [
    "broken_node",
    "parallel_sibling",
    "send_fan_out",
    "two_tasks_one_by_one",
    "update_discards_sibling",
    "fix_c_update_state",
    "fix_c_as_paused_node",
    "fix_b_question_then_answer",
    "command_goto",
    "command_update_only",
    "subgraph_as_node",
    "functional_tasks",
    "node_error",
]


def piecewise(scenario, saver):
    """One record() an action, as if each were a process."""
    now = _start(scenario, saver, "sync", None, "invoke", use_async=False)
    traces = []
    for action in scenario.story:
        with hitl_lab.record() as trace:
            _perform(now, action)
        traces.append(Trace.from_json(trace.to_json()))
    return traces


@pytest.mark.parametrize("name", NAMES)
def test_pieces_tell_what_the_whole_tells(name):
    scenario = scenarios.get(name)
    with hitl_lab.record() as whole:
        run(scenario, InMemorySaver())
    stitched = stitch(*piecewise(scenario, InMemorySaver()))
    assert str(stitched.ledger) == str(whole.ledger)
    assert [e.kind for e in stitched.story.events] == [e.kind for e in whole.story.events]


def killed_before_told(scenario, saver):
    """Two pieces; the first was killed when the saver had the row of `lookup`, and nobody had told of it."""
    first, second = piecewise(scenario, saver)
    cut = next(e.n for e in first.events if e.kind == "commit" and e.name == "lookup")
    return Trace([e for e in first.events if e.n < cut], facts=first.facts), second


def test_a_row_that_was_saved_before_the_trace_could_tell_is_still_one_write():
    trace = stitch(*killed_before_told(scenarios.get("parallel_sibling"), InMemorySaver()))
    (row,) = trace.ledger.where(node="lookup")
    assert (row.run, row.fate) == ("run 1", "applied")
    assert "lookup" not in [e.name for e in trace.story.runs[1].events if e.kind == "task_started"]


def test_a_write_of_another_value_is_another_write():
    first, second = killed_before_told(scenarios.get("parallel_sibling"), InMemorySaver())
    other = Trace.from_json(first.to_json().replace("stock: 3", "stock: 4"))
    assert [r.value for r in stitch(other, second).ledger.where(node="lookup")] == [["stock: 4"], ["stock: 3"]]


def test_numbers_go_on_and_keys_are_of_their_own():
    parts = piecewise(scenarios.get("parallel_sibling"), InMemorySaver())
    before = copy.deepcopy([part.events for part in parts])
    trace = stitch(*parts)
    assert [event.n for event in trace.events] == list(range(1, len(trace) + 1))
    assert [event.t for event in trace.events] == sorted(event.t for event in trace.events)
    assert [action.key for action in trace.story.actions] == [1, 2]
    keys = [event.write for event in trace.events if event.kind == "wrote"]
    assert keys == list(range(1, len(keys) + 1))
    assert [part.events for part in parts] == before
    assert stitch(trace).events == trace.events


@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_a_run_that_was_cut_off(durability):
    """Its last events are missing; what the next call found saved is applied, what it did not is not."""
    scenario, saver = scenarios.get("fix_a_split_node"), InMemorySaver()
    with hitl_lab.record() as whole:
        run(scenario, InMemorySaver(), durability=durability)
    at = next(e.n for e in whole.events if e.kind == "interrupt_called")
    if durability == "sync":
        # As a saver whose last put came back in the very moment of the death: saved, but not told.
        cut = [e for e in whole.events[:at] if e.kind != "saver_put"]
        rest = [e for e in whole.events if e.run == whole.story.actions[1].key]
    else:
        cut = whole.events[:at]
        with hitl_lab.record() as again:
            run(scenario, saver)
        rest = again.events
    ledger = stitch(Trace(cut), Trace(rest)).ledger
    fates = {(row.node, row.fate) for row in ledger.where(run="run 1")}
    lasting = "applied" if durability == "sync" else "discarded"
    assert {("attach", lasting), ("draft", lasting)} < fates


def test_facts_that_differ_are_both_told():
    one, two = Trace(facts={"langgraph": "1.0.0", "python": "3.11"}), Trace(facts={"langgraph": "1.2.24"})
    assert stitch(one, two).facts == {"langgraph": "1.0.0, 1.2.24", "python": "3.11"}
    assert stitch().events == ()


def test_a_file_that_is_no_trace(tmp_path):
    with pytest.raises(TraceFileError, match="no such trace file"):
        stitch(tmp_path / "none.jsonl")


def hand_over(tmp_path, saver, thread="1"):
    """Pause in one process, resume in another."""
    paused = in_another_process("parallel_sibling", {"log": ["order"]}, saver=saver, thread=thread)
    paused.save(tmp_path / "paused.jsonl")
    resumed = in_another_process("parallel_sibling", Command(resume="yes"), saver=saver, thread=thread)
    resumed.save(tmp_path / "resumed.jsonl")
    return stitch(tmp_path / "paused.jsonl", tmp_path / "resumed.jsonl")


@pytest.mark.slow
def test_pause_in_one_process_resume_in_another(tmp_path):
    trace = hand_over(tmp_path, str(tmp_path / "shared.sqlite"))
    check_handed_over(trace)
    stored = [e.stored for e in trace.events if e.kind == "state_read"]
    assert [each["committed"] for each in stored] == [True, True]
    with hitl_lab.savers.sqlite(tmp_path / "shared.sqlite") as saver:
        assert stored_rows(saver).tables == stored[-1]["tables"]


def check_handed_over(trace):
    assert [(action.label, action.name, action.status) for action in trace.story.actions] == [
        ("run 1", "invoke", "paused"),
        ("run 2", "resume", "done"),
    ]
    lookup = trace.ledger.where(node="lookup")
    assert [(row.run, row.fate, row.checkpoint) for row in lookup] == [("run 1", "applied", "C3")]
    dropped = trace.ledger.where(fate="dropped")
    assert [(row.node, row.rewritten_by) for row in dropped] == [("ask", "run 2")]
