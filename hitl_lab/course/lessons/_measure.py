"""Short names for what lessons measure on a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hitl_lab.course.attempt import told
from hitl_lab.trace import Trace
from hitl_lab.values import show


def rows(trace: Trace, node: str, channel: str | None = None, run: str = "run 1") -> list[Any]:
    """Return the ledger rows of one node in one run or update, of one channel if given."""
    return [r for r in trace.ledger.where(node=node, run=run) if channel in (None, r.channel)]


def fate(trace: Trace, node: str, channel: str | None = None, run: str = "run 1") -> str:
    """Return the fate of a node's first write in a run, "" if it made none."""
    return next((row.fate for row in rows(trace, node, channel, run)), "")


def events(trace: Trace, kind: str, run: str | None = None, **wanted: Any) -> Iterator[Any]:
    """Yield the events of one kind, in story order, of one run if given, whose fields equal `wanted`."""
    for action in trace.story.actions:
        if run is None or action.label == run:
            for event in action.events:
                if event.kind == kind and all(getattr(event, k) == v for k, v in wanted.items()):
                    yield event


def saved(trace: Trace, run: str = "run 1") -> dict[str, Any]:
    """Return the values that get_state() read after a run or update, as snapshots."""
    return next((event.values for event in events(trace, "state_read", run)), {})


def read(trace: Trace, run: str = "run 1") -> Any:
    """Return the StateRead event after a run or update."""
    return next(events(trace, "state_read", run))


def returned(trace: Trace, run: str = "run 1") -> Any:
    """Return what the caller of a run was given, as a snapshot."""
    return next((event.values for event in events(trace, "returned", run)), None)


def starts(trace: Trace, node: str) -> int:
    """Return how often a node started, in all runs."""
    return sum(1 for _ in events(trace, "task_started", name=node))


def has(snapshot: Any, text: str) -> bool:
    """Whether a value, written out, holds a text."""
    return text in show(snapshot, 100_000)


def yes(answer: bool) -> str:
    """Return "yes" or "no"."""
    return "yes" if answer else "no"


__all__ = ["events", "fate", "has", "read", "returned", "rows", "saved", "starts", "told", "yes"]
