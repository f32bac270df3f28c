"""What if the writes made before interrupt() were persisted? NOT LangGraph: three ways it does not take, to see why.

Each is a context manager that works like `record()`: runs begun in its block, by its own thread or task, commit in
that way; all other runs stay as they are, and after the block so do these.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from hitl_lab.answers import answers
from hitl_lab.tracing.recorder import CURRENT, record

WAYS: dict[str, str] = {
    "real": "LangGraph as it is",
    "P1": "kept under the task's own id",
    "P2": "kept under the null task",
    "P3": "update_state after the pause",
}
"""The ways to deal with the writes a task made before interrupt(); all but the first are not LangGraph."""


@contextlib.contextmanager
def _changed(how: str, way: str, options: dict[str, Any]) -> Iterator[Any]:
    with record(**options) as trace:
        recorder = CURRENT.get()
        assert recorder is not None
        recorder.counterfactual = how
        recorder.note(f"Not LangGraph: writes made before interrupt() are {WAYS[way]} in this block ({way}).")
        yield trace


def own_task(**options: Any) -> AbstractContextManager[Any]:
    """P1, not LangGraph: `commit` hands the writes on with the question, under the task's own id.

    A task whose writes are saved counts as finished, so the person's answer reaches nobody.

    Args:
        options: as for `hitl_lab.record`.

    Yields what `record()` yields, and raises what it raises.
    """
    return _changed("task", "P1", options)


def null_task(**options: Any) -> AbstractContextManager[Any]:
    """P2, not LangGraph: `commit` hands the writes on under the null task, which is applied at the next run.

    The node runs again all the same, so what it adds is there twice.

    Args:
        options: as for `hitl_lab.record`.

    Yields what `record()` yields, and raises what it raises.
    """
    return _changed("null task", "P2", options)


def update_state(**options: Any) -> AbstractContextManager[Any]:
    """P3: after a pause the writes of the top graph are put into the state by `update_state`, as a program could.

    Only LangGraph's public method is used, once for each write of a channel; the node runs again all the same. If it
    raises, the trace says so.

    Args:
        options: as for `hitl_lab.record`.

    Yields what `record()` yields, and raises what it raises.
    """
    return _changed("update_state", "P3", options)


BLOCKS: dict[str, Callable[..., AbstractContextManager[Any]]] = {
    "real": record,
    "P1": own_task,
    "P2": null_task,
    "P3": update_state,
}
"""The context manager of each way."""


# ---------------------------------------------------------------- the table


@dataclass(frozen=True)
class Measured:
    """One way, measured on one graph that writes five kinds of key, asks, and writes the answer.

    way: a key of WAYS. node_runs: how often the node began. pending: channels of the rows stored at the pause.
    final: the state at the end, as text by channel. copies: how often each early write is in the final state; for
    `turns` its value, for it is written as one more than what the node read. answer: its fate, "taken" or "lost", as
    `hitl_lab.answers` tells it. trace: of all of it.
    """

    way: str
    node_runs: int
    pending: tuple[str, ...]
    final: dict[str, Any]
    copies: dict[str, int]
    answer: str
    trace: Any


CHANNELS = {
    "log": "operator.add",
    "with_id": "add_messages, an id",
    "without_id": "add_messages, no id",
    "note": "last value",
    "turns": "last value + 1",
}
"""The channels of the measured graph, and the kind of each."""


def measure(way: str, saver: Any = None) -> Measured:
    """Run `lab_graphs.early_writes` to its pause and resume it with "yes", in one of the ways.

    Args:
        way: a key of WAYS.
        saver: a checkpointer; default a fresh InMemorySaver.
    """
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from hitl_lab.lab_graphs import early_writes

    saver = InMemorySaver() if saver is None else saver
    config = {"configurable": {"thread_id": f"counterfactual {way}"}}
    runs: list[int] = []
    graph = early_writes(saver, lambda: runs.append(1))
    with BLOCKS[way]() as trace:
        graph.invoke({"log": ["input"]}, config)
        paused = saver.get_tuple(config)
        pending = tuple(channel for _, channel, _ in paused.pending_writes)
        graph.invoke(Command(resume="yes"), config)
    final = graph.get_state(config).values
    return Measured(
        way=way,
        node_runs=len(runs),
        pending=pending,
        final=final,
        copies={
            "log": final.get("log", []).count("early"),
            "with_id": len(final.get("with_id", ())),
            "without_id": len(final.get("without_id", ())),
            "note": int(final.get("note") == "early"),
            "turns": final.get("turns", 0),
        },
        answer=answers(trace.story)[-1].fate,
        trace=trace,
    )


def measure_all() -> dict[str, Measured]:
    """Return `measure` of each way."""
    return {way: measure(way) for way in WAYS}


def table(found: dict[str, Measured] | None = None) -> str:
    """Return the measurements as text: how often each early write is in the state at the end, and the answer's fate.

    Args:
        found: from `measure_all`; default measured now.
    """
    found = measure_all() if found is None else found
    head = ["", "node runs", "answer", *CHANNELS.values()]
    rows = [head]
    for way, each in found.items():
        rows.append([f"{way}  {WAYS[way]}", str(each.node_runs), each.answer, *(str(each.copies[c]) for c in CHANNELS)])
    return columns(rows)


def columns(rows: list[list[str]]) -> str:
    """Return rows of cells as text in aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)
