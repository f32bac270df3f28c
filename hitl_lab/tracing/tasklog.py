"""What is known of one task while its superstep is open: its writes and their keys, and its input as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from itertools import compress
from operator import is_
from typing import Any

from hitl_lab.fingerprints import can_change, changed, look
from hitl_lab.tracing.raw import Rows

Write = tuple[str, Any]
Live = Any
"""`task.writes`: a deque of writes, or a sequence that stands for it."""
Handed = tuple["TaskLog", Rows | None, Live, str, int | None, bool, bool]
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
    """What is known of one task while its superstep is open: its writes and their keys.

    `live` is `task.writes` itself. As long as it grows by what was told and nothing else, position says which write is
    whose: `rows[i]` is the key of `live[i]`, and who hands `live` on hands all of them on. That takes no look at the
    writes. What does not fit (rows of an earlier run, a send from two threads at once) is in `held`, each write tuple
    with its key; held, so that its identity stands for it until the superstep ends.

    Threads: `in_place` is true for one sender at a time, whose writes are all that `rows` lacks, so they are at the end
    of `live`, wherever else is sent from in between. `first` is the first of `live`: if another stands there, it was
    emptied since.
    """

    __slots__ = ("first", "held", "id", "input", "live", "name", "rows", "running", "source")

    def __init__(self, id: str, name: str, source: int | None, live: Live = ()) -> None:
        self.id, self.name, self.source, self.live = id, name, source, live
        # Tuples, the empty one shared: LangGraph's threads leave tasks, and so this, to the garbage collector.
        self.rows: tuple[int, ...] = ()
        self.first: Write | None = None
        self.held: tuple[tuple[Write, int], ...] | list[tuple[Write, int]] = ()
        self.input: Held | None = None
        self.running = False  # from its start to its commit

    def in_place(self, new: int = 0) -> bool:
        """Whether position tells the writes apart, now that `live` has grown by `new` of them."""
        return not self.held and len(self.live) == len(self.rows) + new

    def add(self, write: Write, key: int) -> None:
        """Know a write by its identity."""
        if type(self.held) is tuple:
            with _LOCK:
                if type(self.held) is tuple:
                    self.held = list(self.held)
        self.held.append((write, key))

    def pairs(self) -> list[tuple[Write, int]]:
        """Return the writes that are known, each with its key."""
        return [*zip(list(self.live), self.rows, strict=False), *self.held]

    def keys(self) -> tuple[int, ...]:
        """Return the keys of the writes that are known."""
        return (*self.rows, *(key for _, key in self.held))

    def emptied(self, new: int = 0) -> bool:
        """Whether `live`, to which `new` writes were just added, was emptied since the others became known."""
        if not self.rows and not self.held:
            return False
        if len(self.live) < len(self.rows) + len(self.held) + new:
            return True
        if self.rows:
            return self.live[0] is not self.first
        oldest = self.held[0][0]
        return not any(write is oldest for write in list(self.live))

    def keys_of(self, writes: Iterable[Write], rebuilt: bool = True) -> list[int | None]:
        """Return the keys of writes, each known one at most once; None for one that is not known.

        rebuilt: also know a tuple that LangGraph has made anew (it keeps pending writes with their task's id): by its
        channel and its very value. Two equal writes of one task have that in common: each gets a key of its own.
        """
        left = self.pairs()
        by_identity: dict[int, list[int]] = {}
        for at in range(len(left) - 1, -1, -1):
            by_identity.setdefault(id(left[at][0]), []).append(at)
        writes = list(writes)
        found: list[int | None] = []
        taken: set[int] = set()
        for write in writes:
            at = by_identity.get(id(write))
            if at:
                taken.add(at[-1])
                found.append(left[at.pop()][1])
            else:
                found.append(None)
        if rebuilt and None in found:
            rest = [pair for at, pair in enumerate(left) if at not in taken]
            for i, write in enumerate(writes):
                if found[i] is None:
                    same = (n for n, (w, _) in enumerate(rest) if w[0] == write[0] and w[1] is write[1])
                    at = next(same, None)
                    if at is not None:
                        found[i] = rest.pop(at)[1]
        return found

    def key_of(self, write: Write) -> int | None:
        """Return the key of one write, see `keys_of`."""
        return self.keys_of((write,))[0]

    def knows(self, write: Write) -> bool:
        """Whether this very tuple is known."""
        return any(known is write for known, _ in self.pairs())

    def forget(self, new: int = 0) -> tuple[int, ...]:
        """Know no write any more, if `live` was emptied; return the keys of those it knew. For one thread at a time."""
        with _LOCK:
            if not self.emptied(new):
                return ()
            keys = self.keys()
            self.rows, self.held, self.first = (), (), None
            return keys


_LOCK = threading.Lock()


Held = tuple[dict[Any, Any], list[Any]]
"""The values of a state as they were, which keeps them, and the looks at those that can change in place."""


def fields_of(state: Any) -> dict[Any, Any] | None:
    """Return the named fields of a state that is no dict, None if it has none."""
    fields = getattr(state, "__dict__", None)
    return fields if type(fields) is dict else None


def looks(fields: dict[Any, Any]) -> list[Any]:
    """Return the looks at the values that can change in place, in their order.

    For text and numbers being the same object says all.
    """
    return list(map(look, compress(fields.values(), map(can_change, map(type, fields.values())))))


def mutated(before: Held, state: Any) -> tuple[str, ...]:
    """Return the keys changed in place, and "key=" for those that were assigned anew on the state object."""
    were, looked = before
    now = (state if type(state) is dict else fields_of(state) or {}).copy()
    if now.keys() == were.keys() and all(map(is_, now.values(), were.values())):
        inside = compress(were.values(), map(can_change, map(type, were.values()))) if looked else ()
        if not any(map(changed, looked, inside)):
            return ()
    then = iter(looked)
    old = {k: next(then) if can_change(type(v)) else None for k, v in were.items()}
    out = []
    for key in {**were, **now}:
        if type(key) is not str:
            continue
        if key not in were or key not in now or were[key] is not now[key]:
            out.append(f"{key}=")
        elif changed(old[key], now[key]):
            out.append(key)
    return tuple(out)
