"""A process killed at a chosen point, what stands in the database then, and what a resume does with it."""

import importlib
import os
import sys
from pathlib import Path

import pytest

from hitl_lab import _child, crash, crash_table, crashes
from hitl_lab.stored import StoredRow, StoredRows
from hitl_lab.trace import Trace
from hitl_lab.tracing import events as ev

FIX_A = "fix_a_split_node"
SLOW = pytest.mark.slow  # a process of its own is over a second


def places(found):
    return [(s.node, s.place) for s in found.survivors]


def test_in_the_node_that_asks_sync_has_saved_what_came_before():
    found = crash(FIX_A, at="in_node")
    assert found.reached
    assert found.asked
    assert places(found) == [("__start__", "checkpoint"), ("draft", "checkpoint"), ("attach", "checkpoint")]
    assert (found.question, found.next, found.unawaited) == (False, ("review",), ())
    # The answer finds the node, although nobody was ever shown its question.
    assert (found.ran, found.resume, found.error) == (("review",), "review → done", None)
    assert found.rows.tables == {"checkpoints": 4, "writes": 6}
    assert str(found) == (
        "Killed in the node that asks, durability sync, sqlite; not waited for: nothing\n"
        '  __start__ wrote messages = [HumanMessage h1 "My parcel is broken."]: checkpoint\n'
        '  draft wrote messages = [AIMessage a1 "We refund 40 EUR."]: checkpoint\n'
        '  attach wrote messages = [AIMessage a1 "We refund 4…" +{hitl_payload: "risk: low"}]: checkpoint\n'
        "  the question: not stored; next: review\n"
        "  checkpoints 4, writes 6\n"
        "  resume: review → done"
    )


def test_in_the_node_that_asks_exit_has_saved_nothing():
    found = crash(FIX_A, at="in_node", durability="exit")
    assert {place for _, place in places(found)} == {"gone"}
    assert found.rows.tables == {"checkpoints": 0, "writes": 0}
    # The answer starts the graph over, without the input, and the question comes again.
    assert found.resume == "draft attach review → asks"
    first = found.trace.ledger.where(run="run 1")
    assert [(row.node, row.fate, row.rewritten_by) for row in first] == [
        ("__start__", "lost", None),
        ("draft", "discarded", "run 2"),
        ("attach", "discarded", "run 2"),
    ]
    assert {row.fate for row in found.trace.ledger.where(run="run 2")} == {"applied"}


@SLOW
@pytest.mark.parametrize("durability", ["async", "exit"])
def test_once_invoke_returned_all_is_saved(durability):
    found = crash(FIX_A, at="returned", durability=durability)
    assert {place for _, place in places(found)} == {"checkpoint"}
    assert (found.question, found.unawaited, found.resume) == (True, (), "review → done")


@SLOW
def test_after_the_put_of_a_nodes_checkpoint():
    found = crash(FIX_A, at="put:attach")
    assert places(found)[-1] == ("attach", "checkpoint")
    assert not found.asked
    assert found.killed.events[-1].kind in ("saver_put", "checkpoint")


@SLOW
def test_a_point_that_is_not_reached():
    found = crash(FIX_A, at="in_node:nobody")
    assert not found.reached
    assert found.summary == "not reached"
    assert str(found) == "Not killed before nobody runs, durability sync, sqlite: the run never came there."


@SLOW
def test_both_processes_are_one_trace():
    found = crash("parallel_sibling", at="put_writes:lookup")
    assert [(a.label, a.status) for a in found.trace.story.actions] == [("run 1", "running"), ("run 2", "done")]
    # lookup's row was saved before the process died: it is pending, and the resume does not run it again.
    assert ("lookup", "pending") in places(found)
    assert "lookup" not in found.ran
    assert [row.fate for row in found.trace.ledger.where(node="lookup")] == ["applied"]


@SLOW
def test_a_table_shows_what_races_as_counts():
    table = crash_table(points=("in_node", "interrupt_chunk"), durabilities=("sync", "exit"), times=2)
    steady, racing = table["in_node", "sync"], table["interrupt_chunk", "sync"]
    assert (len(steady.tries), steady.racing) == (1, False)
    assert (len(racing.tries), racing.racing) == (2, True)
    assert racing.tries[0].unawaited == ("put_writes of review",)
    assert sum(racing.counts().values()) == 2
    # From 1.2.18 on the chunk comes before the loop is left, so "exit" has saved nothing yet.
    assert table.text(stable=True) == (
        "killed in the node that asks  [sqlite]\n"
        "    sync   3 of 3 writes; question no; review → done\n"
        "    exit   0 of 3 writes; question no; draft attach review → asks\n"
        "killed at the stream's interrupt chunk  [sqlite]\n"
        "    sync   varies\n"
        "    exit   0 of 3 writes; question no; draft attach review → asks"
    )


# ---------------------------------------------------------------- points and races, without a process


def story(name, durability):
    from langgraph.checkpoint.memory import InMemorySaver

    import hitl_lab
    from hitl_lab import scenarios
    from hitl_lab.scenarios._scenario import run

    with hitl_lab.record() as trace:
        run(scenarios.get(name), InMemorySaver(), durability=durability)
    first = trace.story.actions[0]
    return sorted(first.events, key=lambda event: event.n)


def killed(at, durability):
    point, events = _child.Point(at), []
    for event in story(FIX_A, durability):
        events.append(event)
        if point.hit(event):
            return Trace(events)
    return None


