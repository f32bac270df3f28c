"""The broken node and its fixes, measured: the fate of each write, on each saver, durability and kind of call."""

import asyncio

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.pregel._runner import PregelRunner

import hitl_lab
from hitl_lab import scenarios
from hitl_lab.answers import answers
from hitl_lab.scenarios._scenario import arun, run
from hitl_lab.scenarios.savers import async_sqlite, memory, sqlite
from hitl_lab.tracing import events as ev

DURABILITIES = ("sync", "async", "exit")


def recorded(name, saver="memory", durability="sync", asynchronous=False):
    scenario = scenarios.get(name)
    if asynchronous:

        async def story():
            async with async_sqlite() if saver == "sqlite" else _ready(InMemorySaver()) as opened:
                await arun(scenario, opened, durability=durability)

        with hitl_lab.record() as trace:
            asyncio.run(story())
    else:
        with hitl_lab.record() as trace, (sqlite if saver == "sqlite" else memory)() as opened:
            run(scenario, opened, durability=durability)
    return trace


class _ready:
    def __init__(self, saver):
        self.saver = saver

    async def __aenter__(self):
        return self.saver

    async def __aexit__(self, *exc):
        pass


def fates(trace):
    return [(r.run, r.node, r.channel, r.fate) for r in trace.ledger]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync-nodes", "async-nodes"])
@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("saver", ["memory", "sqlite"])
def test_broken_node_drops_the_write_everywhere(saver, durability, asynchronous):
    trace = recorded("broken_node", saver, durability, asynchronous)
    (row,) = trace.ledger.where(fate="dropped")
    assert (row.run, row.node, row.channel, row.via) == ("run 1", "review", "messages", "send")
    assert row.phantom and row.rewritten_by == "run 2"
    assert (row.handed, row.saver, row.checkpoint, row.in_state, row.returned) == (None, False, None, False, True)
    assert row.where.file == "langgraph/pregel/_runner.py"
    assert row.where.function.endswith("PregelRunner.commit")
    assert fates(trace) == [
        ("run 1", "__start__", "messages", "applied"),
        ("run 1", "draft", "messages", "applied"),
        ("run 1", "review", "messages", "dropped"),
        ("run 2", "review", "messages", "applied"),
        ("run 2", "review", "messages", "applied"),
    ]
    assert all(r.saved for r in trace.ledger if r.fate == "applied")


def test_the_line_that_dropped_it_hands_on_the_question():
    """The line is measured, so it must be the one in the installed file that calls put_writes with the question."""
    import inspect

    row = recorded("broken_node").ledger.where(fate="dropped")[0]
    lines, first = inspect.getsourcelines(PregelRunner.commit)
    assert "put_writes" in lines[row.where.line - first]
    assert any("GraphInterrupt" in line for line in lines[: row.where.line - first])


