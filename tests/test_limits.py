"""What docs/limits.md says is not seen, tried: a limit that is gone should leave the page."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

import hitl_lab
from hitl_lab import values
from hitl_lab.tracing import events as ev
from hitl_lab.views import graph as drawing

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict, total=False):
    note: str


def build(node, **options):
    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=InMemorySaver(), **options)


def test_a_thread_that_the_block_starts_is_not_seen_but_watch_sees_it():
    def run():
        build(lambda state: {"note": "done"}).invoke({}, CONFIG)

    def in_threads():
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        with ThreadPoolExecutor() as pool:
            pool.submit(run).result()

    with hitl_lab.record() as trace:
        in_threads()
    assert len(trace) == 0
    with hitl_lab.watch() as watched:
        in_threads()
    assert len(watched.trace.story.actions) == 2


def test_what_is_no_write_is_no_event_and_happens_again():
    put = []

    def node(state, *, store):
        store.put(("notes",), f"k{len(put)}", {"risk": "low"})
        put.append(1)
        get_stream_writer()("asking")
        return {"note": interrupt("Send it?")}

    graph = build(node, store=InMemoryStore())
    with hitl_lab.record() as trace:
        graph.invoke({}, CONFIG)
        graph.invoke(Command(resume="yes"), CONFIG)
    assert len(put) == 2
    assert "risk" not in trace.to_json()
    assert "asking" not in trace.to_json()


def test_a_store_class_made_inside_the_block_tells_puts_but_no_batch():
    def node(state, *, store):
        store.put(("notes",), "put", {})
        store.batch([PutOp(("notes",), "batch", {})])
        return {"note": "done"}

    with hitl_lab.record() as trace:

        class Late(InMemoryStore):
            def batch(self, ops):
                return [None for _ in ops]

        build(node, store=Late()).invoke({}, CONFIG)
    assert [e.label for e in trace.story.events if isinstance(e, ev.SideEffect)] == ["store.put(notes, put)"]


def test_a_remote_graph_is_no_graph_with_a_loop_here():
    remote = pytest.importorskip("langgraph.pregel.remote")
    assert not issubclass(remote.RemoteGraph, Pregel)


def test_redact_sees_writes_questions_and_answers_but_not_an_exceptions_text():
    def node(state):
        answer = interrupt("topsecret question")
        raise ValueError(f"unredacted after {len(answer)}")

    graph = build(node)
    with hitl_lab.record(redact=lambda channel, value: "***") as trace:
        graph.invoke({"note": "topsecret note"}, CONFIG)
        with pytest.raises(ValueError, match="unredacted"):
            graph.invoke(Command(resume="topsecret answer"), CONFIG)
    assert "topsecret" not in trace.to_json()
    assert "unredacted after" in trace.to_json()


def test_the_limits_of_a_value_are_those_of_the_page():
    assert (values.NODES_LIMIT, values.DEPTH_LIMIT, values.ITEMS_LIMIT, values.STRING_LIMIT) == (600, 8, 60, 2_000)
    assert drawing.LIMIT == 150
