"""What people get wrong, and what fails under them: a clear message or a correct trace, their exception unchanged,
nothing recorded so far lost.
"""

import operator
import threading
from importlib import metadata
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.pregel import _loop
from langgraph.types import Command, interrupt

import hitl_lab
from hitl_lab import values
from hitl_lab.tracing import events as ev

CONFIG = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    log: Annotated[list, operator.add]
    thing: Any


def graph_of(node, saver=None):
    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=saver)


def ask(state):
    return {"log": [interrupt("ok?")]}


def test_no_checkpointer():
    graph = graph_of(ask)
    with hitl_lab.record() as trace:
        graph.invoke({"log": ["in"]})
        with pytest.raises(RuntimeError, match="without checkpointer"):
            graph.invoke(Command(resume="yes"))
    assert "without a checkpointer" in str(trace)
    assert [a.status for a in trace.story.runs] == ["paused", "error"]
    assert not any(r.saved for r in trace.ledger)


def test_no_thread_id():
    graph = graph_of(ask, InMemorySaver())
    with hitl_lab.record() as trace, pytest.raises(ValueError, match="thread_id"):
        graph.invoke({"log": ["in"]})
    assert trace.events == ()
    assert str(trace) == "Trace: no run reached LangGraph."
    with pytest.raises(ValueError, match="thread_id"), hitl_lab.record() as trace:
        graph.invoke({"log": ["in"]})
    assert "The recorded code ended with ValueError" in str(trace)


@pytest.mark.parametrize(
    ("thing", "hint"), [(None, "builder.compile()"), ("graph", "builder.compile()"), (StateGraph(State), ".compile()")]
)
def test_no_graph(thing, hint):
    from hitl_lab.tracing.seams import require_graph

    with pytest.raises(hitl_lab.NotAGraph, match="compiled LangGraph graph") as caught:
        require_graph(thing, "TracedExecutor")
    assert "TracedExecutor" in str(caught.value)
    assert type(thing).__name__ in str(caught.value)
    assert hint in str(caught.value)


def test_a_graph_without_interrupts():
    graph = graph_of(lambda state: {"log": ["done"]}, InMemorySaver())
    with hitl_lab.record() as trace:
        graph.invoke({"log": ["in"]}, CONFIG)
    assert [r.fate for r in trace.ledger] == ["applied", "applied"]
    assert not [e for e in trace.events if isinstance(e, ev.Paused)]


class MyError(Exception):
    pass


def test_a_node_that_raises():
    error = MyError("mine")

    def node(state):
        raise error

    graph = graph_of(node, InMemorySaver())
    with hitl_lab.record() as trace:
        graph_of(ask, InMemorySaver()).invoke({"log": ["in"]}, CONFIG)
        with pytest.raises(MyError) as caught:
            graph.invoke({"log": ["in"]}, CONFIG)
    assert caught.value is error
    assert [a.status for a in trace.story.runs] == ["paused", "error"]
    (ended,) = [e for e in trace.events if isinstance(e, ev.TaskEnded) and e.outcome == "error"]
    assert ended.error == "MyError: mine"
    assert ended.source.function == "test_a_node_that_raises.<locals>.node"


class BadRepr:
    def __repr__(self):
        raise RuntimeError("no repr")


class HugeRepr:
    def __repr__(self):
        return "x" * 50_000_000


class BadEverything:
    def __getattribute__(self, name):
        raise RuntimeError("no " + name)


@pytest.mark.parametrize("thing", [BadRepr, HugeRepr, BadEverything, lambda: "y" * 50_000_000, threading.Lock])
def test_hostile_values_in_state(thing):
    def node(state):
        return {"log": ["done"], "thing": thing()}

    with hitl_lab.record() as trace:
        out = graph_of(node).invoke({"log": ["in"]})
    assert out["log"] == ["in", "done"]
    assert not [e for e in trace.events if isinstance(e, ev.Noted)]
    assert [r.channel for r in trace.ledger] == ["log", "log", "thing"]
    assert len(trace.to_json()) < 100_000
    assert len(str(trace)) < 20_000
    assert hitl_lab.Trace.from_json(trace.to_json()).events == trace.events


def test_a_value_that_cannot_be_serialised():
    """The saver's own error passes through; the trace says that the put did not come back."""

    def node(state):
        return {"thing": threading.Lock()}

    def plain():
        graph_of(node, InMemorySaver()).invoke({"log": ["in"]}, CONFIG, durability="sync")

    with pytest.raises(TypeError) as untraced:
        plain()
    with hitl_lab.record() as trace, pytest.raises(TypeError) as traced:
        plain()
    assert str(traced.value) == str(untraced.value)
    assert trace.story.runs[0].status == "error"
    failed = [e for e in trace.events if getattr(e, "error", None) and isinstance(e, ev.SaverPut | ev.SaverPutWrites)]
    assert failed
    assert not trace.ledger.where(channel="thing")[0].saved


