"""A document that two people review while a machine sums it up. Broken: the summary stands beside the questions.

    hitl-lab trace examples/document_review.py:broken --input '{"text": "Terms", "log": []}' \\
        --update '{"log": ["page 3 is new"]}' --continue --resume-all '["ok", "ok"]'

HL003, HL004: the note put in while paused makes a checkpoint without the pending write of the finished summary,
and the summary, which costs money, is made a second time.
"""

import operator
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

import hitl_lab


class State(TypedDict):
    text: str
    log: Annotated[list[str], operator.add]


def summarise(state: State):
    hitl_lab.effect("pay for a summary")
    return {"log": [f"summary of {state['text']}"]}


def legal(state: State):
    return {"log": [f"legal: {interrupt('Legal: is it sound?')}"]}


def finance(state: State):
    return {"log": [f"finance: {interrupt('Finance: can we pay it?')}"]}


def publish(state: State):
    return {"log": ["published"]}


def _graph(before_questions: bool):
    builder = StateGraph(State)
    for node in (summarise, legal, finance, publish):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "summarise")
    if before_questions:
        # Fixed: a checkpoint holds the summary before anybody is asked, so nothing is pending at the pause.
        builder.add_edge("summarise", "legal")
        builder.add_edge("summarise", "finance")
        builder.add_edge(["legal", "finance"], "publish")
    else:
        builder.add_edge(START, "legal")
        builder.add_edge(START, "finance")
        builder.add_edge(["summarise", "legal", "finance"], "publish")
    return builder.compile()


broken = _graph(before_questions=False)
fixed = _graph(before_questions=True)
