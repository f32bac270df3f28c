"""interrupt() with a response_schema gets an answer that does not fit.

The answer raises ValidationError to the caller and is not saved: the question still waits and takes the next answer.
"""

import operator
from functools import partial
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from ._scenario import Invoke, Resume, Scenario, as_async, as_is


class State(TypedDict):
    log: Annotated[list[str], operator.add]


class Refund(BaseModel):
    amount: int


def ask(state):
    refund = interrupt("How much?", response_schema=Refund)
    return {"log": [f"refund {refund.amount}"]}


def build(saver, kind=as_is):
    graph = StateGraph(State)
    graph.add_node("ask", kind(ask))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


SCENARIO = Scenario(
    name="invalid_answer",
    title="An answer that does not fit the question's schema is refused, the question stays",
    build=build,
    abuild=partial(build, kind=as_async),
    story=(Invoke({"log": []}), Resume({"amount": "a lot"}), Resume({"amount": 40})),
    topic="errors",
    needs=("langgraph>=1.2.13",),
)
