"""The pytest plugin, as its users meet it: tests run by pytester."""

from importlib.metadata import entry_points

import pytest

# Imported here, they need not be imported again by each of the inner runs, which share this process.
import hitl_lab.tracing.seams  # noqa: F401

pytest_plugins = ["pytester"]

GRAPH = """
import operator
from typing import Annotated, TypedDict

import hitl_lab
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]


def broken(state):
    get_config()["configurable"]["__pregel_send"]([("log", ["payload"])])
    hitl_lab.effect("charge")
    return {"log": [interrupt("ok?")]}


def attach(state):
    return {"log": ["payload"]}


def ask(state):
    return {"log": [interrupt("ok?")]}


def charge(state):
    hitl_lab.effect("charge")
    return {}


def chain(*nodes):
    builder = StateGraph(State)
    for a, b in zip((None, *nodes), nodes):
        builder.add_node(b.__name__, b)
        builder.add_edge(a.__name__ if a else START, b.__name__)
    return builder.compile(checkpointer=InMemorySaver())


def both(graph):
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({"log": []}, config)
    graph.invoke(Command(resume="yes"), config)
"""

TESTS = """
from graphs import *
from hitl_lab.testing import *

def test_dropped(hitl_trace):
    both(chain(GRAPH))
    assert_no_dropped_writes(hitl_trace)

def test_dropped_elsewhere(hitl_trace):
    both(chain(GRAPH))
    assert_no_dropped_writes(hitl_trace, "other")

def test_survives(hitl_trace):
    both(chain(GRAPH))
    assert_survives_pause(hitl_trace, "log")

def test_once(hitl_trace):
    both(chain(GRAPH))
    assert_runs_once(hitl_trace, "charge")
"""


@pytest.fixture
def run(pytester):
    pytester.makepyfile(graphs=GRAPH)

    def call(tests, apart=False):
        pytester.makepyfile(test_it=tests)
        # Registered by its entry point where hitl_lab is installed; -p would then register it a second time.
        known = any(e.value == "hitl_lab.pytest_plugin" for e in entry_points(group="pytest11"))
        plugin = () if known else ("-p", "hitl_lab.pytest_plugin")
        start = pytester.runpytest_subprocess if apart else pytester.runpytest_inprocess
        return start("-p", "no:langsmith_plugin", *plugin)

    return call


def test_the_fixed_graph_passes(run):
    run(TESTS.replace("GRAPH", "attach, ask, charge")).assert_outcomes(passed=4)


def test_the_broken_graph_fails_with_what_where_and_what_to_do(run):
    result = run(TESTS.replace("GRAPH", "broken"))
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines_random(
        [
            "E *1 write did not reach a checkpoint:",
            'E *W2  run 1  broken → log = [[]"payload"]   dropped · phantom · rewritten by run 2',
            "E *HL001 write dropped at the pause · risk · broken → log · run 1",
            "*- hitl_trace -*",
            "run 1     invoke        Paused: `broken` asks I1*",
            "Findings:",
            "E *'log' was returned, but this is not what is saved:",
            "E *--- saved (get_state)",
            "E *+++ returned",
            'E *+"payload"',
            "E *side effect 'charge' ran 2 times, not 1:",
            "E *run 1 (invoke), event *graphs.py:* in broken; then the node stopped on interrupt() at *graphs.py:*",
            "E *run 2 (resume), event *; then the node finished",
            "E *HL008 side effect repeated*",
        ]
    )
    # The frames of the assertions themselves would only hide the test's own line.
    assert "hitl_lab/testing.py" not in result.stdout.str()


def test_questions_that_cannot_be_answered_are_told(run):
    result = run(
        """
        import pytest
        from graphs import *
        from hitl_lab.testing import *

        def test_no_run(hitl_trace):
            for check in (assert_no_dropped_writes, lambda t: assert_survives_pause(t, "log"),
                          lambda t: assert_runs_once(t, "charge")):
                with pytest.raises(AssertionError, match="no run reached LangGraph"):
                    check(hitl_trace)

        def test_no_pause(hitl_trace):
            chain(attach).invoke({"log": []}, {"configurable": {"thread_id": "1"}})
            with pytest.raises(AssertionError, match="no run of this trace paused.*run 1 invoke done"):
                assert_survives_pause(hitl_trace, "log")

        def test_no_such(hitl_trace):
            both(chain(attach, ask))
            with pytest.raises(AssertionError, match="no write went to channel 'mesages'. Channels: log"):
                assert_survives_pause(hitl_trace, "mesages")
            with pytest.raises(AssertionError, match="nothing called 'pay' ran. Side effects: none. Nodes: .*attach"):
                assert_runs_once(hitl_trace, "pay")
            assert_runs_once(hitl_trace, "attach")
            assert_runs_once(hitl_trace, "ask", times=2)
        """
    )
    result.assert_outcomes(passed=3)


def test_threads_async_tests_and_one_trace_a_test(run):
    result = run(
        """
        import asyncio, threading
        from graphs import *
        from hitl_lab.testing import *

        def test_thread(hitl_trace):
            thread = threading.Thread(target=both, args=(chain(attach, ask),))
            thread.start(); thread.join()
            assert len(hitl_trace.story.runs) == 2

        def test_async(hitl_trace):
            async def go():
                await chain(attach, ask).ainvoke({"log": []}, {"configurable": {"thread_id": "1"}})
            asyncio.run(go())
            assert_survives_pause(hitl_trace, "log")
            assert len(hitl_trace.story.runs) == 1

        def test_without():
            from langgraph.pregel import main
            assert main.SyncPregelLoop.__module__ == "langgraph.pregel._loop"
        """
    )
    result.assert_outcomes(passed=3)


@pytest.mark.slow
def test_the_plugin_costs_no_import_of_langgraph(run):
    tests = "import sys\ndef test_it():\n    assert 'langgraph' not in sys.modules"
    run(tests, apart=True).assert_outcomes(passed=1)


def test_secrets_do_not_reach_the_log_of_a_failed_test(run):
    result = run(
        """
        from graphs import *

        class Key(State, total=False):
            api_key: str

        def test_it(hitl_trace):
            builder = StateGraph(Key)
            builder.add_node("n", lambda s: {"api_key": "top-" + "secret"})
            builder.add_edge(START, "n")
            builder.compile().invoke({"log": []})
            assert False
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*n → api_key*<hidden>*"])
    result.stdout.no_fnmatch_line("*→ api_key*top-secret*")


def test_it_is_registered():
    found = [e for e in entry_points(group="pytest11") if e.name == "hitl_lab"]
    if not found:
        pytest.skip("hitl_lab was installed before the plugin was there: install it anew")
    assert found[0].load().hitl_trace
