"""A form that asks until the answer is valid. Broken: it counts in the state object, and asks with a running number.

    hitl-lab trace examples/form.py:broken --input '{"asked": 0}' --resume '"ten"' --resume '"41"'

HL011: `state["asked"] += 1` is no write. HL009: the number is made anew on each run of the node, so the answer is given
to a question that reads otherwise.
"""

import itertools
from typing import Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

_number = itertools.count(1)


class State(TypedDict, total=False):
    asked: int
    answer: str
    age: int


def ask(state: State):
    while True:
        state["asked"] += 1
        answer = interrupt(f"Question {next(_number)}: how old are you?")
        if answer.isdigit():
            return {"age": int(answer)}


def _broken():
    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile()


# Fixed: one question a visit, what it shows comes from the state, and the loop is an edge.


def ask_once(state: State):
    answer = interrupt(f"Question {state['asked'] + 1}: how old are you?")
    return {"answer": answer, "asked": state["asked"] + 1}


def keep(state: State):
    return {"age": int(state["answer"])}


def valid(state: State) -> Literal["keep", "ask"]:
    return "keep" if state["answer"].isdigit() else "ask"


def _fixed():
    builder = StateGraph(State)
    builder.add_node("ask", ask_once)
    builder.add_node("keep", keep)
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", valid)
    builder.add_edge("keep", END)
    return builder.compile()


broken = _broken()
fixed = _fixed()
