"""What happens in a run, one frozen dataclass a thing.

Events carry LangGraph's own ids (checkpoint, task, interrupt) and plain-data values (see `hitl_lab.values`);
short names such as C1, T1, W1 are given later, by `hitl_lab.trace`, in an order that does not depend on threads.
This module imports nothing of LangGraph and nothing of the kit.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

Value = Any
"""A snapshot: JSON-like data made by `hitl_lab.values.snapshot`, bounded in size."""


@dataclass(frozen=True, slots=True)
class Source:
    """A place in a source file.

    file: path below site-packages, or relative to the working directory, or "<cell>" for a notebook cell.
    function: qualified name. line: 1-based line number, 0 if unknown.
    """

    file: str
    function: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One task as `tick` planned it (LangGraph's PregelExecutableTask).

    finished: its writes were saved by an earlier run and handed back, so it does not run again.
    arg: the Send argument of a pushed task, else None. hidden: LangGraph's own task, such as __start__.
    """

    id: str
    name: str
    kind: str = "pull"
    triggers: tuple[str, ...] = ()
    finished: bool = False
    hidden: bool = False
    arg: Value = None
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One write as it is handed on or stored: its channel and, if it came through task.writes, its write key.

    value is kept only for the special writes (__interrupt__, __resume__, __error__), which no Wrote event shows,
    and for rows that were written before the trace began.
    """

    channel: str
    write: int | None = None
    value: Value = None
    task: str = ""


@dataclass(frozen=True, slots=True)
class InterruptInfo:
    """One question: LangGraph's Interrupt, with the task that asked."""

    id: str
    value: Value
    task: str = ""
    node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What all events share.

    n: number in order of arrival, from 1. t: seconds since the trace began. run: key of the call that caused it.
    ns: checkpoint namespace, one "node:task id" a level, () at the top. step: superstep, None outside the loop.
    """

    kind: ClassVar[str] = "event"
    n: int = 0
    t: float = 0.0
    run: int = 0
    ns: tuple[str, ...] = ()
    step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A top-level call reached the loop: `invoke`, `stream`, `ainvoke`, `astream`.

    checkpoint: the checkpoint that was loaded, None on a new thread. addressed: the caller named it (time travel).
    values: channel values as loaded. command: resume, update, goto of a Command input, as far as given.
    shape: the graph's structure, see `hitl_lab.tracing.shapes`; only its key if an earlier event told it.
    """

    kind: ClassVar[str] = "run_started"
    action: str
    thread: str | None = None
    graph: str = ""
    input: Value = None
    command: dict[str, Value] | None = None
    resuming: bool = False
    checkpoint: str | None = None
    addressed: bool = False
    durability: str = ""
    saver: str | None = None
    values: dict[str, Value] = field(default_factory=dict)
    source: Source | None = None
    shape: dict[str, Value] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgraphStarted(Event):
    """A graph started inside a task; `ns` is its namespace, `task` the task that called it."""

    kind: ClassVar[str] = "subgraph_started"
    task: str = ""
    graph: str = ""
    input: Value = None
    resuming: bool = False
    checkpoint: str | None = None
    saver: str | None = None
    values: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked(Event):
    """`PregelLoop.tick` planned a superstep.

    status: the loop's own word ("pending", "done", "interrupt_before", "out_of_steps", "draining").
    more: whether the tasks will be executed.
    """

    kind: ClassVar[str] = "tick"
    tasks: tuple[TaskInfo, ...] = ()
    status: str = "pending"
    more: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPushed(Event):
    """A task was added in the middle of a superstep (`accept_push`: @task call; or an error handler)."""

    kind: ClassVar[str] = "task_pushed"
    task: str
    info: TaskInfo
    parent: str = ""
    via: str = "call"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStarted(Event):
    """A node function is about to run (`run_with_retry`)."""

    kind: ClassVar[str] = "task_started"
    task: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote(Event):
    """One write entered `task.writes`.

    write: its key, unique in the process. via: "return", "send", "interrupt()", "branch", or how LangGraph put it
    there without the node ("reapplied", "cache", "input", "command", "update_state", "loaded").
    control: a channel of LangGraph's own (branch, join, send), not of the state. untracked: an UntrackedValue, which no
    checkpoint holds.
    """

    kind: ClassVar[str] = "wrote"
    task: str
    name: str
    write: int
    channel: str
    value: Value = None
    via: str = "return"
    control: bool = False
    source: Source | None = None
    untracked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried(Event):
    """`task.writes` was emptied; `cleared` holds the keys of the writes that went.

    why: "retry" (LangGraph does so before it tries the node again), or "timeout" (of the node, which ended it).
    """

    kind: ClassVar[str] = "retried"
    task: str
    name: str
    cleared: tuple[int, ...] = ()
    why: str = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptCalled(Event):
    """Code called `interrupt()`. index: 0 for the first call in this task run. answered: an answer was waiting."""

    kind: ClassVar[str] = "interrupt_called"
    task: str
    name: str
    index: int
    value: Value = None
    answered: bool = False
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEffect(Event):
    """Code did something that no pause takes back: a store put, or `hitl_lab.effect("...")`."""

    kind: ClassVar[str] = "side_effect"
    task: str
    name: str
    label: str
    via: str = "effect"
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEnded(Event):
    """The node function came back. outcome: "finished", "interrupt", "error", "cancelled" or "bubble" (a Command
    for the parent graph). mutated: keys of its input that were changed in place, which is no write; "key=" for one that
    was assigned anew on the state object.
    """

    kind: ClassVar[str] = "task_ended"
    task: str
    name: str
    outcome: str
    error: str | None = None
    interrupts: tuple[InterruptInfo, ...] = ()
    mutated: tuple[str, ...] = ()
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutWrites(Event):
    """`PregelLoop.put_writes` took writes into the loop's pending writes. task "" is the null task.

    to_saver: the saver is called too (never before the end with durability "exit").
    """

    kind: ClassVar[str] = "put_writes"
    task: str
    name: str = ""
    rows: tuple[Row, ...] = ()
    checkpoint: str | None = None
    to_saver: bool = False
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed(Event):
    """`PregelRunner.commit` dealt with a task that ended.

    writes: keys in task.writes at that moment. handed: what went to put_writes. dropped: keys that did not.
    where: the installed line that handed the writes on, or the function if it handed nothing on.
    """

    kind: ClassVar[str] = "commit"
    task: str
    name: str
    outcome: str = "finished"
    writes: tuple[int, ...] = ()
    handed: tuple[Row, ...] = ()
    dropped: tuple[int, ...] = ()
    where: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaverPutWrites(Event):
    """The checkpointer's `put_writes` came back. error: its exception, None if it returned."""

    kind: ClassVar[str] = "saver_put_writes"
    task: str
    name: str = ""
    checkpoint: str | None = None
    rows: tuple[Row, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied(Event):
    """`apply_writes` moved writes into the channels.

    where: the function that called it: "after_tick", "_first" (input, Command), "_suppress_interrupt" (only to make
    the last returned value; nothing of it is saved) or "update_state". changes: a change a state channel, see
    `hitl_lab.values.change`.
    """

    kind: ClassVar[str] = "applied"
    where: str
    writes: tuple[int, ...] = ()
    changes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCreated(Event):
    """`_put_checkpoint` made a checkpoint. to_saver: it is handed to the saver now (not so in "exit" mode)."""

    kind: ClassVar[str] = "checkpoint"
    checkpoint: str
    parent: str | None = None
    source: str = "loop"
    to_saver: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SaverPut(Event):
    """The checkpointer's `put` came back. error: its exception, None if it returned."""

    kind: ClassVar[str] = "saver_put"
    checkpoint: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused(Event):
    """The run stopped for a person. reason: "interrupt", "interrupt_before" or "interrupt_after"."""

    kind: ClassVar[str] = "paused"
    reason: str
    nodes: tuple[str, ...] = ()
    interrupts: tuple[InterruptInfo, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned(Event):
    """What the caller was given last: the return of invoke, the last "values" chunk of a stream, or the output in the
    last event of astream_events.

    seen: False if the caller asked for no stream mode that shows values. phantom: channels whose returned value
    is not what get_state() reads.
    """

    kind: ClassVar[str] = "returned"
    action: str
    values: Value = None
    seen: bool = True
    phantom: tuple[str, ...] = ()
    interrupts: tuple[InterruptInfo, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRead(Event):
    """What the checkpointer gives back after a run or an update: `get_state()` without a checkpoint id (the live
    view) and the pending writes stored at that checkpoint.

    planned: ids of the tasks get_state() plans; it applies the pending writes of these and of the null task, and no
    others. stored: only with `record(rows=True)`, the thread's rows in the database, see
    `hitl_lab.tracing.reading.read_rows`.
    """

    kind: ClassVar[str] = "state_read"
    thread: str | None = None
    checkpoint: str | None = None
    values: dict[str, Value] = field(default_factory=dict)
    next: tuple[str, ...] = ()
    interrupts: tuple[InterruptInfo, ...] = ()
    pending: tuple[Row, ...] = ()
    planned: tuple[str, ...] = ()
    error: str | None = None
    stored: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    """The loop is left. status: "done", "paused", "error", "closed" (the caller stopped the stream),
    "out_of_steps" or "draining".
    """

    kind: ClassVar[str] = "run_ended"
    status: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgraphEnded(Event):
    """The loop of a subgraph is left; status as in RunEnded."""

    kind: ClassVar[str] = "subgraph_ended"
    task: str = ""
    status: str = "done"
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateStarted(Event):
    """`update_state` or `bulk_update_state` was called; a step of its own on the timeline.

    before: the checkpoint it starts from. addressed: whether the caller named it by its id. pending: the writes that
    stand there. interrupts, next: what the live view of get_state() shows before the update. shape: as in RunStarted.
    """

    kind: ClassVar[str] = "update_started"
    action: str
    thread: str | None = None
    values: Value = None
    as_node: str | None = None
    before: str | None = None
    addressed: bool = False
    pending: tuple[Row, ...] = ()
    interrupts: tuple[InterruptInfo, ...] = ()
    next: tuple[str, ...] = ()
    graph: str = ""
    saver: str | None = None
    source: Source | None = None
    shape: dict[str, Value] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateUpdated(Event):
    """`update_state` came back. nodes: the nodes it acted as, as LangGraph chose them. checkpoint: the new head."""

    kind: ClassVar[str] = "state_updated"
    action: str
    nodes: tuple[str, ...] = ()
    writes: tuple[int, ...] = ()
    before: str | None = None
    checkpoint: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Event):
    """Something the recorder could not see, or another word to the reader."""

    kind: ClassVar[str] = "note"
    text: str


# Not Event.__subclasses__(): with slots=True that still lists the slotless twin of each class.
KINDS: dict[str, type[Event]] = {
    made.kind: made for made in list(globals().values()) if isinstance(made, type) and issubclass(made, Event)
}
"""Event classes by their `kind`."""

_NESTED = {"info": TaskInfo, "source": Source, "where": Source}
_NESTED_LISTS = {"tasks": TaskInfo, "rows": Row, "handed": Row, "pending": Row, "interrupts": InterruptInfo}


def to_plain(event: Event) -> dict[str, Any]:
    """Return an event as JSON-ready data; fields at their default are left out."""
    out: dict[str, Any] = {"kind": event.kind}
    for name, default, is_dict in _FIELDS[type(event)]:
        value = getattr(event, name)
        if value is None or value == () or (value == default and name != "status"):
            continue
        if is_dict and value == {}:
            continue
        out[name] = _plain(value) if type(value) in _MADE else value
    return out


def _plain(value: Any) -> Any:
    if type(value) is tuple:
        return [_plain(v) if type(v) in _MADE else v for v in value]
    out = {}
    for name, default, _ in _FIELDS[type(value)]:
        v = getattr(value, name)
        if v is not None and v != () and v != default:
            out[name] = _plain(v) if type(v) in _MADE else v
    return out


# dataclasses.fields() for each event took half the time of writing a file.
_FIELDS = {
    made: tuple((f.name, f.default, f.default_factory is dict) for f in dataclasses.fields(made))
    for made in (Source, TaskInfo, Row, InterruptInfo, *KINDS.values())
}
_MADE = frozenset({tuple, Source, TaskInfo, Row, InterruptInfo})


def from_plain(data: dict[str, Any]) -> Event:
    """Return the event that `to_plain` wrote.

    Raises ValueError if the kind is unknown or a field is missing or unexpected.
    """
    data = dict(data)
    kind = data.pop("kind", None)
    if kind not in KINDS:
        raise ValueError(f"unknown kind of event {kind!r}")
    cls = KINDS[kind]
    try:
        return cls(**{name: _revive(name, value) for name, value in data.items()})
    except (TypeError, AttributeError) as exc:
        raise ValueError(f"event {kind!r} does not fit: {exc}") from exc


def _revive(name: str, value: Any) -> Any:
    if name in _NESTED and isinstance(value, dict):
        made = _NESTED[name]
        return _make(made, value)
    if name in _NESTED_LISTS and isinstance(value, list):
        return tuple(_make(_NESTED_LISTS[name], v) for v in value)
    if isinstance(value, list) and name in _TUPLES:
        return tuple(value)
    return value


_TUPLES = {"ns", "planned", "triggers", "writes", "dropped", "cleared", "mutated", "nodes", "phantom", "next"}


def _make(cls: type, value: dict[str, Any]) -> Any:
    value = {k: (tuple(v) if k in _TUPLES and isinstance(v, list) else v) for k, v in value.items()}
    if "source" in value and isinstance(value["source"], dict):
        value["source"] = Source(**value["source"])
    defaults = {"file": "", "function": "", "line": 0} if cls is Source else {}
    if cls is InterruptInfo:
        value.setdefault("value", None)
    return cls(**{**defaults, **value})
