"""One observer a loop: turns what the seams see of a live loop into events. Knows tasks, writes and values, but no
LangGraph: the seams hand it plain arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any

from hitl_lab import values
from hitl_lab.tracing import events as ev
from hitl_lab.tracing.recorder import Recorder

Write = tuple[str, Any]
RowData = tuple[str, int | None, Any, str]
"""The fields of an `events.Row`, in order; the recorder makes the Row when an event is read."""
InfoData = tuple[str, str, str, tuple[str, ...], bool, bool, Any, "ev.Source | None"]
"""The fields of an `events.TaskInfo`, in order."""


def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    """Keep a fault of the recorder away from the graph: the recorder is removed instead."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = self.recorder
        if recorder.dead or recorder.closed:
            return None
        try:
            return method(self, *args, **kwargs)
        except Exception as exc:
            recorder.fail(method.__name__, exc)
            return None

    return call


class _Control(dict[str, bool]):
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

    __slots__ = ("id", "keys", "name", "prints", "row_ids", "rows", "running", "source", "writes")

    def __init__(self, id: str, name: str, source: ev.Source | None) -> None:
        self.id, self.name, self.source = id, name, source
        self.writes: list[Write] = []
        self.keys: dict[int, int] = {}
        self.prints: dict[str, tuple[int, Any]] | None = None
        self.row_ids: list[int] = []
        self.rows: tuple[RowData, ...] = ()
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


