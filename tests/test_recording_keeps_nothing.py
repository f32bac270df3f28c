"""What the recorder holds on to: nothing live of a superstep that is over, and no value twice."""

import asyncio
import gc
import operator
import weakref
from typing import Annotated, Any, TypedDict

import pytest
from _growing import CONFIG, loop_graph, wide_graph
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

import hitl_lab
from hitl_lab import fingerprints, values
from hitl_lab.tracing import events as ev


def tasks_collected(run):
    """How many of LangGraph's tasks, each with its config and input, only the cyclic garbage collector frees."""
    run()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        run()
        gc.collect()
        return sum(type(found).__name__ == "PregelExecutableTask" for found in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("make", [loop_graph, wide_graph])
def test_recording_makes_no_cycle_that_keeps_a_superstep(make, way):
    given = {"n": 6, "upto": 4, "log": []} if make is wide_graph else {"n": 0, "upto": 20}

    def run():
        graph = make()
        if way == "sync":
            graph.invoke(given, CONFIG, durability="sync")
        else:
            asyncio.run(graph.ainvoke(given, CONFIG, durability="sync"))

    def recorded():
        with hitl_lab.record() as trace:
            run()
        assert len(trace.events) > 40

    # LangGraph's own threads leave some of parallel tasks, a few more or less: that depends on how long one waits.
    assert min(tasks_collected(recorded) for _ in range(3)) <= max(tasks_collected(run) for _ in range(3)) + 1


def test_a_value_is_let_go_once_its_superstep_is_over():
    class Big:
        pass

    seen = []

    class State(TypedDict, total=False):
        part: Any
        n: int

    def make(state):
        big = Big()
        seen.append(weakref.ref(big))
        return {"part": big}

    def drop(state):
        return {"part": None}

    def look(state):
        seen.append(seen[0]() is None)
        return {"n": 1}

    builder = StateGraph(State)
    for node in (make, drop, look):
        builder.add_node(node)
    builder.add_edge(START, "make")
    builder.add_edge("make", "drop")
    builder.add_edge("drop", "look")
    gc.disable()
    try:
        with hitl_lab.record():
            builder.compile().invoke({})
    finally:
        gc.enable()
    assert seen[1] is True


class Talk(TypedDict, total=False):
    messages: Annotated[list, operator.add]


def talk(node):
    builder = StateGraph(Talk)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=InMemorySaver())


def told(trace):
    wrote = next(e for e in trace.events if isinstance(e, ev.Wrote) and e.channel == "messages" and e.name == "node")
    applied = next(e for e in trace.events if isinstance(e, ev.Applied) and wrote.write in e.writes)
    change = applied.changes["messages"]
    return wrote.value[0], (change.get("append") or change["set"])[-1]


def test_what_a_list_grows_by_is_kept_once():
    with hitl_lab.record() as trace:
        talk(lambda s: {"messages": [AIMessage("hello", id="a1")]}).invoke({"messages": ["before"]}, CONFIG)
    written, applied = told(trace)
    assert written is applied
    assert written["fields"] == {"id": "a1", "content": "hello"}


def test_a_message_changed_between_write_and_apply_is_told_as_it_was_at_each():
    def node(state):
        message = AIMessage("first", id="a1", additional_kwargs={"deep": {"er": [1]}})
        hitl_lab.effect("kept")
        later.append(message)
        return {"messages": [message]}

    later = []

    def add(old, new):
        for message in later:
            message.additional_kwargs["deep"]["er"].append(2)
        return [*(old or []), *(new or [])]

    class Changing(TypedDict, total=False):
        messages: Annotated[list, add]

    builder = StateGraph(Changing)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    with hitl_lab.record() as trace:
        builder.compile(checkpointer=InMemorySaver()).invoke({"messages": ["before"]}, CONFIG)
    written, applied = told(trace)
    assert written["fields"]["additional_kwargs"] == {"deep": {"er": [1]}}
    assert applied["fields"]["additional_kwargs"] == {"deep": {"er": [1, 2]}}


