"""What is known of one task while its superstep is open: its writes and their keys, and its input as it was."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from hitl_lab import values
from hitl_lab.tracing.recorder import Rows

Write = tuple[str, Any]
Handed = tuple["TaskLog", Rows | None, list[Write], str, int | None, bool, bool]
"""One call of the loop's put_writes: (log, rows, writes, checkpoint, step, to_saver, cached).

log: of the task it is for; of the null task if no tick planned it. rows: None if not each write had its key by then.
to_saver: whether a saver gets them. cached: whether they are the cache's.
"""


class Control(dict[str, bool]):
    """Whether a channel carries control flow or a special write, worked out once a channel."""

    def __init__(self, special: frozenset[str], is_control: Callable[[str], bool]) -> None:
        super().__init__()
        self.special, self.is_control = special, is_control

    def __missing__(self, channel: str) -> bool:
        known = self[channel] = channel in self.special or self.is_control(channel)
        return known


class TaskLog:
    """What is known of one task while its superstep is open: the write tuples it made and their keys.

    The tuples are held, so that their identity stands for them until the step ends.
    """

    __slots__ = ("id", "input", "keys", "name", "running", "source", "writes")

    def __init__(self, id: str, name: str, source: int | None) -> None:
        self.id, self.name, self.source = id, name, source
        self.writes: list[Write] = []
        self.keys: dict[int, int] = {}
        self.input: Held | None = None
        self.running = False  # from its start to its commit

    def add(self, write: Write, key: int) -> None:
        self.writes.append(write)
        self.keys[id(write)] = key

    def key_of(self, write: Write) -> int | None:
        key = self.keys.get(id(write))
        if key is not None:
            return key
        # LangGraph rebuilt the tuple (pending writes are stored with their task id): same channel, same object.
        for known in self.writes:
            if known[0] == write[0] and known[1] is write[1]:
                return self.keys[id(known)]
        return None


Held = tuple[dict[Any, Any], list[Any]]
"""The values of a state as they were, which keeps them, and the prints of those that can change in place."""


def _fields(state: Any) -> dict[Any, Any] | None:
    fields = state if type(state) is dict else getattr(state, "__dict__", None)
    return fields if type(fields) is dict else None


def _print(value: Any) -> Any:
    # Most lists of a small state are empty at first.
    return 0 if type(value) is list and not value else values.fingerprint(value)


def _prints(fields: dict[Any, Any]) -> list[Any]:
    # Text and numbers cannot change in place: for them being the same object says all.
    return list(map(_print, values.changeable(fields.values())))


def held(state: Any) -> Held | None:
    """Return what tells later whether a state was changed in place, None if it has no named fields."""
    fields = state if type(state) is dict else _fields(state)
    return None if fields is None else (dict(fields), _prints(fields))


def mutated(before: Held, state: Any) -> tuple[str, ...]:
    """Return the keys changed in place, and "key=" for those that were assigned anew on the state object."""
    were, prints = before
    now = state if type(state) is dict else _fields(state) or {}
    if (
        now.keys() == were.keys()
        and all(map(is_, now.values(), were.values()))
        and (not prints or prints == _prints(now))
    ):
        return ()
    then = iter(prints)
    old = {k: None if type(v) in values.LEAVES else next(then) for k, v in were.items()}
    out = []
    for key in {**were, **now}:
        if type(key) is not str:
            continue
        if key not in were or key not in now or were[key] is not now[key]:
            out.append(f"{key}=")
        elif old[key] is not None and _print(now[key]) != old[key]:
            out.append(key)
    return tuple(out)
