"""What the kit tells of the public reports: fates, answers, pauses. What LangGraph does is in test_cases.py."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from _stories import perform, runnable
from packaging.version import Version
from test_cases import newest

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


def test_a05_earlier_calls_are_told_as_answered():
    trace = traced("validation_loop")
    calls = [[e.answered for e in a.events if isinstance(e, ev.InterruptCalled)] for a in trace.story.runs]
    assert calls == [[True] * n + [False] for n in range(4)] + [[True] * 4]


def test_a06_retries_throw_writes_away():
    trace = traced("retry_before_question")
    assert [e.why for e in seen(trace, ev.Retried)] == ["retry", "retry"]
    assert fates(trace, fate="dropped", rewritten_by="run 1") == [("run 1", "charge", "dropped", "run 1", None)] * 2
    assert [e.answered for e in seen(trace, ev.InterruptCalled)] == [False, True]


def test_a07_a_goto_beside_an_edge_is_two_control_writes_and_two_tasks():
    trace = traced("command_goto_and_edge")
    control = {e.channel for e in seen(trace, ev.Wrote) if e.name == "decide" and e.control}
    assert {"branch:to:discard", "branch:to:send"} <= control
    assert [sorted(t.name for t in e.tasks) for e in seen(trace, ev.Ticked)][-2:] == [["discard", "send"], []]


def test_a08_the_approved_and_the_sent_draft_are_two_rows():
    values = {r.channel: r.value for r in traced("changed_draft").ledger.where(run="run 2")}
    assert values == {"approved": "draft 1 on refunds", "sent": "draft 2 on refunds"}
    assert "HL009" in traced("changed_draft").findings.codes


@newest
def test_a09_next_after_each_question():
    assert [e.next for e in seen(traced("two_questions"), ev.StateRead)] == [("order",), ("order",), ()]


def test_a10_a_bare_answer_is_refused():
    trace = traced("two_tasks_bare_answer")
    assert [a.fate for a in answers(trace.story)] == ["refused", "taken"]


@newest
def test_a11_only_what_waits_is_shown():
    reads = seen(traced("two_tasks_one_by_one"), ev.StateRead)
    assert [sorted(i.value for i in e.interrupts) for e in reads] == [["Legal?", "Sales?"], ["Sales?"], []]


@newest
def test_a12_a_bare_answer_to_a_subgraph_with_two_questions_is_refused():
    assert [a.fate for a in answers(traced("subgraph_two_ask").story)] == ["refused", "taken"]


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


@pytest.mark.parametrize(
    ("name", "again"),
    [("breakpoint_before", ["publish"]), ("breakpoint_empty_input", ["write"]), ("breakpoint_new_input", ["write"])],
)
def test_a18_a_pause_without_a_question_and_who_ran_then(name, again):
    trace = traced(name)
    paused = seen(trace, ev.Paused)[0]
    assert (paused.reason, paused.nodes, paused.interrupts) == ("interrupt_before", ("publish",), ())
    second = [e.name for e in trace.story.runs[1].events if isinstance(e, ev.TaskStarted)]
    assert [n for n in second if n != "__start__"] == again


def test_a19_a_breakpoint_after_a_node_names_that_node():
    (paused,) = seen(traced("breakpoint_at_run_time"), ev.Paused)
    assert (paused.reason, paused.nodes, paused.interrupts) == ("interrupt_after", ("write",), ())


def test_a20_the_same_pause_at_the_same_checkpoint():
    trace = traced("schema_drift")
    assert [(e.reason, e.nodes) for e in seen(trace, ev.Paused)] == [("interrupt_before", ("publish",))] * 4
    assert len({e.checkpoint for e in seen(trace, ev.StateRead)}) == 1
    assert "HL018" in trace.findings.codes


def test_a21_discarded_by_the_new_input():
    trace = traced("new_input_while_paused")
    assert fates(trace, node="lookup", run="run 1") == [("run 1", "lookup", "discarded", "run 2", "run 2")]


def test_a22_the_callers_write_is_made_again_and_the_subgraphs_are_not():
    ledger = traced("subgraph_in_function").ledger
    calling = [(r.run, r.fate, r.rewritten_by) for r in ledger.where(path="call") if r.value == ["calling"]]
    assert calling == [("run 1", "dropped", "run 2"), ("run 2", "dropped", "run 3"), ("run 3", "applied", None)]
    inside = [(r.path, r.run, r.fate) for r in ledger if r.path in ("call/first", "call/second")]
    assert inside == [("call/first", "run 2", "applied"), ("call/second", "run 3", "applied")]


def test_a23_which_question_took_which_answer():
    trace = traced("subgraph_in_function")
    calls = [(e.run - trace.story.runs[0].key, e.name, e.answered) for e in seen(trace, ev.InterruptCalled)]
    assert [c[1:] for c in calls] == [("first", False), ("first", True), ("second", False), ("second", True)]
    assert {a.fate for a in answers(trace.story)} == {"taken"}


def test_a24_an_update_inside_is_told_inside():
    (row,) = traced("subgraph_update_inside").ledger.where(via="update_state")
    assert (row.path, row.fate, row.in_state) == ("inner/prepare", "applied", True)


@newest
def test_a25_one_question_told_once_and_the_tasks_results_wait():
    trace = traced("functional_nested")
    (paused,) = (e for e in seen(trace, ev.Paused) if not e.ns)
    assert {i.value for i in paused.interrupts} == {"Is 20 right?"}
    assert 'Paused: `outer` asks I1 "Is 20 right?".' in str(trace)
    assert {r.fate for r in trace.ledger.where(channel="__return__")} == {"pending"}


def test_a26_a_tasks_result_waits_for_its_caller():
    assert {r.fate for r in traced("functional_mutation").ledger.where(channel="__return__")} == {"pending"}


def test_a27_one_task_against_one_task_a_call():
    def planned(name):
        last = [e for e in seen(traced(name), ev.Ticked) if any(t.name == "tools" for t in e.tasks)][-1]
        return sorted((t.name, t.finished) for t in last.tasks)

    assert planned("tool_node") == [("tools", False)]
    assert planned("tools_sent") == [("tools", False), ("tools", True)]


def test_a28_each_call_with_its_question():
    calls = [(e.value, e.answered) for e in seen(traced("two_tools_ask"), ev.InterruptCalled)]
    assert calls[0] == ("Pay 1?", False)
    assert ("Pay 2?", False) in calls and calls.count(("Pay 2?", True)) == 1
    assert "HL009" in traced("crossed_answers").findings.codes
    assert traced("kept_apart_answers").findings.codes == ()


@newest
def test_a29_a_wrapped_tool_pauses_as_any_other():
    assert [(e.reason, e.interrupts[0].value) for e in seen(traced("tool_wrapped"), ev.Paused)] == [
        ("interrupt", "Pay 1?")
    ]


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


def test_a31_a_pause_is_told_as_a_pause():
    trace = traced("broken_node")
    assert trace.story.actions[0].status == "paused"
    assert not [e for e in seen(trace, ev.RunEnded) if e.error]
    assert "error" not in str(trace).lower()


@pytest.mark.parametrize(
    ("name", "tools"), [("agent_approved", 1), ("agent_edited", 1), ("agent_rejected", 0), ("agent_jump", 1)]
)
def test_a32_a33_which_messages_a_decision_wrote(name, tools):
    ledger = traced(name).ledger
    assert len(ledger.where(node="tools", channel="messages")) == tools
    assert [r.node for r in ledger.where(channel="jump_to")] == (["jump.after_model"] if name == "agent_jump" else [])


def test_a35_what_cannot_be_saved_is_lost():
    (row,) = traced("unserialisable_state").ledger.where(channel="lock")
    assert (row.fate, row.in_state, row.saved) == ("lost", False, False)
    assert "put raised TypeError" in row.reason


def test_a36_the_error_of_the_node_and_where_the_context_goes_along_the_pause():
    for name, status in (("asked_in_pool", "error"), ("asked_in_pool_with_context", "paused")):
        assert traced(name).story.actions[0].status == status
    assert "HL019" in traced("asked_in_pool").findings.codes


@pytest.mark.parametrize(("durability", "late"), [("sync", False), ("exit", True)])
def test_a37_each_return_of_the_saver_is_an_event(durability, late):
    trace = traced(f"durability_{durability}", durability=durability)
    run = trace.story.runs[0].key
    put = [e.n for e in trace.events if isinstance(e, ev.SaverPut) and e.run == run]
    ended = max(e.n for e in trace.events if isinstance(e, ev.TaskEnded) and e.run == run)
    assert put and (min(put) > ended) == late
    assert [e for e in seen(trace, ev.SaverPutWrites) if e.run == run]


@pytest.mark.parametrize("mode", ["values", "updates", "tasks", "checkpoints", "debug", "messages", "custom"])
def test_a38_the_pause_is_the_same_event_in_every_mode(mode):
    (paused,) = seen(traced(f"stream_{mode}"), ev.Paused)
    assert (paused.reason, paused.nodes) == ("interrupt", ("review",))
    assert [i.value for i in paused.interrupts] == ["Review the draft"]


def test_a39_made_and_stored_are_two_events():
    trace = traced("fix_a_split_node", durability="exit")
    made = {e.checkpoint: e for e in seen(trace, ev.CheckpointCreated)}
    stored = {e.checkpoint for e in seen(trace, ev.SaverPut)}
    assert stored < set(made)
    assert "It stays in memory until the run ends (durability exit)." in str(trace)


def test_a40_a_fork_discards_what_was_pending():
    trace = traced("travel_while_paused")
    assert fates(trace, node="lookup", run="run 1") == [("run 1", "lookup", "discarded", "run 2", "run 2")]
    assert seen(trace, ev.RunStarted)[1].addressed


def test_a41_the_history_stays_applied():
    for name in ("delta_channel_update", "delta_channel_dismissed"):
        rows = traced(name).ledger.where(run="run 1")
        assert [r.fate for r in rows if r.value in (["order"], ["prepared"])] == ["applied", "applied"]
        assert all(r.in_state for r in rows if r.fate == "applied")


def test_an_untracked_value_ends_with_its_run():
    (row,) = traced("untracked_value").ledger.where(channel="connection")
    assert (row.fate, row.phantom, row.in_state, row.checkpoint) == ("lost", True, False, None)


def test_every_case_that_can_run_here_has_a_test_of_what_is_told():
    told = {f"A{n}" for name in globals() for n in re.findall(r"(?:^test|_)_?a(\d\d)(?=_)", name)}
    assert {f"A{n:02}" for n in range(1, 43)} - told == {"A02", "A14", "A42"}  # see "Not the kit's matter" in the docs


def test_every_case_stands_in_the_documentation():
    text = (Path(__file__).parent.parent / "docs" / "cases.md").read_text("utf-8")
    assert {f"A{n:02}" for n in range(1, 43)} <= set(re.findall(r"\bA\d\d\b", text))
    for row in (line for line in text.splitlines() if line.startswith("| [A") and line.count(" | ") == 3):
        assert set(re.findall(r"`([a-z_]+)`", row.split(" | ")[2])) <= set(scenarios.names()), row