class LoopObserver:
    """Follows one loop, from `_first` to its exit.

    special: channels of LangGraph's own that carry no write of a node (__interrupt__, __resume__, __error__, ...).
    is_control: whether a channel carries control flow (branches, joins, sends). result: what a @task gave back.
    """

    def __init__(
        self,
        recorder: Recorder,
        run: int,
        ns: tuple[str, ...],
        *,
        parent_task: str = "",
        special: frozenset[str] = frozenset(),
        is_control: Callable[[str], bool] = lambda _channel: False,
        nothing: str = "",
        null_task: str = "",
        result: str = "",
    ) -> None:
        self.recorder, self.run, self.ns, self.parent_task = recorder, run, ns, parent_task
        self.special, self.nothing, self.null_task, self.result = special, nothing, null_task, result
        self.control = _Control(special, is_control)
        self.untracked: frozenset[str] = frozenset()
        self.dropped: set[str] = set()  # channels of the writes that commit did not hand on
        self.logs: dict[str, TaskLog] = {}
        self.null = TaskLog("", "", None)
        # Logs whose writes a saver's put_writes is storing: with durability "async" it may come back steps later.
        self.at_saver: dict[tuple[str, str], tuple[TaskLog, int | None]] = {}
        # Checkpoint id -> the superstep that made it: a saver's put may come back steps later.
        self.made_in: dict[str, int | None] = {}
        self.before: dict[str, Any] = {}
        self.step: int | None = None
        self.started = False
        self.status = "done"
        self.error: str | None = None
        self.interrupts: tuple[ev.InterruptInfo, ...] = ()
        self.last_values: Any = None
        self.values_seen = False
        self.known_checkpoints: set[str] = set()

    def emit(self, made: type[ev.Event], **fields: Any) -> None:
        self.recorder.emit(made, self.run, self.ns, self.step, fields)

    def add(self, *event: Any) -> None:
        """Emit an event by its class and its fields in order: half the cost, for those a superstep has many of."""
        self.recorder.add((event[0], perf_counter(), self.run, self.ns, self.step, *event[1:]))

    def add_at(self, step: int | None, *event: Any) -> None:
        """The same for what belongs to an earlier superstep: a saver that comes back late."""
        self.recorder.add((event[0], perf_counter(), self.run, self.ns, step, *event[1:]))

    def emit_outside(self, made: type[ev.Event], **fields: Any) -> None:
        """Emit an event that belongs to no superstep."""
        self.recorder.emit(made, self.run, self.ns, None, fields)

    # ------------------------------------------------------------ begin and end

    @guarded
    def begin(
        self, made: type[ev.Event], channels: Mapping[str, Any], *, input: Any, command: Any, **fields: Any
    ) -> None:
        self.started = True
        loaded = self.read(channels)
        fields["values"] = {k: self.recorder.snap(k, v) for k, v in loaded.items()}
        fields["input"] = None if command is not None else self.recorder.snap_input(input)
        if made is ev.RunStarted:
            fields["command"] = command and {k: self.recorder.snap_input(v) for k, v in command.items()}
        if fields.get("checkpoint"):
            self.known_checkpoints.add(fields["checkpoint"])
        self.emit_outside(made, **fields)

    def read(self, channels: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state channels' values that are there, and remember them for the next change."""
        out: dict[str, Any] = {}
        for name, channel in channels.items():
            if self.control[name]:
                continue
            try:
                out[name] = channel.get()
            except Exception:  # LangGraph's EmptyChannelError: nothing was written yet
                continue
        self.before = {k: (list(v) if type(v) is list else v) for k, v in out.items()}
        return out

    def changes(self, channels: Mapping[str, Any], updated: Iterable[str] | None) -> dict[str, Any]:
        """Return the change of each state channel since it was last read."""
        names = channels if updated is None else updated
        out: dict[str, Any] = {}
        for name in sorted(names):
            if self.control[name] or name not in channels:
                continue
            try:
                now = channels[name].get()
            except Exception:
                continue
            delta = values.change(
                self.before.get(name, _ABSENT), now, lambda value, n=name: self.recorder.snap(n, value)
            )
            if delta is not None:
                out[name] = delta
                self.before[name] = list(now) if type(now) is list else now
        return out

    @guarded
    def paused(self, reason: str, nodes: Sequence[str], interrupts: tuple[ev.InterruptInfo, ...]) -> None:
        self.interrupts = interrupts
        self.emit(ev.Paused, reason=reason, nodes=tuple(nodes), interrupts=interrupts)

    @guarded
    def returned(self, action: str, phantom: tuple[str, ...]) -> None:
        shown = self.last_values
        if isinstance(shown, dict):
            shown = {k: self.recorder.snap(str(k), v) for k, v in shown.items() if k not in self.special}
        else:
            shown = self.recorder.snap("__output__", shown)
        seen = self.values_seen
        self.emit(
            ev.Returned,
            action=action,
            values=shown if seen else None,
            seen=seen,
            phantom=phantom,
            interrupts=self.interrupts,
        )

    @guarded
    def end(self, status: str, error: str | None) -> None:
        if self.ns:
            self.emit(ev.SubgraphEnded, task=self.parent_task, status=status, error=error)
        else:
            self.emit(ev.RunEnded, status=status, error=error)
        self.forget()

    def forget(self) -> None:
        """Let go of everything live, but for tasks whose commit is still to come: those of a graph that was cancelled
        are handed on after its loop was left.
        """
        self.logs = {id: log for id, log in self.logs.items() if log.running and log.writes}
        self.at_saver, self.before, self.last_values, self.null = {}, {}, None, TaskLog("", "", None)

    # ------------------------------------------------------------ tasks

    def ticked(self, step: int, status: str, more: bool, tasks: Sequence[InfoData], live: Iterable[Any]) -> None:
        try:
            self.step = step
            self.logs = {}
            for info, task in zip(tasks, live, strict=True):
                self.open(info, task)
            self.add(ev.Ticked, tuple(tasks), status, more)
        except Exception as exc:
            self.recorder.fail("ticked", exc)

    def open(self, info: InfoData, task: Any) -> TaskLog:
        id = info[0]
        log = self.logs[id] = TaskLog(id, info[1], info[7])
        self.recorder.run_of_task[id] = self.run
        if task.writes:
            self.adopt(log, task.writes, "reapplied")
        return log

    def remember(self, id: str, name: str) -> TaskLog:
        """Open a log for a task that no tick of this observer planned."""
        log = self.logs[id] = TaskLog(id, name, None)
        return log

    @guarded
    def pushed(self, info: InfoData, task: Any, parent: str, via: str) -> None:
        if info[0] not in self.logs:
            self.open(info, task)
            self.emit(ev.TaskPushed, task=info[0], info=ev.TaskInfo(*info), parent=parent, via=via)

    def adopt(self, log: TaskLog, writes: Iterable[Write], via: str, fresh: bool = False) -> list[int]:
        """Give keys to the writes that no send made: handed back from the saver, from the cache, from a Command.

        Rows saved by an earlier run of the same task keep the keys they had then; `fresh` ones never come from there.
        """
        stored: list[tuple[str, int]] | None = None
        keys: list[int] = []
        for write in list(writes):
            key = log.keys.get(id(write))
            if key is None and (key := log.key_of(write)) is None:
                if write[0] in self.special:
                    continue
                if stored is None:
                    stored = [] if fresh or via == "cache" else self.recorder.stored_rows(log.id)
                key = self.recorder.take(stored, write[0], write[1])
                if key is None:
                    key = self.recorder.new_write()
                    self.emit_wrote(log, key, write, "loaded" if via == "reapplied" else via, None)
                log.add(write, key)
            keys.append(key)
        return keys

    def emit_wrote(self, log: TaskLog, key: int, write: Write, via: str, source: ev.Source | None) -> None:
        channel, value = write
        control = self.control[channel]
        taken = self.recorder.taken[key] = self.recorder.snap(channel, value)
        self.add(ev.Wrote, log.id, log.name, key, channel, taken, via, control, source, channel in self.untracked)

    def task_started(self, task: Any) -> None:
        try:
            log = self.logs.get(task.id)
            if log is None:
                return
            log.running = True
            if self.recorder.mutations:
                log.prints = _prints(task.input)
            self.add(ev.TaskStarted, log.id, log.name)
        except Exception as exc:
            self.recorder.fail("task_started", exc)

    def sent(self, task: Any, writes: Sequence[Write], via: str, source: ev.Source | None) -> None:
        try:
            log = self.logs.get(task.id)
            if log is None:
                return
            if len(task.writes) < len(log.writes) + len(writes):
                self.look_for_retry(log, task.writes, len(writes))
            for write in writes:
                channel = write[0]
                if channel == self.nothing:
                    continue
                key = self.recorder.new_write()
                log.writes.append(write)
                log.keys[id(write)] = key
                control = self.control[channel]
                kind = "branch" if control and via == "return" else via
                taken = self.recorder.taken[key] = self.recorder.snap(channel, write[1])
                self.add(
                    ev.Wrote,
                    log.id,
                    log.name,
                    key,
                    channel,
                    taken,
                    kind,
                    control,
                    source or log.source,
                    channel in self.untracked,
                )
        except Exception as exc:
            self.recorder.fail("sent", exc)

    def look_for_retry(self, log: TaskLog, now: Any, new: int, why: str = "retry") -> None:
        # run_with_retry empties task.writes before each attempt, and when a node is out of time; nothing else does.
        if not log.writes or len(now) >= len(log.writes) + new:
            return
        there = {id(w) for w in list(now)}
        gone = tuple(log.keys[id(w)] for w in log.writes if id(w) not in there)
        if gone:
            log.writes = [w for w in log.writes if id(w) in there]
            log.keys = {id(w): log.keys[id(w)] for w in log.writes}
            log.row_ids = []
            self.emit(ev.Retried, task=log.id, name=log.name, cleared=gone, why=why)

    @guarded
    def interrupt_called(self, task: Any, index: int, value: Any, answered: bool, source: ev.Source | None) -> None:
        self.emit(
            ev.InterruptCalled,
            task=task.id,
            name=task.name,
            index=index,
            value=self.recorder.snap("__interrupt__", value),
            answered=answered,
            source=source,
        )

    @guarded
    def side_effect(self, task: Any, label: str, via: str, source: ev.Source | None) -> None:
        self.emit(ev.SideEffect, task=task.id, name=task.name, label=label, via=via, source=source)

    def task_ended(
        self,
        task: Any,
        outcome: str,
        error: str | None,
        interrupts: tuple[ev.InterruptInfo, ...],
        source: ev.Source | None,
    ) -> None:
        try:
            log = self.logs.get(task.id)
            if log is None:
                return
            if len(task.writes) < len(log.writes):
                why = "timeout" if error and error.startswith("NodeTimeoutError") else "retry"
                self.look_for_retry(log, task.writes, 0, why)
            mutated = _mutated(log.prints, task.input) if log.prints is not None else ()
            self.add(ev.TaskEnded, log.id, log.name, outcome, error, interrupts, mutated, source)
        except Exception as exc:
            self.recorder.fail("task_ended", exc)

    # ------------------------------------------------------------ writes on their way

    def committed(self, task: Any, outcome: str, calls: list[tuple[str, list[Write]]], where: ev.Source | None) -> None:
        try:
            log = self.logs.get(task.id)
            if log is None:
                return
            log.running = False
            if len(task.writes) < len(log.writes):
                self.look_for_retry(log, task.writes, 0)
            keys = self.adopt(log, task.writes, "unseen")
            handed = tuple(row for _, writes in calls for row in self.rows(log, writes))
            kept = {row[1] for row in handed}
            dropped = tuple(key for key in keys if key not in kept)
            if dropped:
                self.dropped.update(write[0] for write in log.writes if log.keys.get(id(write)) in dropped)
            self.add(ev.Committed, log.id, log.name, outcome, tuple(keys), handed, dropped, where)
        except Exception as exc:
            self.recorder.fail("committed", exc)

    def rows(self, log: TaskLog, writes: Sequence[Write]) -> tuple[RowData, ...]:
        # commit, put_writes and the saver see the same tuples: the rows are made once.
        ids = [id(w) for w in writes]
        if ids == log.row_ids:
            return log.rows
        out: list[RowData] = []
        for write in writes:
            key = log.keys.get(id(write))
            if key is None:
                key = log.key_of(write)
            kept = self.recorder.snap(write[0], write[1]) if key is None else None
            out.append((write[0], key, kept, log.id))
        if all(row[1] is not None for row in out):  # else nothing holds the tuples, and their ids may be used again
            log.row_ids, log.rows = ids, tuple(out)
        return tuple(out)

    def handing(self, task_id: str, checkpoint: str, writes: Sequence[Write]) -> None:
        """The saver's put_writes is about to be called: keep what is needed to recognise the writes when it returns."""
        try:
            log = self.logs.get(task_id)
            if log is None:
                log = self.null
                self.recognise(writes)
            self.at_saver[task_id, checkpoint] = log, self.step
        except Exception as exc:
            self.recorder.fail("handing", exc)

    def recognise(self, writes: Iterable[Write]) -> None:
        """Let the null task know a node's own writes that are handed over in its name."""
        for write in writes:
            key = next((k for known in self.logs.values() if (k := known.key_of(write)) is not None), None)
            if key is not None and id(write) not in self.null.keys:
                self.null.add(write, key)

    @guarded
    def share(self, task: Any, writes: Sequence[Write]) -> None:
        """Let the null task know a task's writes by their keys: `hitl_lab.counterfactual` hands them to it."""
        log = self.logs[task.id]
        self.adopt(log, task.writes, "unseen")
        for write in writes:
            self.null.add(write, log.keys[id(write)])

    def put_writes(self, task_id: str, writes: Sequence[Write], checkpoint: str, to_saver: bool, cached: bool) -> None:
        try:
            log = self.logs.get(task_id)
            if log is None:
                log = self.null
                log.id = null_id(checkpoint)
            if cached:
                self.adopt(log, writes, "cache")
            elif log is self.null:
                regular = [w for w in writes if w[0] not in self.special]
                self.recognise(regular)
                self.adopt(log, regular, "command", fresh=True)
            rows = self.rows(log, writes)
            if rows:
                stored = [(row[0], row[1]) for row in rows if row[1] is not None]
                before = self.recorder.pending.get(log.id, [])
                if log is self.null or not stored:
                    stored = before + stored
                elif before:
                    self.recorder.replaced.setdefault(log.id, []).extend(before)
                self.recorder.pending[log.id] = stored
            shown = "" if log is self.null else log.id
            self.add(ev.PutWrites, shown, log.name, rows, checkpoint, to_saver, cached)
        except Exception as exc:
            self.recorder.fail("put_writes", exc)

    def saver_put_writes(
        self, task_id: str, writes: Sequence[Write], checkpoint: str | None, error: str | None
    ) -> None:
        try:
            log, step = self.at_saver.pop((task_id, checkpoint or ""), None) or (
                self.logs.get(task_id) or self.null,
                self.step,
            )
            rows = self.rows(log, writes)
            shown = "" if task_id == self.null_task else log.id
            self.add_at(step, ev.SaverPutWrites, shown, log.name, checkpoint, rows, error)
        except Exception as exc:
            self.recorder.fail("saver_put_writes", exc)

    def applied(
        self,
        where: str,
        checkpoint: str,
        tasks: Sequence[Any],
        channels: Mapping[str, Any],
        updated: Iterable[str] | None,
        via: str,
    ) -> None:
        try:
            keys: list[int] = []
            for task in tasks:
                if not task.writes:
                    continue
                log = self.logs.get(getattr(task, "id", ""))
                if log is None:
                    log = self.null
                    log.id, log.name = null_id(checkpoint), ""
                    keys += self.adopt(log, [w for w in task.writes if w[0] not in self.special], via)
                else:
                    keys += self.adopt(log, [w for w in task.writes if w[0] != self.result], "cache")
            self.add(ev.Applied, where, tuple(keys), self.changes(channels, updated))
        except Exception as exc:
            self.recorder.fail("applied", exc)

    @guarded
    def half_applied(self, where: str, channels: Mapping[str, Any], error: str) -> None:
        """`apply_writes` raised: what it had done by then stays done, and with durability "exit" it is saved."""
        changed = ", ".join(name for name, delta in self.changes(channels, None).items() if [] not in delta.values())
        if changed:
            self.recorder.note(
                f"apply_writes stopped half-way in {where}, after it had changed {changed}: {error}", self.run
            )

    def checkpoint(self, id: str, parent: str | None, source: str, to_saver: bool) -> None:
        try:
            known = parent if parent in self.known_checkpoints else None
            self.known_checkpoints.add(id)
            self.made_in[id] = self.step
            self.null = TaskLog("", "", None)
            self.add(ev.CheckpointCreated, id, known, source, to_saver)
        except Exception as exc:
            self.recorder.fail("checkpoint", exc)

    def saver_put(self, checkpoint: str, error: str | None) -> None:
        try:
            self.add_at(self.made_in.get(checkpoint, self.step), ev.SaverPut, checkpoint, error)
        except Exception as exc:
            self.recorder.fail("saver_put", exc)


_ABSENT = object()


def null_id(checkpoint: str) -> str:
    """Return the key under which the null task's rows of a checkpoint are remembered."""
    return f"null:{checkpoint}"


def _prints(state: Any) -> dict[str, tuple[int, Any]]:
    fields = state if type(state) is dict else getattr(state, "__dict__", None)
    if type(fields) is not dict:
        return {}
    return {k: (id(v), values.fingerprint(v)) for k, v in fields.items() if type(k) is str}


def _mutated(before: dict[str, tuple[int, Any]], state: Any) -> tuple[str, ...]:
    """Return the keys changed in place, and "key=" for those that were assigned anew on the state object."""
    now = _prints(state)
    if now == before:
        return ()
    out = []
    for key in {**before, **now}:
        old, new = before.get(key), now.get(key)
        if old == new:
            continue
        out.append(key if old is not None and new is not None and old[0] == new[0] else f"{key}=")
    return tuple(out)
