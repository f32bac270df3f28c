"""The live parts of a run, copied: what `TracedExecutor` shows of channels, tasks, pending writes and checkpoint.

Copies, because a stored notebook output or a learner's variable must neither change with the run nor change it, and
must keep no loop alive.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hitl_lab import values
from hitl_lab.errors import ExecutorError
from hitl_lab.value_text import show


def copied(value: Any) -> Any:
    """Return a deep copy; where an object cannot be copied (a lock, a socket), its snapshot as plain data."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return values.snapshot(value)


def _shown(value: Any, width: int = 100) -> str:
    return show(values.snapshot(value), width)


class Write(NamedTuple):
    """One write: the tuple LangGraph keeps. task: the name of the task it belongs to, "" for the null task."""

    channel: str
    value: Any
    task: str = ""

    def __repr__(self) -> str:
        of = f"{self.task}: " if self.task else ""
        return f"({of}{self.channel}, {_shown(self.value)})"


class Writes(tuple[Write, ...]):
    """Writes in order; `of("messages")` picks a channel's values."""

    __slots__ = ()

    def of(self, channel: str) -> list[Any]:
        """Return the values written to a channel."""
        return [write.value for write in self if write.channel == channel]

    def __repr__(self) -> str:
        return "[" + ", ".join(map(repr, self)) + "]"


@dataclass(frozen=True, repr=False)
class Task:
    """One task of the superstep (LangGraph's PregelExecutableTask)."""

    name: str
    triggers: tuple[str, ...]
    input: Any
    writes: Writes

    def __repr__(self) -> str:
        return f"Task {self.name}: writes {self.writes!r}"


class Named(Mapping[str, Any]):
    """A read-only mapping of one kind of part. `why`: what a missing key is answered with, if no loop runs."""

    def __init__(self, what: str, parts: Mapping[str, Any], why: str = "") -> None:
        self._what, self._parts, self._why = what, dict(parts), why

    def __getitem__(self, key: str) -> Any:
        if key in self._parts:
            return self._parts[key]
        if self._why:
            raise ExecutorError(self._why)
        raise KeyError(f"no {self._what} {key!r}; there are: {', '.join(self._parts) or 'none'}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        if self._why and not self._parts:
            return f"<no {self._what}s: {self._why}>"
        shown = (repr(v) if isinstance(v, Task) else f"{k}: {_shown(v)}" for k, v in self.items())
        return "{" + ", ".join(shown) + "}"


@dataclass(frozen=True, repr=False)
class Saved:
    """A checkpoint with what stands beside it: of the loop's memory, or as the checkpointer gave it back.

    id: LangGraph's checkpoint id. values: channel values; channels without a value are missing, and so are
    LangGraph's own (branches, triggers), which `control` holds. step, source: from its metadata. exists: False if the
    checkpointer has nothing for the thread.
    """

    values: dict[str, Any] = field(default_factory=dict)
    pending_writes: Writes = field(default_factory=Writes)
    step: int | None = None
    source: str = ""
    id: str = ""
    control: dict[str, Any] = field(default_factory=dict)
    exists: bool = True

    def __repr__(self) -> str:
        if not self.exists:
            return "nothing is saved"
        shown = ", ".join(f"{k}: {_shown(v)}" for k, v in self.values.items())
        return f"values {{{shown}}}\npending writes {self.pending_writes!r}"


@dataclass(frozen=True)
class Parts:
    """The parts of one loop at one stop, all copies. ns: its namespace as node names, "" at the top."""

    ns: str
    step: int | None
    channels: Named
    tasks: Named
    pending_writes: Writes
    checkpoint: Saved


def writes_of(found: Sequence[tuple[str, str, Any]], names: Mapping[str, str]) -> Writes:
    """Return pending writes (task id, channel, value) with their tasks' names."""
    return Writes(Write(channel, copied(value), names.get(str(task), "")) for task, channel, value in found)


def saved(found: Mapping[str, Any], names: Mapping[str, str], is_control: Any) -> Saved:
    """Return a checkpoint's parts (see `seams.saved_parts`) as `Saved`."""
    channels = {k: copied(v) for k, v in found["channels"].items()}
    return Saved(
        values={k: v for k, v in channels.items() if not is_control(k)},
        pending_writes=writes_of(found["pending"], names),
        step=found.get("step"),
        source=found.get("source", ""),
        id=str(found["checkpoint"].get("id", "")),
        control={k: v for k, v in channels.items() if is_control(k)},
    )


def live(found: Mapping[str, Any], is_control: Any) -> Parts:
    """Return the copies of a live loop's parts (see `seams.parts`)."""
    listed = [name for _, name, *_ in found["tasks"]]
    tasks: dict[str, Task] = {}
    for i, (_, name, triggers, given, writes) in enumerate(found["tasks"]):
        label = name if listed.count(name) == 1 else f"{name}[{listed[:i].count(name)}]"
        tasks[label] = Task(label, triggers, copied(given), Writes(Write(c, copied(v)) for c, v in writes))
    names = {id: name for id, name, *_ in found["tasks"]}
    point = found["checkpoint"]
    channels = {k: copied(v) for k, v in found["channels"].items()}
    return Parts(
        ns="/".join(part.split(":", 1)[0] for part in found["ns"] if not part.isdigit()),
        step=found["step"],
        channels=Named("channel", {k: v for k, v in channels.items() if not is_control(k)}),
        tasks=Named("task", tasks),
        pending_writes=writes_of(found["pending"], names),
        checkpoint=saved(
            {"channels": point.get("channel_values", {}), "pending": (), "checkpoint": point}, {}, is_control
        ),
    )
