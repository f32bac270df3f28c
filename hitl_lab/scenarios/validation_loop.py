"""One node asks until the answer is good: a while loop around interrupt().

Every answer runs the node again from its top, and the earlier answers are replayed by their position: with N
questions the code before the first one has run N + 1 times.
"""

from functools import partial
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    age: int
    attempts: int


def ask_age(state):
    question, attempts = "How old are you?", 0
    while True:
        answer = interrupt(question)
        attempts += 1
        if answer.isdigit():
            return {"age": int(answer), "attempts": attempts}
        question = f"{answer!r} is no number. How old are you?"


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("ask_age", kind(ask_age))
    graph.add_edge(START, "ask_age")
    graph.add_edge("ask_age", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="validation_loop",
    title="A while loop around interrupt() replays all earlier answers",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"attempts": 0}), Resume("old"), Resume("very"), Resume("ninety"), Resume("90")),
    topic="several questions",
    cases=("A05",),
)
