"""What the random graphs of test_oracle.py found wrong in the kit, each with its right value."""

import operator
from typing import Annotated, TypedDict

import pytest
from _oracle.actions import play
from _oracle.graphs import Example, Graph, Node
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from test_oracle import KINDS, judge

import hitl_lab


class Log(TypedDict, total=False):
    log: Annotated[list, operator.add]


def example(nodes, edges, *actions, durability="sync", **more):
    return Example(Graph(tuple(nodes), tuple(edges), **more), tuple(actions), durability)


SEND, ASK = ("send", "log"), ("ask",)
ASKING = [Node("a", (SEND, ASK))], [("start", "a"), ("a", "end")]
SIDE_BY_SIDE = [("start", "a"), ("start", "b"), ("a", "end"), ("b", "end")]
INNER = Graph((Node("a", (SEND,)), Node("b", (SEND, ASK))), tuple(SIDE_BY_SIDE))
OWN = Graph(INNER.nodes, INNER.edges, checkpointer=True)
OUTER = (Node("a"),), (("start", "a"), ("a", "end"))


def inside(checkpointer, *actions):
    graph = Graph(INNER.nodes, INNER.edges, checkpointer=checkpointer)
    # With durability "sync" LangGraph fails in a graph that has no checkpointer inside one that has.
    return example(*OUTER, *actions, inner=(("a", graph),), durability="async")


EXAMPLES = {
    "an update on a thread whose state cannot be read": example(
        [Node("a", (("send", "last"), ("send", "last"), ASK), ())],
        [("start", "a"), ("a", "end")],
        ("command", "update resume"),
        ("update", "end"),
    ),
    "a finished sibling in a graph without a checkpointer": inside(False, ("none",), ("resume",)),
    "a finished sibling in a graph with its own checkpointer": inside(True, ("none",), ("resume",), ("input",)),
    "a task started by goto beside a paused one": example(
        [Node("a", (SEND,)), Node("b", (SEND, ASK))],
        [("start", "b"), ("b", "end"), ("a", "end")],
        ("command", "goto"),
        ("command", "update"),
        ("update", "a"),
    ),
    "a saver that keeps the row it had first": example(
        [Node("a", (SEND,)), Node("b", (("send", "messages"), ASK))],
        SIDE_BY_SIDE,
        ("travel", 0, "none"),
        ("travel", 0, "none"),
    ),
    "a Command's update where one is stored already": example(
        *ASKING, ("command", "update"), ("travel", 0, "none"), ("command", "update")
    ),
    "a run that is out of steps returns nothing": example(
        [Node("a", (), ("log",), ("a",))], [("start", "a"), ("a", "end")], ("resume",)
    ),
    "a copy made by update_state": example(*ASKING, ("update", "copy"), ("travel", 5, "input"), ("resume",)),
    "an input while a sibling is pending": example(
        [Node("a"), Node("b", (SEND, ASK))], SIDE_BY_SIDE, ("input",), ("resume",), durability="exit"
    ),
    "a graph with its own checkpointer, two deep, after going back to before it": example(
        *OUTER, ("travel", 1, "none"), inner=(("a", Graph(*OUTER, inner=(("a", OWN),))),)
    ),
    "a graph that is cancelled by its failing sibling, and commits when its loop was left": example(
        [Node("a", (SEND, ("fail", 1))), Node("b")], SIDE_BY_SIDE,
        inner=(("b", Graph((Node("a"), Node("b")), tuple(SIDE_BY_SIDE))),),
    ),
    "a pending row that a later run applied, and never saved": example(
        [Node("a"), Node("b")], SIDE_BY_SIDE, ("resume map", "all"), asks=("a",), durability="exit",
        inner=(("b", Graph((Node("a", (), ("log",), ("a",)), Node("b", (ASK,))), tuple(SIDE_BY_SIDE))),),
    ),
    "a superstep applied in part and saved so": example(
        [Node("a", (SEND, ("send", "last")), ("last",))],
        [("start", "a"), ("a", "end")],
        ("resume",),
        ("input",),
        durability="exit",
    ),
}


@pytest.mark.parametrize("kind", [k for k in KINDS if "memory" in k])
@pytest.mark.parametrize("name", EXAMPLES)
def test_found(name, kind):
    judge(EXAMPLES[name], kind)


def played(name):
    return play(EXAMPLES[name], InMemorySaver(), traced=True)


def test_a_task_started_by_goto_is_pending_and_no_phantom():
    (row,) = [r for r in played("a task started by goto beside a paused one").trace.ledger if r.node == "a"][:1] or [
        None
    ]
    assert row.handed == "task"
    assert (row.returned, row.in_state, row.phantom) == (True, False, False)


def test_without_a_checkpointer_a_finished_sibling_is_not_pending():
    ledger = played("a finished sibling in a graph without a checkpointer").trace.ledger
    assert {(r.fate, r.rewritten_by) for r in ledger.where(path="a/a", run="run 1")} == {("discarded", "run 2")}


def test_out_of_steps_nothing_is_returned():
    ledger = played("a run that is out of steps returns nothing").trace.ledger
    assert {r.returned for r in ledger} == {None}


def test_a_half_applied_superstep_is_noted():
    text = str(played("a superstep applied in part and saved so").trace)
    assert "apply_writes stopped half-way in after_tick, after it had changed log: InvalidUpdateError" in text


def test_two_savers_in_memory_have_two_threads_of_one_id():
    def broken(saver):
        def review(state):
            get_config()["configurable"]["__pregel_send"]([("log", ["draft"])])
            return {"log": [interrupt("go on?")]}

        builder = StateGraph(Log)
        builder.add_node(review)
        builder.add_edge(START, "review")
        return builder.compile(checkpointer=saver)

    config = {"configurable": {"thread_id": "1"}}
    first, second = InMemorySaver(), InMemorySaver()
    with hitl_lab.record() as outer, hitl_lab.record() as trace:
        broken(first).invoke({}, config)
        broken(second).invoke({}, config)
        broken(second).invoke(Command(resume="yes"), config)
        broken(first).update_state(config, {"log": ["more"]}, as_node="review")
    assert [a.thread for a in trace.story.actions if a.key] == ["1", "1 in saver 2", "1 in saver 2", "1"]
    drafts = [row for row in trace.ledger.rows if row.value == ["draft"]]
    assert [(row.thread, row.fate, row.rewritten_by) for row in drafts] == [
        ("1", "lost", None),  # the update took the question away
        ("1 in saver 2", "dropped", drafts[1].rewritten_by),
        ("1 in saver 2", "applied", None),
    ]
    assert drafts[1].rewritten_by is not None
    assert str(outer) == str(trace)
