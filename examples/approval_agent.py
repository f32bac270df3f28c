"""An agent that asks before it refunds. Broken: one node looks up, says "one moment" and asks.

    hitl-lab trace examples/approval_agent.py:broken --input @examples/order.json --resume '"yes"'

HL008: the lookup is done twice, for a resume runs the node from its first line. HL001, HL002: the message pushed before
interrupt() is in no checkpoint while the person decides, though invoke() returned it.
"""

from typing import Literal

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import push_message
from langgraph.types import Command, interrupt

import hitl_lab


def model(state: MessagesState):
    """Stand in for a chat model: first a tool call, then a closing word."""
    if isinstance(state["messages"][-1], ToolMessage):
        return {"messages": [AIMessage("Done.", id="a3")]}
    call = {"name": "refund", "args": {"order": 7, "euros": 40}, "id": "call1"}
    return {"messages": [AIMessage("", id="a1", tool_calls=[call])]}


def look_up(order: int) -> str:
    hitl_lab.effect("look up the order")
    return f"order {order}: parcel damaged"


def more(state: MessagesState) -> Literal["tools", "__end__"]:
    return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END


def tools(state: MessagesState):
    call = state["messages"][-1].tool_calls[0]
    facts = look_up(call["args"]["order"])
    push_message(AIMessage("One moment, I am asking a colleague.", id="a2"))
    answer = interrupt({"allow": call["name"], "args": call["args"], "facts": facts})
    return {"messages": [ToolMessage(f"refund: {answer}", tool_call_id=call["id"], id="t1")]}


def _broken():
    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", tools)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", more)
    builder.add_edge("tools", "model")
    return builder.compile()


# Fixed as the findings advise: what must be saved and done once stands in a node of its own, before the question.


class State(MessagesState):
    facts: str


def prepare(state: State):
    call = _call(state)
    return {
        "facts": look_up(call["args"]["order"]),
        "messages": [AIMessage("One moment, I am asking a colleague.", id="a2")],
    }


def ask(state: State) -> Command[Literal["refund", "model"]]:
    call = _call(state)
    answer = interrupt({"allow": call["name"], "args": call["args"], "facts": state["facts"]})
    if answer == "yes":
        return Command(goto="refund")
    return Command(goto="model", update={"messages": [_told(call, answer)]})


def refund(state: State):
    hitl_lab.effect("refund")
    return {"messages": [_told(_call(state), "yes")]}


def _call(state: State):
    return next(m for m in reversed(state["messages"]) if getattr(m, "tool_calls", None)).tool_calls[0]


def _told(call, answer):
    return ToolMessage(f"refund: {answer}", tool_call_id=call["id"], id="t1")


def then(state: State) -> Literal["prepare", "__end__"]:
    return "prepare" if getattr(state["messages"][-1], "tool_calls", None) else END


def _fixed():
    builder = StateGraph(State)
    builder.add_node("model", model)
    builder.add_node("prepare", prepare)
    builder.add_node("ask", ask)
    builder.add_node("refund", refund)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", then)
    builder.add_edge("prepare", "ask")
    builder.add_edge("refund", "model")
    return builder.compile()


broken = _broken()
fixed = _fixed()
