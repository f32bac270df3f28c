"""watch(), effect() and %%hitl_trace."""

import asyncio
import sys
import threading
import timeit
from typing import TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

import hitl_lab
from hitl_lab.tracing import events as ev
from hitl_lab.tracing.recorder import CURRENT


class State(TypedDict, total=False):
    done: bool


def pay(state):
    hitl_lab.effect("charge")
    interrupt("ok?")
    return {"done": True}


def graph():
    builder = StateGraph(State)
    builder.add_node("pay", pay)
    builder.add_edge(START, "pay")
    return builder.compile(checkpointer=InMemorySaver())


def both(made, thread="1"):
    config = {"configurable": {"thread_id": thread}}
    made.invoke({}, config)
    made.invoke(Command(resume="yes"), config)


@pytest.fixture(autouse=True)
def nothing_left():
    yield
    assert CURRENT.everywhere is None


def in_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def test_all_threads_and_tasks_until_stopped():
    made = graph()
    watching = hitl_lab.watch()
    in_thread(lambda: both(made, "thread"))
    asyncio.run(asyncio.to_thread(both, made, "task"))
    assert len(watching.trace.story.runs) == 4
    assert watching.trace.recording
    assert "recording" in repr(watching)
    trace = watching.stop()
    both(made, "after")
    assert len(trace.story.runs) == 4
    assert watching.stopped
    assert watching.stop() is trace
    assert trace.findings.codes == ("HL008",)
    assert len(trace.findings) == 2  # one a thread of the graph


def test_a_thread_from_before_is_seen_and_record_keeps_its_own():
    made = graph()
    go, seen = threading.Event(), []

    def work():
        go.wait(10)
        both(made, "early")

    early = threading.Thread(target=work)
    early.start()
    with hitl_lab.watch() as watching:
        go.set()
        early.join()
        with hitl_lab.record() as trace:
            both(made, "inner")
        seen = [a.thread for a in watching.trace.story.runs]
    assert seen == ["early", "early", "inner", "inner"]
    assert [a.thread for a in trace.story.runs] == ["inner", "inner"]


def test_a_second_watch_stops_the_first():
    first = hitl_lab.watch()
    second = hitl_lab.watch()
    both(graph())
    assert first.stopped
    assert len(first.trace) == 0
    assert len(second.stop().story.runs) == 2
    first.stop()


def test_langgraph_is_put_back():
    from langgraph.pregel import main

    before = main.SyncPregelLoop
    with hitl_lab.watch():
        assert main.SyncPregelLoop is not before
    assert main.SyncPregelLoop is before


def test_values_are_hidden():
    with hitl_lab.watch(redact=lambda channel, value: "***") as watching:
        both(graph())
    assert {r.value for r in watching.ledger} == {"***"}


# ---------------------------------------------------------------- effect


def test_an_effect_is_an_event_of_its_node():
    with hitl_lab.record() as trace:
        both(graph())
    effects = [e for e in trace.events if isinstance(e, ev.SideEffect)]
    assert [(e.name, e.label, e.via) for e in effects] == [("pay", "charge", "effect")] * 2
    assert effects[0].source.function == "pay"
    found = trace.findings.of("HL008")[0]
    assert "did 'charge' 2 times" in found.cause
    assert found.severity == "loss"


def test_an_effect_outside_a_node_or_a_record_does_nothing():
    both(graph())
    hitl_lab.effect("charge")
    with hitl_lab.record() as trace:
        hitl_lab.effect("charge")
    assert len(trace) == 0


def test_an_effect_costs_next_to_nothing():
    hitl_lab.effect("warm")
    took = min(timeit.repeat(lambda: hitl_lab.effect("charge"), number=1000, repeat=5)) / 1000
    assert took < 2e-5  # about 1 microsecond here


def test_a_loop_that_comes_by_twice_repeats_nothing():
    def act(state):
        hitl_lab.effect("send")
        return {}

    def ask(state):
        return {"done": interrupt("done?") == "yes"}

    builder = StateGraph(State)
    builder.add_node("act", act)
    builder.add_node("ask", ask)
    builder.add_edge(START, "act")
    builder.add_edge("act", "ask")
    builder.add_conditional_edges("ask", lambda s: "__end__" if s["done"] else "act", ["act", "__end__"])
    made, config = builder.compile(checkpointer=InMemorySaver()), {"configurable": {"thread_id": "1"}}
    with hitl_lab.record() as trace:
        made.invoke({}, config)
        for answer in ("no", "yes"):
            made.invoke(Command(resume=answer), config)
    assert len([e for e in trace.events if isinstance(e, ev.SideEffect)]) == 2
    assert trace.findings.codes == ()


# ---------------------------------------------------------------- %%hitl_trace


@pytest.fixture
def shell():
    from IPython.core.interactiveshell import InteractiveShell

    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "hitl_lab")
    made.user_ns.update(graph=graph, both=both)
    yield made
    InteractiveShell.clear_instance()


def test_the_cell_magic_keeps_the_trace(shell, capsys):
    shown = shell.run_cell_magic("hitl_trace", "", "made = graph()\nboth(made)\n")
    assert shell.user_ns["trace"] is shown
    assert len(shown.story.runs) == 2
    assert not shown.recording
    assert "made" in shell.user_ns
    assert shell.run_cell_magic("hitl_trace", "mine", "1 / 0\n") is None
    assert len(shell.user_ns["mine"]) == 0
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_the_cell_magic_says_what_it_cannot(shell):
    with pytest.raises(ValueError, match="top-level await"):
        shell.run_cell_magic("hitl_trace", "", "await something()\n")
    with pytest.raises(ValueError, match="name of a variable"):
        shell.run_cell_magic("hitl_trace", "not a name", "1\n")


def test_importing_the_kit_imports_no_langgraph():
    import subprocess

    code = "import sys, hitl_lab; hitl_lab.effect('x'); sys.exit('langgraph' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
