"""How writes come into `task.writes`: late, twice the same, from several threads, as anything that can be iterated."""

import asyncio
import operator
import sys
import threading
from collections import deque
from typing import Annotated, TypedDict

import pytest
from langgraph.cache.memory import InMemoryCache
from langgraph.channels import UntrackedValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy, interrupt

import hitl_lab
from hitl_lab import values
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
    observer, live = LoopObserver(recorder, 1, ()), Task(*writes)
    log = TaskLog("t", "node", None, live.writes)
    observer.ticked(1, "pending", True, (), {"t": log}, ())
    observer.sent(log, list(writes), "return", None)
    return recorder, observer, live, log


@pytest.mark.parametrize("when", ["before the saver is called", "while the saver works"])
def test_what_the_saver_was_called_with_counts_as_stored(when):
    first, late = ("log", ["a"]), ("log", ["late"])
    recorder, observer, live, log = observed(first)
    call = observer.handing("t", live.writes, "c", True, False)
    observer.committed(live, "finished", [call], None)
    early = when == "before the saver is called"
    size = 2 if early else 1
    live.writes.append(late)
    observer.sent(log, [late], "send", None)
    observer.saver_put_writes("t", live.writes, "c", None, size)
    wrote = [e.write for e in recorder.events if isinstance(e, ev.Wrote)]
    (stored,) = [e for e in recorder.events if isinstance(e, ev.SaverPutWrites)]
    assert [row.write for row in stored.rows] == wrote[:size]
    # So that what is read back is known again, whichever of them the saver had read.
    assert [key for _, key in recorder.stored_rows("t")] == wrote


def test_commit_drops_nothing_that_was_sent_while_it_handed_the_writes_on():
    first, late = ("log", ["a"]), ("log", ["late"])
    recorder, observer, live, log = observed(first)
    call = observer.handing("t", live.writes, "c", True, False)
    live.writes.append(late)
    observer.sent(log, [late], "send", None)
    observer.committed(live, "finished", [call], None)
    (commit,) = [e for e in recorder.events if isinstance(e, ev.Committed)]
    assert (len(commit.writes), len(commit.handed), commit.dropped) == (2, 1, ())


class State(TypedDict):
    log: Annotated[list, operator.add]


class Sum(TypedDict):
    n: Annotated[int, operator.add]


class SumAndScratch(Sum):
    scratch: Annotated[int, UntrackedValue]


@pytest.mark.parametrize("state", [Sum, SumAndScratch])
def test_two_equal_writes_of_a_task_are_two_wherever_they_come_back_from(state):
    """LangGraph makes their tuples anew: the channel and the very value are the same. One was told as lost."""
    builder = StateGraph(state)
    builder.add_node("twice", lambda state: [Command(update={"n": 1}), Command(update={"n": 1})])
    builder.add_node("asks", lambda state: {"n": interrupt("How much?")})
    builder.add_edge(START, "twice").add_edge(START, "asks")
    graph = builder.compile(checkpointer=InMemorySaver())
    with hitl_lab.record() as trace:
        graph.invoke({"n": 0}, CONFIG)
        assert graph.invoke(Command(resume=10), CONFIG) == {"n": 12}
    rows = [(row.node, row.value, row.fate) for row in trace.ledger if row.node != "__start__"]
    assert rows == [("twice", 1, "applied"), ("twice", 1, "applied"), ("asks", 10, "applied")]
    assert trace.findings.codes == ()
    applied = [e for e in trace.events if isinstance(e, ev.Applied)][-1]
    assert len(set(applied.writes)) == len(applied.writes)


