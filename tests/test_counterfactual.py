"""What if the writes made before interrupt() were persisted: measured, and confined to its block."""

import asyncio
import threading

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.pregel import _runner, main
from langgraph.types import Command, interrupt

import hitl_lab
from hitl_lab import counterfactual, scenarios
from hitl_lab.answers import answers
from hitl_lab.lab_graphs import EarlyState, early_writes
from hitl_lab.scenarios._scenario import arun
from hitl_lab.scenarios._send import send_hook

CONFIG = {"configurable": {"thread_id": "1"}}
COPIES = {
    "real": {"log": 1, "with_id": 1, "without_id": 1, "note": 1, "turns": 1},
    "P1": {"log": 1, "with_id": 1, "without_id": 1, "note": 1, "turns": 1},
    "P2": {"log": 2, "with_id": 1, "without_id": 2, "note": 1, "turns": 2},
    "P3": {"log": 2, "with_id": 1, "without_id": 2, "note": 1, "turns": 2},
}
EARLY = tuple(counterfactual.CHANNELS)


@pytest.fixture(scope="module")
def found():
    return counterfactual.measure_all()


@pytest.mark.parametrize("way", counterfactual.WAYS)
def test_what_each_way_loses_or_doubles(found, way):
    each = found[way]
    assert each.copies == COPIES[way]
    assert (each.node_runs, each.answer) == ((1, "lost") if way == "P1" else (2, "taken"))
    assert ("yes" in each.final["log"]) == (way != "P1")


def test_which_rows_stand_at_the_pause(found):
    assert found["real"].pending == ("__interrupt__",)
    assert set(found["P1"].pending) == set(found["P2"].pending) == {"__interrupt__", *EARLY}
    assert found["P3"].pending == ()  # update_state made a new checkpoint, and the question is gone with the old one


def early(trace, run="run 1"):
    return [(row.channel, row.fate, row.handed) for row in trace.ledger.where(node="review", run=run)]


def test_the_ledger_of_p1_applies_the_early_writes_and_none_of_the_answer(found):
    trace = found["P1"].trace
    assert early(trace) == [(channel, "applied", "task") for channel in EARLY]
    assert early(trace, "run 2") == []
    tick = next(event for event in trace.story.actions[-1].events if event.kind == "tick")
    assert [(task.name, task.finished) for task in tick.tasks] == [("review", True)]


def test_the_ledger_of_p2_shows_each_write_twice(found):
    trace = found["P2"].trace
    assert early(trace) == [(channel, "applied", "null task") for channel in EARLY]
    again = early(trace, "run 2")
    assert again == [(channel, "applied", "task") for channel in (*EARLY, "log")]
    # One write, one key: what the null task took over is still the write the node made.
    assert len(trace.ledger) == 1 + len(EARLY) + len(EARLY) + 1


def test_the_ledger_of_p3_shows_the_drop_the_update_and_the_rerun(found):
    trace = found["P3"].trace
    assert [fate for _, fate, _ in early(trace)] == ["dropped"] * len(EARLY)
    assert {row.where.function for row in trace.ledger.where(fate="dropped")} == {"PregelRunner.commit"}
    assert [(row.channel, row.fate) for row in trace.ledger.where(run="update 1")] == [(c, "applied") for c in EARLY]
    assert [fate for _, fate, _ in early(trace, "run 2")] == ["applied"] * (len(EARLY) + 1)


def test_the_trace_says_that_this_is_not_langgraph(found):
    notes = {way: [e.text for e in each.trace.events if e.kind == "note"] for way, each in found.items()}
    assert notes["real"] == []
    for way in ("P1", "P2", "P3"):
        assert notes[way] == [
            f"Not LangGraph: writes made before interrupt() are {counterfactual.WAYS[way]} in this block ({way})."
        ]


def test_the_table_is_text(found):
    assert counterfactual.table(found).splitlines()[2].split("  ")[:2] == ["P1", "kept under the task's own id"]


def test_several_writes_of_one_channel_all_get_into_the_state_by_p3():
    def ask(state):
        send = send_hook()
        send([("log", ["one"]), ("note", "a")])
        send([("log", ["two"])])
        return {"log": [interrupt("?")]}

    graph = StateGraph(EarlyState)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    graph = graph.compile(checkpointer=InMemorySaver())
    with counterfactual.update_state() as trace:
        graph.invoke({"log": []}, CONFIG)
    assert graph.get_state(CONFIG).values == {"log": ["one", "two"], "with_id": [], "without_id": [], "note": "a"}
    assert [action.label for action in trace.story.actions if action.is_update] == ["update 1", "update 2"]


@pytest.mark.parametrize("way", ["P1", "P2", "P3"])
def test_async_and_sync_are_alike(found, way):
    async def main_():
        graph = early_writes(InMemorySaver())
        with counterfactual.BLOCKS[way]() as trace:
            await graph.ainvoke({"log": ["input"]}, CONFIG)
            await graph.ainvoke(Command(resume="yes"), CONFIG)
        return (await graph.aget_state(CONFIG)).values["log"], trace

    log, trace = asyncio.run(main_())
    assert log == found[way].final["log"]
    assert [r.label for r in trace.ledger] == [r.label for r in found[way].trace.ledger]
    assert answers(trace.story)[-1].fate == found[way].answer


def test_with_a_subgraph_too():
    async def main_():
        with counterfactual.own_task() as trace:
            await arun(scenarios.get("subgraph_as_node"), InMemorySaver())
        return trace

    assert [a.fate for a in answers(asyncio.run(main_()).story)] == ["lost"]


def real_outcome():
    graph = early_writes(InMemorySaver())
    graph.invoke({"log": ["input"]}, CONFIG)
    graph.invoke(Command(resume="yes"), CONFIG)
    return graph.get_state(CONFIG).values["log"]


def test_only_the_blocks_own_runs_and_only_in_the_block():
    expected = ["input", "early", "yes"]
    elsewhere = []
    before = [vars(main)[n] for n in ("SyncPregelLoop", "AsyncPregelLoop", "PregelRunner")], _runner.PregelRunner.commit
    with counterfactual.null_task():
        # A thread starts with an empty context: a run of somebody else's.
        other = threading.Thread(target=lambda: elsewhere.append(real_outcome()))
        other.start()
        other.join()
        assert real_outcome() == ["input", "early", "early", "yes"]
    assert elsewhere == [expected]
    assert real_outcome() == expected
    with hitl_lab.record():
        assert real_outcome() == expected
    after = [vars(main)[n] for n in ("SyncPregelLoop", "AsyncPregelLoop", "PregelRunner")], _runner.PregelRunner.commit
    assert after == before


def test_a_record_inside_the_block_is_under_it_and_around_it_is_not():
    with counterfactual.null_task(), hitl_lab.record() as inner:
        assert real_outcome() == ["input", "early", "early", "yes"]
    assert inner.ledger.where(handed="null task")
    with hitl_lab.record() as outer:
        with counterfactual.null_task():
            pass
        assert real_outcome() == ["input", "early", "yes"]
    assert outer.ledger.where(fate="dropped")


def test_an_exception_leaves_nothing_behind():
    with pytest.raises(RuntimeError, match="mine"), counterfactual.own_task():
        raise RuntimeError("mine")
    assert real_outcome() == ["input", "early", "yes"]


def test_an_update_that_fails_is_told_and_the_graph_goes_on():
    graph = early_writes(InMemorySaver())
    with counterfactual.update_state() as trace:
        graph.update_state = None
        out = graph.invoke({"log": ["input"]}, CONFIG)
    assert "__interrupt__" in out
    assert "'NoneType' object is not callable" in str(trace)
