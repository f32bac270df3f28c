"""`stitch`: the traces of several processes that worked on one checkpointer, as one trace. Pure: events in, events out.

Run and write keys are unique in their own process only, so they are given anew. A write that one process left as a
pending row and another found there is one write: it is recognised by its task id, its channel, and its order; by its
value, if the first process was killed before it could tell that the row was handed over.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator
from typing import Any

from hitl_lab.trace import Trace
from hitl_lab.tracing import events as ev

_KEYS = ("writes", "dropped", "cleared")
_ROWS = ("rows", "handed", "pending")


def stitch(*traces: Trace | str | os.PathLike[str]) -> Trace:
    """Return one trace of what several processes did, in the order given.

    Args:
        traces: traces or paths of trace files, the earliest process first. A file that was cut off counts up to its
            last whole event.

    Raises:
        TraceFileError: a file is no trace.
    """
    parts = [each if isinstance(each, Trace) else Trace.load(each) for each in traces]
    facts: dict[str, Any] = {}
    seam = _Seam()
    out: list[ev.Event] = []
    for part in parts:
        for name, value in part.facts.items():
            if facts.setdefault(name, value) != value:
                facts[name] = f"{facts[name]}, {value}"
        out += seam.add(part.events)
    return Trace(out, facts=facts)


class _Seam:
    """Carries the numbering and the pending rows over from one trace to the next."""

    def __init__(self) -> None:
        self.n = self.runs = self.writes = 0
        self.t = 0.0
        # task id (or "null:<checkpoint id>") -> its pending rows as (channel, new key), as in Recorder.pending
        self.pending: dict[str, list[tuple[str, int]]] = {}
        # task id -> its writes (channel, value, new key) of which nobody told whether they were handed on: the process
        # was killed by then, and yet the saver, in a thread of its own, may have been faster.
        self.untold: dict[str, list[tuple[str, Any, int]]] = {}

    def add(self, events: Iterable[ev.Event]) -> list[ev.Event]:
        """Return the events of one more process."""
        self.run_of: dict[int, int] = {0: 0}
        self.key_of: dict[int, int] = {}
        self.stored = {task: list(rows) for task, rows in self.pending.items()}
        events = tuple(events)
        self.handed = {row.write for e in events if isinstance(e, ev.PutWrites) for row in e.rows}
        self.maybe = {task: list(rows) for task, rows in self.untold.items()}
        made = list(self._renumber(events, self.t))
        self._leave(made)
        return made

    def _leave(self, events: Iterable[ev.Event]) -> None:
        for event in events:
            if isinstance(event, ev.Wrote) and event.task:
                self.untold.setdefault(event.task, []).append((event.channel, event.value, event.write))
            elif isinstance(event, ev.PutWrites | ev.Committed | ev.Retried | ev.TaskStarted):
                self.untold.pop(event.task, None)

    def _renumber(self, events: Iterable[ev.Event], start: float) -> Iterator[ev.Event]:
        for event in events:
            if isinstance(event, ev.Wrote) and self._found(event) and self._known(event):
                continue  # the earlier process told of this write when it was made
            if isinstance(event, ev.RunStarted | ev.UpdateStarted) or event.run not in self.run_of:
                # Another run of this process may have taken rows from here; each run finds those that stand there.
                self.stored = {task: list(rows) for task, rows in self.pending.items()}
            fields: dict[str, Any] = {"n": self.n + 1, "t": start + event.t, "run": self._run(event.run)}
            if isinstance(event, ev.Wrote):
                fields["write"] = self._key(event.write)
            for name in _KEYS:
                if keys := getattr(event, name, ()):
                    fields[name] = tuple(self._key(key) for key in keys)
            for name in _ROWS:
                if rows := getattr(event, name, ()):
                    fields[name] = self._rows(rows, event)
            self.n += 1
            self.t = start + event.t
            made = dataclasses.replace(event, **fields)
            if isinstance(made, ev.PutWrites):
                self._remember(made)
            yield made

    def _run(self, run: int) -> int:
        if run not in self.run_of:
            self.runs += 1
            self.run_of[run] = self.runs
        return self.run_of[run]

    def _key(self, key: int) -> int:
        if key not in self.key_of:
            self.writes += 1
            self.key_of[key] = self.writes
        return self.key_of[key]

    def _found(self, event: ev.Wrote) -> bool:
        # The null task's stored rows are told as of a Command; a Command's own writes are handed to put_writes.
        return event.via == "loaded" or (event.via == "command" and event.write not in self.handed)

    def _known(self, event: ev.Wrote) -> bool:
        rows = self.stored.get(event.task, [])
        at = next((i for i, row in enumerate(rows) if row[0] == event.channel), None)
        if at is not None:
            self.key_of[event.write] = rows.pop(at)[1]
            return True
        maybe = self.maybe.get(event.task, [])
        found = next((row for row in maybe if row[:2] == (event.channel, event.value)), None)
        if found is None:
            return False
        maybe.remove(found)
        self.key_of[event.write] = found[2]
        return True

    def _rows(self, rows: Iterable[ev.Row], event: ev.Event) -> tuple[ev.Row, ...]:
        left = {task: list(known) for task, known in self.pending.items()}
        at = getattr(event, "checkpoint", None) or getattr(event, "before", None)
        out = []
        for row in rows:
            key, value = row.write, row.value
            if key is not None:
                key = self._key(key)
            elif isinstance(event, ev.StateRead | ev.UpdateStarted):
                known = left.get(row.task or f"null:{at}", [])
                place = next((i for i, each in enumerate(known) if each[0] == row.channel), None)
                if place is not None:
                    key, value = known.pop(place)[1], None
            out.append(dataclasses.replace(row, write=key, value=value))
        return tuple(out)

    def _remember(self, event: ev.PutWrites) -> None:
        # As LoopObserver.put_writes keeps them: a task's rows replace its earlier ones, the null task's add up.
        task = event.task or f"null:{event.checkpoint}"
        regular = [(row.channel, row.write) for row in event.rows if row.write is not None]
        if not event.rows:
            return
        special = any(row.write is None for row in event.rows)
        old = self.pending.get(task, []) if not event.task or (special and not regular) else []
        self.pending[task] = old + regular
