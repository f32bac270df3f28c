"""Store puts are told as side effects, and the store's classes are put back."""

import asyncio
import contextlib
import sqlite3

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore, GetOp, PutOp
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore
from langgraph.types import Command, interrupt

from hitl_lab.tracing import events as ev
from hitl_lab.tracing.recorder import record

pytestmark = pytest.mark.versions
CONFIG = {"configurable": {"thread_id": "1"}}


def graph(node, store):
    return StateGraph(dict).add_node("notify", node).add_edge(START, "notify").compile(InMemorySaver(), store=store)


def effects(trace):
    return [
        (e.via, e.label, e.source.function.split(".")[-1], e.run)
        for e in trace.story.events
        if isinstance(e, ev.SideEffect)
    ]


def sqlite_store():
    store = SqliteStore(sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None))
    store.setup()
    return store


def notify(state):
    get_store().put(("mail", "ada"), "sent", {"n": 1})
    interrupt("Right?")
    get_store().delete(("mail", "ada"), "sent")
    return {"done": True}


def test_a_put_before_the_pause_is_told_each_time_the_node_runs():
    store = InMemoryStore()
    store.put(("outside",), "key", {})
    with record() as trace:
        made = graph(notify, store)
        made.invoke({"x": 1}, CONFIG)
        store.put(("between",), "runs", {})  # no node's doing
        made.invoke(Command(resume="yes"), CONFIG)
    first, second, third = effects(trace)
    assert first[:3] == second[:3] == ("store.put", "store.put(mail/ada, sent)", "notify")
    assert first[3] != second[3]
    assert third[:3] == ("store.delete", "store.delete(mail/ada, sent)", "notify")
    assert "acts outside the state: store.put(mail/ada, sent). No pause takes that back." in str(trace)


def test_async_puts_are_told():
    async def anotify(state):
        await get_store().aput(("mail",), "sent", {"n": 1})
        return {"done": True}

    async def go():
        with record() as trace:
            await graph(anotify, InMemoryStore()).ainvoke({"x": 1}, CONFIG)
        return trace

    assert [e[:2] for e in effects(asyncio.run(go()))] == [("store.put", "store.put(mail, sent)")]


def write_at_once(state):
    store = get_store()
    ops = [PutOp(("mail",), "sent", {"n": 1}), GetOp(("mail",), "sent"), PutOp(("mail",), "draft", None)]
    store.batch(ops)
    store.batch(op for op in ops)  # an iterator is read once
    store.batch([GetOp(("mail",), "sent")])  # changes nothing
    store.batch(ops=[PutOp(("mail",), str(n), {}) for n in range(5)])
    return {"done": store.get(("mail",), "4") is not None}


BATCHES = [
    ("store.batch", "store.batch(put(mail, sent), delete(mail, draft))"),
    ("store.batch", "store.batch(put(mail, sent), delete(mail, draft))"),
    ("store.batch", "store.batch(put(mail, 0), put(mail, 1), put(mail, 2), 2 more)"),
]


@pytest.mark.parametrize("opened", [InMemoryStore, sqlite_store])
def test_a_batch_that_changes_something_is_told(opened):
    with record() as trace:
        assert graph(write_at_once, opened()).invoke({"x": 1}, CONFIG)["done"]
    assert [e[:2] for e in effects(trace)] == BATCHES
    assert {e[2] for e in effects(trace)} == {"write_at_once"}


def test_an_async_batch_is_told():
    async def node(state):
        await get_store().abatch([PutOp(("mail",), "sent", {})])
        await asyncio.gather(*(get_store().abatch([PutOp(("mail",), str(n), {})]) for n in range(2)))
        return {"done": True}

    async def go():
        with record() as trace:
            await graph(node, InMemoryStore()).ainvoke({"x": 1}, CONFIG)
        return trace

    told = [e[:2] for e in effects(asyncio.run(go()))]
    assert told == [("store.batch", f"store.batch(put(mail, {n}))") for n in ("sent", 0, 1)]


