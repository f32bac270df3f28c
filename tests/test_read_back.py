"""What is read back at the end of a run: the same that `get_state()` says, read no oftener than it takes."""

import asyncio
import operator
from typing import Annotated, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

import hitl_lab
from hitl_lab.tracing import events as ev

CONFIG = {"configurable": {"thread_id": "1"}}


class Counting(InMemorySaver):
    def __init__(self):
        super().__init__()
        self.reads = 0

    def get_tuple(self, config):
        self.reads += 1
        return super().get_tuple(config)


class State(TypedDict, total=False):
    log: Annotated[list, operator.iadd]  # changes what it adds to in place


def make(saver):
    def ask(state):
        return {"log": [interrupt("go on?")]}

    builder = StateGraph(State)
    builder.add_node("beside", lambda s: {"log": ["beside"]})
    builder.add_node("ask", ask)
    builder.add_edge(START, "beside")
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=saver)


def run(graph, given, way):
    if way == "sync":
        return graph.invoke(given, CONFIG)
    return asyncio.run(graph.ainvoke(given, CONFIG))


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_thread_is_read_back_once_and_twice_where_writes_are_pending(way):
    plain, saver = Counting(), Counting()
    reads = []
    with hitl_lab.record() as trace:
        for given in ({"log": ["start"]}, Command(resume="yes")):
            run(make(plain), given, "sync")
            before = saver.reads
            run(make(saver), given, way)
            reads.append(saver.reads - before)
    told = [e for e in trace.events if isinstance(e, ev.StateRead)]
    # One is LangGraph's own, as it begins. Of the pause the stored writes are read apart: to show the state, its
    # reducer added them to it.
    assert reads == [3, 2]
    paused, done = (e for e in told if e.thread == "1 in saver 2")
    assert paused.values == {"log": ["start", "beside"]}
    assert [row.channel for row in paused.pending] == ["__interrupt__", "log"]
    assert done.values == {"log": ["start", "yes", "beside"]} and done.pending == ()


def test_an_update_reads_what_stands_there_once_before_and_once_after():
    saver = Counting()
    graph = make(saver)
    graph.invoke({"log": ["start"]}, CONFIG)
    graph.invoke(Command(resume="yes"), CONFIG)
    plain = saver.reads
    graph.update_state(CONFIG, {"log": ["more"]}, as_node="ask")
    plain = saver.reads - plain
    before = saver.reads
    with hitl_lab.record() as trace:
        graph.update_state(CONFIG, {"log": ["again"]}, as_node="ask")
    read = trace.events[-1]
    assert read.values == {"log": ["start", "yes", "beside", "more", "again"]}
    assert saver.reads - before == plain + 3  # the third: what the update made


def test_another_graph_of_the_same_thread_is_read_as_its_own():
    """A saver that stands in the config of a graph with a namespace would make it read another graph."""
    inner = (
        StateGraph(State).add_node("ask", lambda s: {"log": [interrupt("inside?")]}).add_edge(START, "ask").compile()
    )
    outer = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile(checkpointer=InMemorySaver())
    outer.invoke({"log": ["start"]}, CONFIG)
    inside = outer.get_state(CONFIG, subgraphs=True).tasks[0].state.config
    with hitl_lab.record() as trace:
        outer.update_state(inside, {"log": ["in there"]})
    (task,) = outer.get_state(CONFIG, subgraphs=True).tasks
    assert trace.events[-1].values == {"log": ["start", "in there"]} == task.state.values
