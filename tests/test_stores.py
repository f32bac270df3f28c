"""Store puts are told as side effects, and the store's classes are put back."""

import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from hitl_lab.tracing import events as ev
from hitl_lab.tracing.recorder import record

CONFIG = {"configurable": {"thread_id": "1"}}


def graph(node, store):
    return StateGraph(dict).add_node("notify", node).add_edge(START, "notify").compile(InMemorySaver(), store=store)


def effects(trace):
    return [
        (e.via, e.label, e.source.function.split(".")[-1], e.run)
        for e in trace.story.events
        if isinstance(e, ev.SideEffect)
    ]


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


def test_the_classes_of_the_store_are_as_before():
    before = [dict(vars(c)) for c in (BaseStore, AsyncBatchedBaseStore)]
    with record():
        assert vars(BaseStore)["put"] is not before[0]["put"]
    for cls, names in zip((BaseStore, AsyncBatchedBaseStore), before, strict=True):
        assert all(vars(cls)[name] is value for name, value in names.items())