def test_a_whole_fingerprint_is_none_where_a_part_was_not_looked_at():
    assert fingerprints.whole_fingerprint({"a": [1, 2, {"b": "c"}]}) is not None
    assert fingerprints.whole_fingerprint([[], [], [], [], [], []]) is None
    assert fingerprints.whole_fingerprint({"a": {1, 2}}) is None
    assert fingerprints.whole_fingerprint({"a": object()}) is None
    assert fingerprints.whole_fingerprint([[[[[]]] * 5] * 5]) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v["list"].append(1),
        lambda v: v["list"].__setitem__(0, "other"),
        lambda v: v["dict"].update(k=2),
        lambda v: v["dict"].update(new=[]),
        lambda v: v["empty"].append(0),
        lambda v: setattr(v["message"], "content", "other"),
        lambda v: v["message"].additional_kwargs.update(seen=True),
    ],
)
def test_a_fingerprint_changes_with_its_value(change):
    value = {"list": ["a", "b"], "dict": {"k": 1}, "empty": [], "message": AIMessage("text", id="a1")}
    before = fingerprints.fingerprint(value)
    assert fingerprints.fingerprint(value) == before
    change(value)
    assert fingerprints.fingerprint(value) != before


@pytest.mark.parametrize("size", [1, 2, 5, 6, 7, 60, 500])
@pytest.mark.parametrize("at", [-1, -4, 0])
def test_a_change_within_the_ends_of_a_list_is_seen_however_long_it_is(size, at):
    """In lists of more than five items only a replaced item was seen."""
    value = [AIMessage("text", id=f"m{i}") for i in range(size)]
    before = fingerprints.fingerprint(value)
    value[max(at, -size)].content = "other"
    assert fingerprints.fingerprint(value) != before


def test_a_message_changed_in_place_is_told_in_a_long_list():
    """It was told only of lists of up to five messages."""

    class State(TypedDict):
        messages: Annotated[list, operator.add]

    def review(state):
        state["messages"][-1].content = "changed"
        return {}

    builder = StateGraph(State).add_node("review", review).add_edge(START, "review")
    for size in (3, 20):
        given = {"messages": [AIMessage("text", id=f"m{i}") for i in range(size)]}
        with hitl_lab.record() as trace:
            builder.compile(checkpointer=InMemorySaver()).invoke(given, CONFIG)
        ended = [e for e in trace.events if isinstance(e, ev.TaskEnded) and e.name == "review"]
        assert [e.mutated for e in ended] == [("messages",)]
        assert [f.code for f in trace.findings] == ["HL011"]


@pytest.mark.parametrize(("old", "new"), [(1, True), (1, 1.0), (0, False), ("a", "b"), (None, 0), (b"1", "1")])
def test_a_fingerprint_tells_equal_values_of_other_types(old, new):
    value = {"in": {"k": old}}
    before = fingerprints.fingerprint(value), fingerprints.whole_fingerprint(value)
    value["in"]["k"] = new
    after = fingerprints.fingerprint(value), fingerprints.whole_fingerprint(value)
    assert before[0] != after[0] and before[1] != after[1]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
def test_a_number_that_other_readers_cannot_hold_is_told_as_text(value):
    assert values.snapshot(value) == values.snapshot([value])[0] == {"$": "repr", "type": "int", "text": str(value)}


class _Array:
    def __eq__(self, other):
        return self

    def __bool__(self):
        raise ValueError("the truth of an array is ambiguous")

    __hash__ = None

    def __repr__(self):
        return "array"


def test_what_was_returned_is_compared_by_fields_whatever_its_parts_think_of_equality():
    assert values.same(AIMessage("a", id="1"), AIMessage("a", id="1"))
    assert not values.same(AIMessage("a", id="1"), AIMessage("b", id="1"))
    one, two = (AIMessage("a", id="1", additional_kwargs={"array": _Array()}) for _ in range(2))
    assert not values.same(one, AIMessage("b", id="1", additional_kwargs={"array": _Array()}))
    assert values.same(one, one)
    assert values.same(one, two) is False  # parts that cannot say are not taken for the same
