"""What happened, as the hooks put it down while a run goes on, and the events that are made of it when somebody reads.

An event costs several times what the bare facts cost, to make and to the garbage collector, and most are read later or
never.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

from hitl_lab.tracing import sources
from hitl_lab.tracing.events import KINDS, Event, Row, TaskInfo, Wrote

Raw = tuple[Any, ...]
"""What happened, before an event is made of it: (kind, perf_counter(), (run, ns) or Head, step, *the fields of FIELDS).

Rows are keys of writes or plain tuples in there, tasks are the fields of each in one tuple, and places in source files
are keys (`sources.key_of_frame`).
"""


class Head(NamedTuple):
    """What all events of one observer have in common, and how it tells what a channel is.

    control: by channel, whether it is one of LangGraph's own. untracked: channels that no checkpoint holds.
    """

    run: int
    ns: tuple[str, ...]
    control: Mapping[str, bool]
    untracked: frozenset[str]


Rows = tuple[Any, ...]
"""Rows that stand for writes: each the key of a write of the event's own task, or the fields of an `events.Row`."""


# The fields that come as plain data, by kind of event.
_PLAIN = {
    kind: tuple(n for n in ("rows", "handed", "tasks", "source", "where") if n in made.__dataclass_fields__)
    for kind, made in KINDS.items()
}
# The order in which `put` takes the fields of an event.
FIELDS = {
    kind: tuple(n for n in made.__dataclass_fields__ if n not in Event.__dataclass_fields__)
    for kind, made in KINDS.items()
}
# The fields that are told of each write; what else an event says of it follows from the channel.
FIELDS["wrote"] = ("task", "name", "write", "channel", "value", "via", "source")
COMMITTED_AND_PUT = "commit and put_writes"
"""Stands for the two events in one, when all that a task wrote went on: by far most often."""
FIELDS[COMMITTED_AND_PUT] = ("task", "name", "outcome", "rows", "where", "checkpoint", "to_saver", "cached")
_HEAD = 4
INFO = len(TaskInfo.__dataclass_fields__)
"""How many fields stand for one task among those of a tick."""
new_write = itertools.count(1).__next__
"""Return a key for a write, unique in the process."""


def by_name(kind: str) -> str:
    """Return the kind of a raw event whose fields come as one dict: for those that are rare."""
    return f"{kind} by name"


_NAMED = {by_name(kind): kind for kind in KINDS}


def _complete(fields: dict[str, Any], head: Head) -> None:
    """Add to a write's fields what its channel is."""
    channel = fields["channel"]
    fields["control"], fields["untracked"] = head.control[channel], channel in head.untracked
    if fields["control"] and fields["via"] == "return":
        fields["via"] = "branch"


def _two(fields: dict[str, Any]) -> dict[str, Any]:
    """Leave in the fields of COMMITTED_AND_PUT those of `put_writes`, and return those of `commit`."""
    rows = fields["rows"]
    more = {name: fields.pop(name) for name in ("outcome", "where")}
    return {"task": fields["task"], "name": fields["name"], "writes": rows, "handed": rows, **more}


class Maker:
    """Makes events of raw ones, in their order.

    start: perf_counter() of the moment that the events count their time from. events: those made so far. writes: those
    of them that tell of a write, by its key.
    """

    def __init__(self, start: float) -> None:
        self.start = start
        self.events: list[Event] = []
        self.writes: dict[int, Wrote] = {}

    def make(self, raw: list[Any]) -> None:
        """Make events of what is in a flat list of raw events, and take it out."""
        at, upto = 0, len(raw)  # other threads may go on
        try:
            while at < upto:
                kind, told, head, step = raw[at : at + _HEAD]
                at += _HEAD
                if kind in _NAMED:
                    kind, fields = _NAMED[kind], dict(raw[at])
                    at += 1
                else:
                    names = FIELDS[kind]
                    fields = dict(zip(names, raw[at : at + len(names)], strict=True))
                    at += len(names)
                    if kind == "wrote":
                        _complete(fields, head)
                    elif kind == COMMITTED_AND_PUT:
                        commit, kind = _two(fields), "put_writes"
                        self._add("commit", told, head, step, commit)
                self._add(kind, told, head, step, fields)
        finally:
            del raw[:at]

    def _add(self, kind: str, told: float, head: Any, step: int | None, fields: dict[str, Any]) -> None:
        for name in _PLAIN[kind]:
            if name in fields:
                fields[name] = self._part(name, fields)
        made = self.events
        event = KINDS[kind](n=len(made) + 1, t=told - self.start, run=head[0], ns=head[1], step=step, **fields)
        made.append(event)
        if type(event) is Wrote:
            self.writes[event.write] = event

    def _part(self, name: str, fields: dict[str, Any]) -> Any:
        """Return what stands for a field of plain data in an event."""
        given = fields[name]
        if name == "tasks":
            infos = (given[at : at + INFO] for at in range(0, len(given), INFO))
            return tuple(TaskInfo(*info[:-1], sources.by_key(info[-1])) for info in infos)
        if type(given) is int:
            return sources.by_key(given)
        if name in ("rows", "handed"):
            task = fields["task"]
            return tuple(Row(self._channel(x), x, None, task) if type(x) is int else Row(*x) for x in given)
        return given

    def _channel(self, key: int) -> str:
        # A thread that sends while its task is committed gets its key before its write is told.
        known = self.writes.get(key)
        return "" if known is None else known.channel
