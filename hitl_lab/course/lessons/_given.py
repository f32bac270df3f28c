"""The names that blocks to order may use without an import."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

_COMMON = {
    "AIMessage": AIMessage,
    "Annotated": Annotated,
    "Command": Command,
    "END": END,
    "HumanMessage": HumanMessage,
    "InMemorySaver": InMemorySaver,
    "MessagesState": MessagesState,
    "START": START,
    "Send": Send,
    "StateGraph": StateGraph,
    "TypedDict": TypedDict,
    "interrupt": interrupt,
    "operator": operator,
}


def given(**more: Any) -> dict[str, Any]:
    """Return LangGraph's usual names, and `more`."""
    return {**_COMMON, **more}
