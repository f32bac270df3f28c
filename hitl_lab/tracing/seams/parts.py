"""The live parts of a loop, and facts of a graph, as plain data for the live executor."""

from __future__ import annotations

import contextlib
from typing import Any


def parts(loop: Any) -> dict[str, Any]:
    """Return the parts of a loop that stands still: the very objects, so copy them before they are shown.

    Keys: ns, step, status, channels {name: value}, tasks [(id, name, triggers, input, writes)], pending
    [(task id, channel, value)], checkpoint {id, channel_values, ...}. Source: the attributes of PregelLoop.
    """
    channels: dict[str, Any] = {}
    for name, channel in getattr(loop, "channels", {}).items():
        try:
            channels[name] = channel.get()
        except Exception:  # LangGraph's EmptyChannelError
            continue
    return {
        "ns": loop.observer.ns,
        "step": getattr(loop, "step", None),
        "status": getattr(loop, "status", ""),
        "channels": channels,
        "tasks": [
            (t.id, t.name, tuple(t.triggers), t.input, list(t.writes)) for t in getattr(loop, "tasks", {}).values()
        ],
        "pending": list(getattr(loop, "checkpoint_pending_writes", ())),
        "checkpoint": getattr(loop, "checkpoint", {}),
    }


def saved_parts(tuple_: Any) -> dict[str, Any]:
    """Return what a CheckpointTuple holds, in the same form: channels, pending, step, source."""
    return {
        "channels": dict(tuple_.checkpoint["channel_values"]),
        "pending": list(tuple_.pending_writes or ()),
        "step": tuple_.metadata.get("step"),
        "source": tuple_.metadata.get("source", ""),
        "checkpoint": tuple_.checkpoint,
    }


def is_async_only(graph: Any) -> bool:
    """Whether a graph can only run async: a node without a sync function, or a saver that has no sync side here."""
    saver = type(getattr(graph, "checkpointer", None))
    if saver.__name__.startswith("Async") and hasattr(saver, "aput"):
        return True
    try:
        inner = [sub for _, sub in graph.get_subgraphs(recurse=True)]
    except Exception:
        inner = []
    for each in (graph, *inner):
        for node in each.nodes.values():
            bound = getattr(node, "bound", None)
            if hasattr(bound, "afunc") and bound.func is None and bound.afunc is not None:
                return True
    return False


def names_of_nodes(graph: Any) -> tuple[set[str], bool]:
    """Return the node names of a graph and its subgraphs, and whether that is all: functional tasks are not known."""
    names = set(graph.nodes)
    try:
        for _, sub in graph.get_subgraphs(recurse=True):
            names |= set(sub.nodes)
    except Exception:
        return names, False
    return names, hasattr(graph, "builder")


def step_timeouts(graph: Any) -> list[tuple[str, float]]:
    """Return (name of graph, seconds) for a graph and its subgraphs that have a step_timeout."""
    found = [(graph.name, graph.step_timeout)]
    with contextlib.suppress(Exception):
        found += [(name, sub.step_timeout) for name, sub in graph.get_subgraphs(recurse=True)]
    return [(name, seconds) for name, seconds in found if seconds is not None]