def test_two_threads_that_send_after_a_retry():
    """`task.writes` was emptied and is as long again as it was known to be: its first write is another."""
    together, one_by_one = threading.Barrier(2), threading.Lock()
    original, attempts = LoopObserver.sent, []

    def sent(self, log, writes, via, source):
        if threading.current_thread().name == "sender":
            together.wait(10)
        with one_by_one:
            return original(self, log, writes, via, source)

    def node(state):
        send = send_hook()
        attempts.append(1)
        if len(attempts) == 1:
            send([("log", ["first"])])
            raise ConnectionError
        threads = [threading.Thread(target=send, args=([("log", [i])],), name="sender") for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"log": ["end"]}

    policy = RetryPolicy(max_attempts=2, initial_interval=0, jitter=False, retry_on=ConnectionError)
    graph = StateGraph(State).add_node("node", node, retry_policy=policy).add_edge(START, "node").compile()
    with pytest.MonkeyPatch.context() as patch, hitl_lab.record() as trace:
        patch.setattr(LoopObserver, "sent", sent)
        assert len(graph.invoke({"log": []})["log"]) == 3
    fates = sorted((str(row.value), row.fate) for row in trace.ledger if row.node == "node")
    assert fates == [("['end']", "applied"), ("['first']", "dropped"), ("[0]", "applied"), ("[1]", "applied")]
    assert [len(e.cleared) for e in trace.events if isinstance(e, ev.Retried)] == [1]


def once_then_raise():
    yield "log", ["made"]
    raise ConnectionError


@pytest.mark.parametrize(
    "send_it",
    [
        lambda send: send(True),
        lambda send: send(False),
        lambda send: send(None),
        lambda send: send(),
        lambda send: send(writes=[("log", ["named"])]),
        lambda send: send((("log", ["in a tuple"]),)),
        lambda send: send(("log", [text]) for text in ("one", "two")),
        lambda send: send(once_then_raise()),
    ],
)
def test_a_send_does_what_it_does_unrecorded(send_it):
    def node(state):
        try:
            send_it(send_hook())
        except (TypeError, ConnectionError) as exc:
            raised = type(exc).__name__
        else:
            raised = "nothing"
        return {"log": [raised, interrupt("Go on?")]}

    def run():
        graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=InMemorySaver())
        graph.invoke({"log": []}, CONFIG)
        return graph.invoke(Command(resume="yes"), CONFIG)

    alone = run()
    with hitl_lab.record() as trace:
        assert run() == alone
    applied = [text for row in trace.ledger if row.node == "node" and row.fate == "applied" for text in row.value]
    assert applied == alone["log"]
    assert not [e for e in trace.events if e.kind == "note"]


def test_a_dict_that_another_thread_changes_is_told_somehow():
    changing, stop, raised = {}, threading.Event(), []

    def change():
        i = 0
        while not stop.is_set():
            changing[f"k{i % 40}"] = i
            i += 1
            if i % 7 == 0:
                changing.clear()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(2_000):
            try:
                values.snapshot(changing)
            except RuntimeError as exc:
                raised.append(exc)
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(before)
    assert raised == []


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


@pytest.mark.parametrize("way", ["sync", "async"])
def test_the_result_of_a_task_that_was_called_and_is_in_the_cache(way):
    """`accept_push` hands it on before it comes back: it was told as a Command's write, and as lost."""

    @task(cache_policy=CachePolicy())
    def double(x):
        return x * 2

    @task(cache_policy=CachePolicy())
    async def adouble(x):
        return x * 2

    @entrypoint(checkpointer=InMemorySaver(), cache=InMemoryCache())
    def order(x):
        return [double(x).result(), double(x).result()]

    @entrypoint(checkpointer=InMemorySaver(), cache=InMemoryCache())
    async def aorder(x):
        return [await adouble(x), await adouble(x)]

    def run(thread):
        config = {"configurable": {"thread_id": thread}}
        return order.invoke(2, config) if way == "sync" else asyncio.run(aorder.ainvoke(2, config))

    with hitl_lab.record() as trace:
        assert [run("1"), run("2")] == [[4, 4], [4, 4]]
    results = [e for e in trace.events if isinstance(e, ev.Wrote) and e.channel == "__return__"]
    assert [(e.name.removeprefix("a"), e.via) for e in results] == [("double", "return"), *[("double", "cache")] * 3]
    pushed = [e for e in trace.events if isinstance(e, ev.TaskPushed)]
    assert [e.task for e in pushed] == [e.task for e in results]
    assert trace.findings.codes == ()