def test_the_trace_is_readable_while_it_is_recorded():
    graph = graph_of(ask, InMemorySaver())
    with hitl_lab.record() as trace:
        assert "no run reached LangGraph so far" in str(trace)
        graph.invoke({"log": ["in"]}, CONFIG)
        assert trace.recording
        assert "still recording" in str(trace)
        first = trace.events
        assert [r.fate for r in trace.ledger] == ["applied"]
        graph.invoke(Command(resume="yes"), CONFIG)
        assert trace.events[: len(first)] == first
        assert [r.fate for r in trace.ledger] == ["applied", "applied"]
    assert not trace.recording
    assert "still recording" not in str(trace)


def test_a_node_may_read_the_trace_of_its_own_run():
    seen = []

    def node(state):
        seen.append([r.fate for r in trace.ledger])
        return {"log": [str(len(str(trace)) > 100)]}

    with hitl_lab.record() as trace:
        out = graph_of(node, InMemorySaver()).invoke({"log": ["in"]}, CONFIG)
    assert out["log"] == ["in", "True"]
    assert seen == [["applied"]]


@pytest.mark.parametrize("installed", ["0.6.11", "1.3.0", "2.0.0"])
def test_a_langgraph_outside_the_range(monkeypatch, installed):
    real = metadata.version
    from hitl_lab.tracing import seams
    from hitl_lab.tracing.seams import names

    monkeypatch.setattr(names, "version", lambda name: installed if name == "langgraph" else real(name))
    with pytest.raises(hitl_lab.UnsupportedLangGraph) as caught, hitl_lab.record():
        raise AssertionError("not reached")
    assert installed in str(caught.value)
    assert seams.RANGE in str(caught.value)


def test_a_patched_langgraph_is_named(monkeypatch):
    monkeypatch.delattr(_loop.PregelLoop, "after_tick")
    with (
        pytest.raises(hitl_lab.UnsupportedLangGraph, match=r"langgraph.pregel._loop.PregelLoop.after_tick"),
        hitl_lab.record(),
    ):
        raise AssertionError("not reached")


def test_importing_the_kit_never_fails_for_it():
    import subprocess
    import sys

    code = (
        "import importlib.metadata as m; real = m.version\n"
        "m.version = lambda n: '0.4.10' if n == 'langgraph' else real(n)\n"
        "import hitl_lab\n"
        "try:\n    hitl_lab.record().__enter__()\n"
        "except hitl_lab.UnsupportedLangGraph as e: print('told:', e)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "told: LangGraph 0.4.10 is installed" in done.stdout


def test_a_recorder_that_fails_removes_itself(monkeypatch):
    from hitl_lab.tracing.observer import LoopObserver

    def boom(self, *args, **kwargs):
        raise ZeroDivisionError("recorder")

    graph = graph_of(ask, InMemorySaver())
    with hitl_lab.record() as trace:
        monkeypatch.setattr(LoopObserver, "rows", boom)
        out = graph.invoke({"log": ["in"]}, CONFIG)
        resumed = graph.invoke(Command(resume="yes"), CONFIG)
    assert out["__interrupt__"][0].value == "ok?"
    assert resumed["log"] == ["in", "yes"]
    assert "The recorder stopped here" in str(trace)
    assert trace.events[0].kind == "run_started"


def test_a_listener_that_raises_is_removed():
    def listen(event):
        raise ZeroDivisionError("listener")

    with hitl_lab.record(on_event=listen) as trace:
        graph_of(ask, InMemorySaver()).invoke({"log": ["in"]}, CONFIG)
    assert "on_event was removed" in str(trace)
    assert [r.fate for r in trace.ledger] == ["applied"]


def test_a_redact_that_raises_hides_the_value():
    def redact(channel, value):
        raise ZeroDivisionError("redact")

    with hitl_lab.record(redact=redact) as trace:
        graph_of(ask, InMemorySaver()).invoke({"log": ["secret"]}, CONFIG)
    assert "secret" not in trace.to_json()
    assert "redact raised ZeroDivisionError" in str(trace)


def test_redact_hides_everywhere():
    def redact(channel, value):
        return "<gone>"

    with hitl_lab.record(redact=redact) as trace:
        graph = graph_of(lambda s: {"log": [interrupt("the secret question")]}, InMemorySaver())
        graph.invoke({"log": ["the secret input"]}, CONFIG)
        graph.update_state(CONFIG, {"log": ["the secret update"]})
        graph.invoke(Command(resume="the secret answer"), CONFIG)
    assert "secret" not in trace.to_json()


def test_a_snapshot_survives_mutation():
    message = {"text": ["before"]}
    taken = values.snapshot([message])
    message["text"].append("after")
    assert taken == [{"text": ["before"]}]


def test_events_hold_the_value_as_it_was_when_it_was_written():
    kept = []

    def node(state):
        item = {"text": "first"}
        kept.append(item)
        return {"log": [item]}

    def later(state):
        kept[0]["text"] = "changed"
        return {}

    builder = StateGraph(State).add_node("node", node).add_node("later", later)
    graph = builder.add_edge(START, "node").add_edge("node", "later").compile(checkpointer=InMemorySaver())
    with hitl_lab.record() as trace:
        graph.invoke({"log": []}, CONFIG)
    (row,) = trace.ledger.where(node="node")
    assert row.value == [{"text": "first"}]
    # The change itself is told, as what it is: no write.
    (told,) = [r for r in trace.ledger if r.node == "later"]
    assert (told.fate, told.channel) == ("undefined", "log")
