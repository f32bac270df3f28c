"""A saver that raises or is slow: the graph's own outcome is as without a trace, and the trace says what it missed."""

import asyncio
import contextlib
import time
from collections import Counter

import pytest
from _oracle.graphs import State
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from hitl_lab.tracing import events as ev
from hitl_lab.tracing.recorder import record

CONFIG = {"configurable": {"thread_id": "1"}}


class FaultySaver(InMemorySaver):
    """Raises at the nth call of a method (0: at every one); `slow` seconds go by in each put."""

    def __init__(self, method="", nth=0, slow=0.0):
        super().__init__()
        self.method, self.nth, self.slow, self.calls = method, nth, slow, Counter()

    def meet(self, method):
        self.calls[method] += 1
        if self.slow and method != "get_tuple":
            time.sleep(self.slow)
        if method == self.method and self.nth in (0, self.calls[method]):
            raise ConnectionError(f"{method} failed")

    def put(self, *args, **kwargs):
        self.meet("put")
        return super().put(*args, **kwargs)

    def put_writes(self, *args, **kwargs):
        self.meet("put_writes")
        return super().put_writes(*args, **kwargs)

    def get_tuple(self, config):
        self.meet("get_tuple")
        return super().get_tuple(config)


def play(saver, *, traced, asynchronous=False, durability="sync", before_resume=None):
    """Return what invoke and resume gave or raised, how often the nodes ran, and the trace."""
    runs = Counter()

    def draft(state):
        runs["draft"] += 1
        return {"log": ["draft"]}

    def ask(state):
        runs["ask"] += 1
        return {"log": [interrupt("Right?")]}

    async def adraft(state):
        return draft(state)

    async def aask(state):
        return ask(state)

    nodes = {"draft": adraft, "ask": aask} if asynchronous else {"draft": draft, "ask": ask}
    builder = StateGraph(State)
    for name, node in nodes.items():
        builder.add_node(name, node)
    graph = builder.add_edge(START, "draft").add_edge("draft", "ask").compile(saver)
    out = []

    def keep(made, error=None):
        if isinstance(made, dict):
            made = {k: [i.value for i in v] if k == "__interrupt__" else v for k, v in made.items()}
        out.append((made, error and f"{type(error).__name__}: {error}"))

    async def go():
        for given in ({"log": ["in"]}, Command(resume="yes")):
            if isinstance(given, Command) and before_resume is not None:
                before_resume(saver)
            try:
                if asynchronous:
                    keep(await graph.ainvoke(given, CONFIG, durability=durability))
                else:
                    keep(graph.invoke(given, CONFIG, durability=durability))
            except Exception as exc:
                keep(None, exc)

    with record() if traced else contextlib.nullcontext() as trace:
        asyncio.run(go())
    return out, runs, trace


@pytest.mark.versions
@pytest.mark.parametrize("durability", ["sync", "exit"])
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("method", "nth"), [("put", 1), ("put", 2), ("put", 3), ("put", 0),
                                             ("put_writes", 1), ("put_writes", 2), ("put_writes", 3)])  # fmt: skip
def test_a_saver_that_raises_when_it_saves(method, nth, asynchronous, durability):
    plain = play(FaultySaver(method, nth), traced=False, asynchronous=asynchronous, durability=durability)
    out, runs, trace = play(FaultySaver(method, nth), traced=True, asynchronous=asynchronous, durability=durability)
    assert out == plain[0]
    if durability == "exit" or method == "put":  # a put_writes in the background stops the nodes sooner or later
        assert runs == plain[1]
    failed = any(error for _, error in out)
    told = [e for e in trace.events if isinstance(e, ev.SaverPut | ev.SaverPutWrites) and e.error]
    assert bool(told) == failed
    assert all(e.error == f"ConnectionError: {method} failed" for e in told)
    if failed:
        kind = "put_writes" if method == "put_writes" else "put"
        assert f"The saver's `{kind}` raised ConnectionError: {method} failed" in str(trace)
    assert not [e for e in trace.events if isinstance(e, ev.Noted)]


@pytest.mark.versions
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_saver_that_cannot_be_read_when_the_graph_resumes(asynchronous):
    def breaks(saver):
        saver.method = "get_tuple"

    plain = play(FaultySaver(), traced=False, asynchronous=asynchronous, before_resume=breaks)
    out, runs, trace = play(FaultySaver(), traced=True, asynchronous=asynchronous, before_resume=breaks)
    assert (out, runs) == plain[:2]
    assert out[1] == (None, "ConnectionError: get_tuple failed")
    assert [a.status for a in trace.story.actions] == ["paused", "error"]
    assert "The run ended with ConnectionError: get_tuple failed." in str(trace)


@pytest.mark.versions
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_saver_that_only_the_trace_cannot_read(asynchronous):
    """The graph reads once, when it begins; what the trace wants to read back afterwards fails."""

    class OnceReadable(FaultySaver):
        def get_tuple(self, config):
            if self.calls["get_tuple"] >= 1:
                raise ConnectionError("read once only")
            return super().get_tuple(config)

    def mends(saver):
        saver.calls["get_tuple"] = -100

    plain = play(OnceReadable(), traced=False, asynchronous=asynchronous, before_resume=mends)
    out, runs, trace = play(OnceReadable(), traced=True, asynchronous=asynchronous, before_resume=mends)
    assert (out, runs) == plain[:2]
    read = [e for e in trace.events if isinstance(e, ev.StateRead)]
    assert read[0].error == "ConnectionError: read once only"
    assert "`get_state()` (live view) could not be read: ConnectionError: read once only." in str(trace)
    assert read[1].error is None


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_saver_that_is_slow_by_300_ms(asynchronous, durability):
    plain = play(FaultySaver(slow=0.3), traced=False, asynchronous=asynchronous, durability=durability)
    out, runs, trace = play(FaultySaver(slow=0.3), traced=True, asynchronous=asynchronous, durability=durability)
    assert (out, runs) == plain[:2]
    _, _, quick = play(FaultySaver(), traced=True, asynchronous=asynchronous, durability=durability)
    assert str(trace) == str(quick)