def test_a_store_that_works_in_the_background_tells_each_change_once_and_of_its_own_node():
    def sync(state):  # the store's own loop does it, in another thread
        get_store().put(("mail",), "1", {})
        get_store().batch([PutOp(("mail",), "2", {})])
        return {"done": True}

    async def first(state):
        await get_store().aget(("mail",), "0")  # starts the background task, in this node's context
        await get_store().aput(("mail",), "3", {})
        return {"done": True}

    async def last(state):
        await get_store().aput(("mail",), "4", {})
        return {"done": True}

    async def go():
        async with AsyncSqliteStore.from_conn_string(":memory:") as store:
            await store.setup()
            made = StateGraph(dict).add_sequence([sync, first, last]).add_edge(START, "sync").compile(store=store)
            with record() as trace:
                await made.ainvoke({"x": 1})
            assert len(await store.asearch(("mail",))) == 4
        return trace

    assert [(e.name, e.label) for e in asyncio.run(go()).story.events if isinstance(e, ev.SideEffect)] == [
        ("sync", "store.put(mail, 1)"),
        ("sync", "store.batch(put(mail, 2))"),
        ("first", "store.put(mail, 3)"),
        ("last", "store.put(mail, 4)"),
    ]


class Own(InMemoryStore):
    """Puts in its own way, and hands batches on."""

    def put(self, namespace, key, value, *args, **kwargs):
        self.batch([PutOp(namespace, key, value)])

    def batch(self, ops):
        return super().batch(ops)


def test_a_store_of_ones_own_is_watched_and_tells_once():
    def node(state):
        get_store().put(("mail",), "sent", {})
        get_store().batch([PutOp(("mail",), "late", {})])
        return {"done": True}

    with record() as trace:
        graph(node, Own()).invoke({"x": 1}, CONFIG)
    assert [e[1] for e in effects(trace)] == ["store.put(mail, sent)", "store.batch(put(mail, late))"]


def test_a_batch_that_fails_raises_what_it_raises_untraced():
    def node(state):
        get_store().batch(5)

    told = []
    for context in (contextlib.nullcontext, record):
        with context() as trace, pytest.raises(TypeError) as caught:
            graph(node, InMemoryStore()).invoke({"x": 1}, CONFIG)
        told.append(str(caught.value))
    assert told[0] == told[1] and effects(trace) == []


def test_a_key_that_cannot_be_told_stops_the_recorder_and_not_the_node():
    class Key(str):
        __slots__ = ()

        def __format__(self, spec):
            raise ValueError("no")

    def node(state):
        get_store().put(("mail",), Key("sent"), {})
        return {"done": True}

    with record() as trace:
        assert graph(node, InMemoryStore()).invoke({"x": 1}, CONFIG)["done"]
    assert "The recorder stopped here: store.put failed with ValueError: no" in str(trace)


def test_a_resumed_batch_is_found_as_a_repeated_side_effect():
    def node(state):
        get_store().batch([PutOp(("mail",), "sent", {}), PutOp(("mail",), "log", {})])
        return {"done": interrupt("Right?")}

    with record() as trace:
        made = graph(node, InMemoryStore())
        made.invoke({"x": 1}, CONFIG)
        made.invoke(Command(resume="yes"), CONFIG)
    (found,) = [f for f in trace.findings if f.code == "HL008"]
    assert "'store.batch(put(mail, sent), put(mail, log))' 2 times" in found.cause


def test_the_classes_of_the_store_are_as_before():
    classes = (BaseStore, AsyncBatchedBaseStore, InMemoryStore, SqliteStore, AsyncSqliteStore, Own)
    before = [dict(vars(c)) for c in classes]
    with record():
        assert vars(BaseStore)["put"] is not before[0]["put"]
        assert vars(InMemoryStore)["batch"] is not before[2]["batch"]
        assert vars(BaseStore)["batch"] is before[0]["batch"]  # abstract
    for cls, names in zip(classes, before, strict=True):
        assert all(vars(cls)[name] is value for name, value in names.items())