def test_a_commit_that_persists_the_write_is_believed(monkeypatch):
    """Nothing is hard-coded: with a LangGraph that saves such writes for the null task, the ledger says pending."""
    original = PregelRunner.commit

    def commit(self, task, exception):
        original(self, task, exception)
        if isinstance(exception, GraphInterrupt):
            from langgraph._internal._constants import NULL_TASK_ID

            self.put_writes()(NULL_TASK_ID, [w for w in task.writes if not w[0].startswith("__")])

    monkeypatch.setattr(PregelRunner, "commit", commit)
    scenario = scenarios.get("broken_node")
    graph = scenario.build(InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    with hitl_lab.record() as trace:
        graph.invoke(scenario.story[0].input, config)
    (row,) = [r for r in trace.ledger if r.node == "review"]
    assert (row.fate, row.handed, row.saver, row.phantom) == ("pending", "null task", True, False)
    read = [e for e in trace.events if isinstance(e, ev.StateRead)][-1]
    assert [r.write for r in read.pending if r.channel == "messages"] == [row.key]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync-nodes", "async-nodes"])
@pytest.mark.parametrize("durability", DURABILITIES)
def test_fix_a_is_applied_before_the_pause(durability, asynchronous):
    trace = recorded("fix_a_split_node", durability=durability, asynchronous=asynchronous)
    (row,) = trace.ledger.where(node="attach")
    assert (row.run, row.fate, row.saved) == ("run 1", "applied", True)
    paused = next(e for e in trace.story.events if isinstance(e, ev.Paused))
    assert row.decided_at < paused.n
    assert {r.fate for r in trace.ledger} == {"applied"}


def test_fix_b_keeps_the_write_and_tells_what_became_of_the_answer():
    for name in (
        "fix_b_interrupt_before",
        "fix_b_answer_lost",
        "fix_b_question_then_answer",
        "fix_b_answer_before_question",
    ):
        (row,) = [r for r in recorded(name).ledger if r.node == "attach" and r.via == "return"]
        assert (row.run, row.fate) == ("run 1", "applied"), name

    def answered(name):
        return [a.fate for a in answers(recorded(name).story)]

    assert answered("fix_b_interrupt_before") == []
    assert answered("fix_b_answer_lost") == ["lost"]
    assert answered("fix_b_question_then_answer") == ["taken"]
    assert answered("fix_b_answer_before_question") == ["taken before asked"]
    from hitl_lab.views.text import outline

    assert 'The answer "approved" was lost' in outline(recorded("fix_b_answer_lost").story)
    assert "whose question was never shown" in outline(recorded("fix_b_answer_before_question").story)


@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("name", ["fix_c_update_state", "fix_c_as_previous_node"])
def test_fix_c_is_applied_and_the_vanished_question_is_told(name, durability):
    trace = recorded(name, durability=durability)
    (row,) = trace.ledger.where(via="update_state")
    assert (row.run, row.fate, row.saved, row.node) == ("update 1", "applied", True, "draft")
    assert 'The question I1 "Review the draft" is no longer shown by `get_state()` (live view).' in str(trace)
    assert [a.fate for a in answers(trace.story)] == ["taken"]


def test_fix_c_as_the_paused_node_tells_that_it_is_skipped():
    trace = recorded("fix_c_as_paused_node")
    (row,) = trace.ledger.where(via="update_state")
    assert (row.fate, row.node) == ("applied", "review")
    assert "`review` counts as done and is skipped." in str(trace)
    assert [a.fate for a in answers(trace.story)] == ["lost"]


START_TASK = [
    ("task_started", "__start__"),
    ("wrote", "__start__", "messages", "return"),
    ("wrote", "__start__", "branch:to:draft", "branch"),
    ("task_ended", "__start__", "finished"),
    ("commit", "__start__", 2, 0),
    ("put_writes", "__start__"),
    ("saver_put_writes", "__start__"),
]
DRAFT_TASK = [
    ("task_started", "draft"),
    ("wrote", "draft", "messages", "return"),
    ("wrote", "draft", "branch:to:review", "branch"),
    ("task_ended", "draft", "finished"),
    ("commit", "draft", 2, 0),
    ("put_writes", "draft"),
    ("saver_put_writes", "draft"),
]
BROKEN_NODE = [
    ("run_started", "invoke"),
    ("wrote", "", "__start__", "input"),
    ("applied", "_first"),
    ("checkpoint", "input"),
    ("saver_put", None),
    ("tick", ("__start__",), "pending"),
    *START_TASK,
    ("applied", "after_tick"),
    ("checkpoint", "loop"),
    ("saver_put", None),
    ("tick", ("draft",), "pending"),
    *DRAFT_TASK,
    ("applied", "after_tick"),
    ("checkpoint", "loop"),
    ("saver_put", None),
    ("tick", ("review",), "pending"),
    ("task_started", "review"),
    ("wrote", "review", "messages", "send"),
    ("interrupt_called", "review", False),
    ("task_ended", "review", "interrupt"),
    ("commit", "review", 1, 1),
    ("put_writes", "review"),
    ("saver_put_writes", "review"),
    ("applied", "_suppress_interrupt"),
    ("paused", "interrupt"),
    ("returned", ("messages",)),
    ("state_read", ("review",)),
    ("run_ended", "paused"),
    ("run_started", "invoke"),
    ("put_writes", ""),
    ("saver_put_writes", ""),
    ("applied", "_first"),
    ("tick", ("review",), "pending"),
    ("task_started", "review"),
    ("wrote", "review", "messages", "send"),
    ("interrupt_called", "review", True),
    ("wrote", "review", "__resume__", "interrupt()"),
    ("wrote", "review", "messages", "return"),
    ("task_ended", "review", "finished"),
    ("commit", "review", 3, 0),
    ("put_writes", "review"),
    ("saver_put_writes", "review"),
    ("applied", "after_tick"),
    ("checkpoint", "loop"),
    ("saver_put", None),
    ("tick", (), "done"),
    ("returned", ()),
    ("state_read", ()),
    ("run_ended", "done"),
]


def brief(e):
    match e:
        case ev.RunStarted():
            return e.kind, e.action.removeprefix("a")
        case ev.Wrote():
            return e.kind, e.name, e.channel, e.via
        case ev.Applied():
            return e.kind, e.where
        case ev.CheckpointCreated():
            return e.kind, e.source
        case ev.SaverPut():
            return e.kind, e.error
        case ev.Ticked():
            return e.kind, tuple(t.name for t in e.tasks), e.status
        case ev.TaskEnded():
            return e.kind, e.name, e.outcome
        case ev.Committed():
            return e.kind, e.name, len(e.writes), len(e.dropped)
        case ev.InterruptCalled():
            return e.kind, e.name, e.answered
        case ev.Paused():
            return e.kind, e.reason
        case ev.Returned():
            return e.kind, e.phantom
        case ev.StateRead():
            return e.kind, e.next
        case ev.RunEnded():
            return e.kind, e.status
        case _:
            return e.kind, e.name


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync-nodes", "async-nodes"])
def test_exact_events_of_the_broken_node(asynchronous):
    trace = recorded("broken_node", asynchronous=asynchronous)
    assert [brief(e) for e in trace.story.events] == BROKEN_NODE
    # Arrival: the same events; only what a saver returns may come at another moment.
    arrived = [brief(e) for e in trace.events]
    assert sorted(map(repr, arrived)) == sorted(map(repr, BROKEN_NODE))
    late = ("saver_put", "saver_put_writes")
    assert [b for b in arrived if b[0] not in late] == [b for b in BROKEN_NODE if b[0] not in late]


def test_payload_never_reaches_the_saver_before_the_resume():
    """The rows the saver took, and what it gave back, hold no trace of the dropped write."""
    trace = recorded("broken_node")
    (row,) = trace.ledger.where(fate="dropped")
    pause = next(e.n for e in trace.events if isinstance(e, ev.RunEnded))
    for e in trace.events:
        if isinstance(e, ev.SaverPutWrites | ev.StateRead) and e.n <= pause:
            rows = e.rows if isinstance(e, ev.SaverPutWrites) else e.pending
            assert row.key not in {r.write for r in rows}
            if isinstance(e, ev.StateRead):
                assert "hitl_payload" not in repr(e.values)
