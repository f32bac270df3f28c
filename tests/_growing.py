"""Recorded runs of any size, for the tests of growth and the benchmark: each function takes how much work to do.

hitl_lab is imported where it is used: the benchmark also runs these graphs without it.
"""

import operator
from contextlib import suppress
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "1"}, "recursion_limit": 1_000_000}


class Count(TypedDict, total=False):
    n: int
    upto: int
    log: Annotated[list, operator.add]


class Talk(TypedDict, total=False):
    n: int
    upto: int
    messages: Annotated[list, add_messages]


def loop_graph(saver=None):
    """One node that goes round until n is upto: a small state."""
    builder = StateGraph(Count)
    builder.add_node("step", lambda s: {"n": s["n"] + 1})
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda s: "step" if s["n"] < s["upto"] else END, ["step", END])
    return builder.compile(checkpointer=saver or InMemorySaver())


def talk_graph(saver=None, size=40):
    """The same with a message list that grows by one message of `size` characters each time."""

    def step(state):
        n = state["n"]
        return {"n": n + 1, "messages": [AIMessage(f"{n:>{size}}", id=f"m{n}")]}

    builder = StateGraph(Talk)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda s: "step" if s["n"] < s["upto"] else END, ["step", END])
    return builder.compile(checkpointer=saver or InMemorySaver())


def wide_graph(saver=None, asks=False, effects=False):
    """`upto` parallel tasks of one node a superstep, n supersteps; with `asks` each third stops on interrupt()."""

    if effects:
        import hitl_lab

    def work(given):
        if effects:
            hitl_lab.effect("worked")
        if asks and given["i"] % 3 == 0:
            interrupt(f"go on with {given['i']}?")
        return {"log": [given["i"]]}

    def fan(state):
        return [Send("work", {"i": i}) for i in range(state["upto"])] if state["n"] > 0 else END

    builder = StateGraph(Count)
    builder.add_node("plan", lambda s: {"n": s["n"] - 1})
    builder.add_node("work", work)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", fan, ["work", END])
    builder.add_edge("work", "plan")
    return builder.compile(checkpointer=saver or InMemorySaver())


def one_long_run(work):
    loop_graph().invoke({"n": 0, "upto": work}, CONFIG)


def a_list_that_grows(work):
    talk_graph().invoke({"n": 0, "upto": work, "messages": []}, CONFIG)


def many_tasks(work):
    wide_graph(effects=True).invoke({"n": 2, "upto": work, "log": []}, CONFIG)


def many_questions(work):
    graph = wide_graph(asks=True, effects=True)
    graph.invoke({"n": 2, "upto": work, "log": []}, CONFIG)
    asked = graph.get_state(CONFIG).interrupts
    graph.invoke(Command(resume={i.id: "yes" for i in asked}), CONFIG)


def _asking(loop):
    import hitl_lab

    def ask(state):
        hitl_lab.effect("told somebody")
        return {"log": [interrupt("go on?")]}

    builder = StateGraph(Count)
    builder.add_node("draft", lambda s: {"n": s.get("n", 0) + 1})
    builder.add_node("beside", lambda s: {"log": ["beside"]})
    builder.add_node("ask", ask)
    builder.add_edge(START, "draft")
    builder.add_edge("draft", "ask")
    builder.add_edge("draft", "beside")
    if loop:
        builder.add_edge("ask", "draft")
    return builder.compile(checkpointer=InMemorySaver())


def many_pauses(work):
    """One thread that is resumed again and again and asks each time."""
    graph = _asking(loop=True)
    graph.invoke({"log": []}, CONFIG)
    for _ in range(work):
        graph.invoke(Command(resume="yes"), CONFIG)


def many_restarts(work):
    """One paused thread that gets a new input again and again: pending writes are discarded each time."""
    graph = _asking(loop=False)
    for _ in range(work):
        graph.invoke({"log": []}, CONFIG)


def many_updates(work):
    graph = _asking(loop=False)
    graph.invoke({"log": []}, CONFIG)
    for i in range(work):
        graph.update_state(CONFIG, {"log": [i]}, as_node="draft")


def many_threads(work):
    graph = _asking(loop=False)
    for i in range(work):
        config = {"configurable": {"thread_id": f"t{i}"}}
        graph.invoke({"log": []}, config)
        graph.invoke(Command(resume="yes"), config)


def many_broken_attempts(work):
    """A node that writes before it asks, asked again after each wrong answer: its write is dropped each time."""

    import hitl_lab

    def review(state):
        hitl_lab.effect("told somebody")
        get_config()["configurable"]["__pregel_send"]([("log", ["draft"])])
        answer = interrupt("yes or no?")
        return {"log": [answer]}

    builder = StateGraph(Count)
    builder.add_node("review", review)
    builder.add_edge(START, "review")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"log": []}, CONFIG)
    for _ in range(work):
        graph.invoke(None, CONFIG)


def many_subgraphs(work):
    inner = StateGraph(Count)
    inner.add_node("add", lambda s: {"n": s["n"] + 1})
    inner.add_edge(START, "add")
    builder = StateGraph(Count)
    builder.add_node("inner", inner.compile())
    builder.add_edge(START, "inner")
    builder.add_conditional_edges("inner", lambda s: "inner" if s["n"] < s["upto"] else END, ["inner", END])
    builder.compile(checkpointer=InMemorySaver()).invoke({"n": 0, "upto": work}, CONFIG)


def many_graphs_in_a_node(work):
    inner = StateGraph(Count)
    inner.add_node("add", lambda s: {"n": s["n"] + 1})
    inner.add_edge(START, "add")
    called = inner.compile()

    def call(state):
        for _ in range(work):
            state = called.invoke(state)
        return {"n": state["n"]}

    builder = StateGraph(Count)
    builder.add_node("call", call)
    builder.add_edge(START, "call")
    builder.compile(checkpointer=InMemorySaver()).invoke({"n": 0}, CONFIG)


def many_called_tasks(work):
    @task
    def double(n):
        return 2 * n

    @entrypoint(checkpointer=InMemorySaver())
    def order(n):
        done = [double(i) for i in range(n)]
        answer = interrupt("send it?")
        return [sum(d.result() for d in done), answer]

    order.invoke(work, CONFIG)
    order.invoke(Command(resume="yes"), CONFIG)


def many_sends_before_an_error(work):
    """A node that sends, and then raises: what `task.writes` holds is no longer what the sends told alone."""

    def send(state):
        for i in range(work):
            get_config()["configurable"]["__pregel_send"]([("log", [i])])
        raise ConnectionError

    graph = StateGraph(Count).add_node("send", send).add_edge(START, "send").compile(checkpointer=InMemorySaver())
    with suppress(ConnectionError):
        graph.invoke({"log": []}, CONFIG)


SHAPES = {
    made.__name__: made
    for made in (
        one_long_run,
        a_list_that_grows,
        many_tasks,
        many_questions,
        many_pauses,
        many_restarts,
        many_updates,
        many_threads,
        many_broken_attempts,
        many_subgraphs,
        many_graphs_in_a_node,
        many_called_tasks,
        many_sends_before_an_error,
    )
}


def recorded(shape, work, **options):
    """The trace of a run of that shape."""
    import hitl_lab

    with hitl_lab.record(**options) as trace:
        SHAPES[shape](work)
    return trace
