"""A payment that a person confirms. Broken: the card is charged above the question, and the router asks too.

    hitl-lab trace examples/payment.py:broken --input '{"euros": 40, "log": []}' --resume '"1234"' --resume '"yes"'

HL008: the card is charged on each run of the node. HL001, HL002: the conditional edge asks inside the task of `charge`,
so what the node returned is dropped at that pause.
"""

import operator
from typing import Annotated, Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

import hitl_lab


class State(TypedDict):
    euros: int
    log: Annotated[list[str], operator.add]


def charge(state: State):
    hitl_lab.effect("charge the card")
    code = interrupt("The code from your bank?")
    return {"log": [f"charged {state['euros']} with {code}"]}


def ship(state: State):
    return {"log": ["shipped"]}


def route(state: State) -> Literal["ship", "__end__"]:
    return "ship" if interrupt("Ship it now?") == "yes" else END


def _broken():
    builder = StateGraph(State)
    builder.add_node("charge", charge)
    builder.add_node("ship", ship)
    builder.add_edge(START, "charge")
    builder.add_conditional_edges("charge", route)
    return builder.compile()


# Fixed: each question in a node of its own, and the charge after the answer it needs is saved.


class Fixed(State):
    code: str


def ask_code(state: Fixed):
    return {"code": interrupt("The code from your bank?")}


def charge_once(state: Fixed):
    hitl_lab.effect("charge the card")
    return {"log": [f"charged {state['euros']} with {state['code']}"]}


def ask_shipping(state: Fixed) -> Command[Literal["ship", "__end__"]]:
    return Command(goto="ship" if interrupt("Ship it now?") == "yes" else END)


def _fixed():
    builder = StateGraph(Fixed)
    builder.add_node("ask_code", ask_code)
    builder.add_node("charge", charge_once)
    builder.add_node("ask_shipping", ask_shipping)
    builder.add_node("ship", ship)
    builder.add_edge(START, "ask_code")
    builder.add_edge("ask_code", "charge")
    builder.add_edge("charge", "ask_shipping")
    return builder.compile()


broken = _broken()
fixed = _fixed()
