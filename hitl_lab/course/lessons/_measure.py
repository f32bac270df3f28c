"""Short names for what lessons measure on a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hitl_lab.course.attempt import told
from hitl_lab.trace import Trace
from hitl_lab.value_text import show


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


def answered(trace: Trace) -> list[str]:
    """Return what became of each answer: "taken", "taken before asked", "lost", "refused"."""
    from hitl_lab.answers import answers

    return [answer.fate for answer in answers(trace.story)]


_ANSWERS = {"taken": "taken by interrupt()", "taken before asked": "taken by a question that nobody had seen"}


def answer_lines(trace: Trace) -> list[str]:
    """Return what became of each answer, one line an answer."""
    return [f"the answer was {_ANSWERS.get(fate, fate)}" for fate in answered(trace)]


def applied_before_pause(trace: Trace, channel: str, run: str = "run 1") -> bool:
    """Whether a node's write to a channel was applied by `after_tick` in the run that paused."""
    keys = {row.key for row in trace.ledger.where(channel=channel, run=run) if row.node != "__start__"}
    return any(keys & set(e.writes) for e in events(trace, "applied", run, where="after_tick"))


def ran_again(trace: Trace, *nodes: str) -> tuple[str, ...]:
    """Return those of the nodes that started more than once."""
    return tuple(node for node in nodes if starts(trace, node) > 1)


def counts(trace: Trace, *nodes: str) -> list[str]:
    """Return lines that tell how often each node started."""
    return [f"`{node}` started {starts(trace, node)} time{'s' * (starts(trace, node) != 1)}" for node in nodes]


__all__ = [
    "answer_lines",
    "answered",
    "applied_before_pause",
    "counts",
    "events",
    "fate",
    "has",
    "ran_again",
    "read",
    "returned",
    "rows",
    "saved",
    "starts",
    "told",
    "yes",
]
