"""A thread that a node left behind sends after its task was committed: LangGraph hands `task.writes` itself on."""

import operator
import threading
from collections import deque
from typing import Annotated, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

import hitl_lab
from hitl_lab.scenarios._send import send_hook
from hitl_lab.tracing import events as ev
from hitl_lab.tracing.observer import LoopObserver
from hitl_lab.tracing.recorder import Recorder
from hitl_lab.tracing.tasklog import TaskLog

CONFIG = {"configurable": {"thread_id": "1"}}


class Task:
    """What an observer asks of a task."""

    id, name = "t", "node"

    def __init__(self, *writes):
        self.writes = deque(writes)


def observed(*writes):
    recorder = Recorder()
    observer, task = LoopObserver(recorder, 1, ()), Task(*writes)
    log = TaskLog("t", "node", None, task.writes)
    observer.ticked(1, "pending", True, (), {"t": log}, ())
    observer.sent(log, list(writes), "return", None)
    return recorder, observer, task, log


@pytest.mark.parametrize("when", ["before the saver is called", "while the saver works"])
def test_what_the_saver_was_called_with_counts_as_stored(when):
    first, late = ("log", ["a"]), ("log", ["late"])
    recorder, observer, task, log = observed(first)
    call = observer.handing("t", task.writes, "c", True, False)
    observer.committed(task, "finished", [call], None)
    early = when == "before the saver is called"
    size = 2 if early else 1
    task.writes.append(late)
    observer.sent(log, [late], "send", None)
    observer.saver_put_writes("t", task.writes, "c", None, size)
    wrote = [e.write for e in recorder.events if isinstance(e, ev.Wrote)]
    (stored,) = [e for e in recorder.events if isinstance(e, ev.SaverPutWrites)]
    assert [row.write for row in stored.rows] == wrote[:size]
    # So that a resume, which gets it back from the saver, knows it.
    assert [key for _, key in recorder.stored_rows("t")] == wrote[:size]


def test_commit_drops_nothing_that_was_sent_while_it_handed_the_writes_on():
    first, late = ("log", ["a"]), ("log", ["late"])
    recorder, observer, task, log = observed(first)
    call = observer.handing("t", task.writes, "c", True, False)
    task.writes.append(late)
    observer.sent(log, [late], "send", None)
    observer.committed(task, "finished", [call], None)
    (commit,) = [e for e in recorder.events if isinstance(e, ev.Committed)]
    assert (len(commit.writes), len(commit.handed), commit.dropped) == (2, 1, ())


class State(TypedDict):
    log: Annotated[list, operator.add]


def test_a_late_write_that_no_saver_got_is_told_as_such():
    committed, sent = threading.Event(), threading.Event()

    def leaves_a_thread(state):
        send = send_hook()

        def later():
            assert committed.wait(10)
            send([("log", ["late"])])
            sent.set()

        threading.Thread(target=later, daemon=True).start()
        return {"log": ["in time"]}

    def asks(state):
        assert sent.wait(10)
        return {"log": [interrupt("Go on?")]}

    def listen(event):
        if isinstance(event, ev.SaverPutWrites) and event.name == "leaves_a_thread":
            committed.set()

    builder = StateGraph(State).add_node("leaves_a_thread", leaves_a_thread).add_node("asks", asks)
    builder.add_edge(START, "leaves_a_thread").add_edge(START, "asks")
    graph = builder.compile(checkpointer=InMemorySaver())
    with hitl_lab.record(on_event=listen) as trace:
        assert sorted(graph.invoke({"log": []}, CONFIG)["log"]) == ["in time", "late"]
        assert sorted(graph.invoke(Command(resume="yes"), CONFIG)["log"]) == ["in time", "yes"]
    fates = {str(row.value): row.fate for row in trace.ledger if row.node != "__start__"}
    assert fates == {"['in time']": "applied", "['late']": "lost", "['yes']": "applied"}
    found = {finding.code: finding for finding in trace.findings}
    assert found.keys() == {"HL002", "HL015"}
    assert "a thread that the node had left behind sent it after the node had returned" in found["HL015"].cause
    assert found["HL015"].advice.text.startswith("Let the node wait for the threads it starts")
