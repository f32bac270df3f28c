"""The send hook: how a node's code writes to a channel before the node returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langgraph.config import get_config

try:
    from langgraph._internal._constants import CONFIG_KEY_SEND
except ImportError:  # before 0.6 the constants were public
    from langgraph.constants import CONFIG_KEY_SEND


def send_hook() -> Callable[[Sequence[tuple[str, Any]]], None]:
    """The running task's `send`: it takes (channel, value) pairs and appends them to `task.writes`.

    The key's name is private to LangGraph, yet code in the wild uses it, and so does LangGraph's own public
    `push_message`: this is the only place here that knows it. The hook itself is given back, not a function around
    it, so that the write is made on the line of the node that calls it.
    """
    return get_config()["configurable"][CONFIG_KEY_SEND]
