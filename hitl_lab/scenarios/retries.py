"""A node with a RetryPolicy asks, and fails twice after the answer (or before the question).

A pause is not a failure and is not retried. A failed attempt's writes are thrown away and the code before the question
runs once for the pause and once per attempt; the answer is replayed to each attempt.
"""

import operator
from functools import partial
from itertools import count
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy, interrupt

from ._scenario import Invoke, Resume, Scenario
from ._send import send_hook


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def build(saver, fails, use_async=False):
    attempts = count(1)

    def charge(state):
        attempt = next(attempts)
        send = send_hook()
        send([("log", [f"attempt {attempt}"])])
        if fails == "before" and attempt < 3:
            raise ConnectionError("no network")
        answer = interrupt("Charge 40 EUR?")
        if fails == "after" and attempt < 4:
            raise ConnectionError("no network")
        return {"log": [f"charged: {answer}"]}

    async def acharge(state):
        return charge(state)

    graph = StateGraph(State)
    policy = RetryPolicy(initial_interval=0, jitter=False, max_attempts=3)
    graph.add_node("charge", acharge if use_async else charge, retry_policy=policy)
    graph.add_edge(START, "charge")
    graph.add_edge("charge", END)
    return graph.compile(checkpointer=saver)


def variant(name, title, fails):
    return Scenario(
        name=name,
        title=title,
        build=partial(build, fails=fails),
        abuild=partial(build, fails=fails, use_async=True),
        story=(Invoke({"log": []}), Resume("yes")),
        topic="errors",
        cases=("A06",),
    )


SCENARIOS = (
    variant("retry_after_answer", "A node that fails after the answer: each attempt gets the answer again", "after"),
    variant("retry_before_question", "A node that fails before its question: the pause is not retried", "before"),
)