@pytest.mark.parametrize(
    ("at", "durability", "races"),
    [
        ("in_node", "sync", 0),
        ("in_node", "async", 4),
        ("in_node", "exit", 0),
        ("in_node:draft", "async", 2),
        ("after_node", "sync", 0),
        ("commit", "sync", 1),
        ("commit", "exit", 0),
        ("put:attach", "sync", 0),
        ("put:attach", "exit", 1),
    ],
)
def test_what_nothing_waited_for(at, durability, races):
    trace = killed(at, durability)
    assert len(crashes._unawaited(trace, at, durability)) == races


def test_a_row_at_a_checkpoint_that_was_not_saved_is_adrift():
    trace = killed("in_node", "async")
    made = [e.checkpoint for e in trace.events if e.kind == "checkpoint"]
    attach = next(e for e in trace.events if e.kind == "put_writes" and e.name == "attach")
    write = StoredRow("writes", "1", "", attach.checkpoint, None, attach.task, 0, "messages")
    for saved, place in ((made[:1], "adrift"), (made[:3], "pending"), (made, "checkpoint")):
        checkpoints = tuple(StoredRow("checkpoints", "1", "", checkpoint) for checkpoint in saved)
        rows = StoredRows("SQLite", True, {}, (*checkpoints, write))
        assert list(crashes._survivors(trace, rows))[-1].place == place


def test_a_put_told_before_its_checkpoint_still_counts():
    point = _child.Point("put:a")
    assert not point.hit(ev.Committed(task="1", name="a", step=1))
    assert not point.hit(ev.SaverPut(checkpoint="c", step=1))
    assert point.hit(ev.CheckpointCreated(checkpoint="c", step=1))


@pytest.mark.parametrize("at", ["nowhere", "in-node", "returned:review", ""])
def test_no_such_point(at):
    with pytest.raises(crashes.NoSuchPoint, match="There are: in_node, after_node, commit"):
        crash(FIX_A, at=at)


def test_no_such_durability_and_no_memory():
    with pytest.raises(crashes.NoSuchPoint, match="sync, async, exit"):
        crash(FIX_A, at="commit", durability="never")
    with pytest.raises(crashes.NoSuchPoint, match="dies with its process"):
        crash(FIX_A, at="commit", saver="memory")


# ---------------------------------------------------------------- graphs of one's own

MODULE = '''
import os, threading
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

class State(TypedDict):
    note: str

def build(saver, node=None):
    def ask(state):
        return {"note": interrupt("?")}
    graph = StateGraph(State)
    graph.add_node("ask", node or ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)

graph = build(None)

def hangs(saver):
    def wait(state):
        with open("pid", "w") as out:
            out.write(str(os.getpid()))
        threading.Event().wait()
    return build(saver, wait)

def raises(saver):
    raise ValueError("this graph cannot be built")

class Holder:
    @staticmethod
    def build(saver):
        return build(saver)
'''


@pytest.fixture
def my_graph(tmp_path, monkeypatch):
    (tmp_path / "my_own_graph.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("my_own_graph")
    sys.modules.pop("my_own_graph", None)


@SLOW
@pytest.mark.parametrize("spell", ["build", "graph"])
def test_a_factory_or_a_graph_in_a_module(my_graph, spell):
    found = crash(f"my_own_graph:{spell}", at="in_node", input={"note": "hello"}, answer="yes")
    assert [str(s) for s in found.survivors] == ['__start__ wrote note = "hello": checkpoint']
    assert found.resume == "ask → done"


def test_functions_that_another_process_can_find(my_graph):
    assert _child.spell(my_graph.build) == "my_own_graph:build"
    assert _child.spell(my_graph.Holder.build) == "my_own_graph:Holder.build"


def test_functions_that_it_cannot_find(my_graph, monkeypatch):
    def nested(saver):
        return None

    for factory, says in [
        (lambda saver: None, "defined inside a function"),
        (nested, "defined inside a function"),
        (3, "int cannot be found"),
    ]:
        with pytest.raises(_child.CannotRunThere, match=f"{says}.*\n?.*%%writefile my_graph.py"):
            crash(factory, at="commit")
    monkeypatch.setattr(my_graph.build, "__module__", "__main__")
    with pytest.raises(_child.CannotRunThere, match="lives in this notebook or script"):
        crash(my_graph.build, at="commit")


@pytest.mark.parametrize("name", ["my_own_graph:nothing", "no_such_module:build", "no_such_scenario"])
def test_a_name_that_is_not_there(my_graph, name):
    with pytest.raises(_child.CannotRunThere, match="cannot be found"):
        crash(name, at="commit")


@SLOW
def test_a_graph_that_raises_shows_its_own_error(my_graph):
    with pytest.raises(_child.CannotRunThere, match="ValueError: this graph cannot be built"):
        crash("my_own_graph:raises", at="in_node", input={"note": ""})


@SLOW
@pytest.mark.skipif(os.name != "posix", reason="asks the process table")
def test_a_child_that_hangs_is_ended_and_none_is_left(my_graph):
    # On a busy machine the child may not come to its node at all in the first try.
    for timeout in (4, 16, 64):
        with pytest.raises(_child.TookTooLong, match=f"within {timeout} seconds"):
            crash("my_own_graph:hangs", at="returned", input={"note": ""}, timeout=timeout)
        if Path("pid").exists():
            break
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path("pid").read_text()), 0)
