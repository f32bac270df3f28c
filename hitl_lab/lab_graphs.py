"""The graphs that the counterfactual and the mutation lab measure; plain LangGraph, to be read beside the tables."""

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

from hitl_lab.scenarios._send import send_hook


class EarlyState(TypedDict):
    """One channel of each kind, see `hitl_lab.counterfactual.CHANNELS`."""

    log: Annotated[list, operator.add]
    with_id: Annotated[list, add_messages]
    without_id: Annotated[list, add_messages]
    note: str
    turns: int


def early_writes(saver: Any, ran: Callable[[], None] = lambda: None) -> Any:
    """Return a graph of one node that writes to every channel by `send`, asks, and returns the answer."""

    def review(state: EarlyState) -> dict[str, Any]:
        ran()
        send = send_hook()
        send([("log", ["early"])])
        send([("with_id", [AIMessage("early", id="a1")])])
        send([("without_id", [AIMessage("early")])])
        send([("note", "early")])
        send([("turns", state.get("turns", 0) + 1)])
        return {"log": [interrupt("Approve?")]}

    graph = StateGraph(EarlyState)
    graph.add_node("review", review)
    graph.add_edge(START, "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver)


def payload_graph(saver: Any, review: Callable[[Any], Any], draft: bool) -> Any:
    """Return a graph that ends in `review`; with `draft`, a node before it makes the message that `review` changes."""
    graph = StateGraph(MessagesState)
    graph.add_node("review", review)
    if draft:
        graph.add_node("draft", lambda state: {"messages": [AIMessage("We refund 40 EUR.", id="a1")]})  # noqa: ARG005
        graph.add_edge(START, "draft")
        graph.add_edge("draft", "review")
    else:
        graph.add_edge(START, "review")
    graph.add_edge("review", END)
    return graph.compile(checkpointer=saver)


def send_first(state: MessagesState) -> dict[str, Any]:
    """Send a new version of the last message, then ask."""
    last = state["messages"][-1]
    send_hook()([("messages", [AIMessage(last.content, id=last.id, additional_kwargs={"hitl_payload": "risk: low"})])])
    return {"messages": [HumanMessage(interrupt("Review the draft"))]}


def mutate(state: MessagesState) -> dict[str, Any]:
    """Change the last message itself, then ask."""
    state["messages"][-1].additional_kwargs["hitl_payload"] = "risk: low"
    return {"messages": [HumanMessage(interrupt("Review the draft"))]}


def first_message() -> dict[str, Any]:
    """Return the input of `payload_graph`, fresh each time: a mutation would reach the next run through it."""
    return {"messages": [AIMessage("We refund 40 EUR.", id="a1")]}
