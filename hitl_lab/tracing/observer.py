"""One observer a loop: turns what the seams see of a live loop into events. Knows tasks, writes and values, but no
LangGraph: the seams hand it plain arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from time import perf_counter
from typing import Any

from hitl_lab import values
from hitl_lab.tracing import events as ev
from hitl_lab.tracing import sources
from hitl_lab.tracing.recorder import Recorder, Rows, new_write
from hitl_lab.tracing.tasklog import Control, Handed, TaskLog, Write, held, mutated

InfoData = tuple[str, str, str, tuple[str, ...], bool, bool, Any, int | None]
"""The fields of an `events.TaskInfo`, in order; the last is a key of `sources`."""

# The kinds that a superstep has many of; their fields are told in order, see `recorder.FIELDS`. There `put` is bound to
# a name before it is called: Python 3.11 is slow to call through an attribute of an instance.
TICKED, TASK_STARTED, WROTE, TASK_ENDED = (made.kind for made in (ev.Ticked, ev.TaskStarted, ev.Wrote, ev.TaskEnded))
COMMITTED, PUT_WRITES, SAVER_PUT_WRITES = (made.kind for made in (ev.Committed, ev.PutWrites, ev.SaverPutWrites))
APPLIED, CHECKPOINT_CREATED, SAVER_PUT = (made.kind for made in (ev.Applied, ev.CheckpointCreated, ev.SaverPut))


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
        self.head = run, ns
        # Whether an event comes from the input or from a Command that stands in its place.
        self.given = "input"
        self.called = False  # whether tasks may give back what they were called for (the functional API)
        self.special, self.nothing, self.null_task, self.result = special, nothing, null_task, result
        self.control = Control(special, is_control)
        self.untracked: frozenset[str] = frozenset()
        self.dropped: set[str] = set()  # channels of the writes that commit did not hand on
        self.logs: dict[str, TaskLog] = {}
        self.null = TaskLog("", "", None)
        # What a saver's put_writes is storing: with durability "async" it may come back steps later.
        self.at_saver: dict[tuple[str, str], Handed] = {}
        # Checkpoint id -> the superstep that made it: a saver's put may come back steps later.
        self.made_in: dict[str, int | None] = {}
        self.before: dict[str, Any] = {}
        # What the lists written in this superstep hold, by id(): fingerprint and snapshot; the writes keep them alive.
        self.parts: dict[int, tuple[Any, dict[str, Any]]] = {}
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
            before = self.before.get(name, _ABSENT)
            if type(now) is not list:
                if now is not before:
                    atom = type(now) is int and _LEAST <= now < -_LEAST and self.recorder.redact is None
                    out[name] = {"set": now if atom else self.recorder.snap(name, now)}
                    self.before[name] = now
                continue
            delta = values.change(before, now, functools.partial(self.snap_again, name))
            if delta is not None:
                out[name] = delta
                self.before[name] = list(now)
        return out

    def snap_again(self, channel: str, value: Any) -> Any:
        """Return a snapshot that shares the items of a list with the writes they came from, unless they changed since.

        What a message list grows by is then looked through and kept once instead of twice.
        """
        parts = self.parts
        if not parts or type(value) is not list or len(value) > values.ITEMS_LIMIT or self.recorder.redact is not None:
            return self.recorder.snap(channel, value)
        out = []
        for item in value:
            known = parts.get(id(item))
            if known is not None and known[0] is not None and known[0] == values.whole_fingerprint(item):
                out.append(known[1])
            else:
                out.append(self.recorder.snap(channel, item))
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
        """Let go of everything live, but for what is still to come: the tasks of a graph that was cancelled are
        handed on, and the saver returns for them, after its loop was left.
        """
        self.logs = {id: log for id, log in self.logs.items() if log.running and log.writes}
        self.before, self.last_values, self.null, self.parts = {}, None, TaskLog("", "", None), {}

    # ------------------------------------------------------------ tasks

    def ticked(self, step: int, status: str, more: bool, tasks: Sequence[InfoData], live: Iterable[Any]) -> None:
        try:
            recorder, run = self.recorder, self.run
            self.step = step
            self.logs, self.parts = {}, {}
            for info, task in zip(tasks, live, strict=True):
                id = info[0]
                log = self.logs[id] = TaskLog(id, info[1], info[7])
                recorder.run_of_task[id] = run
                if task.writes:
                    self.adopt(log, task.writes, "reapplied")
            put = recorder.put
            put((TICKED, perf_counter(), self.head, step, tuple(tasks), status, more))
        except Exception as exc:
            self.recorder.fail("ticked", exc)

    def remember(self, id: str, name: str) -> TaskLog:
        """Open a log for a task that no tick of this observer planned."""
        log = self.logs[id] = TaskLog(id, name, None)
        return log

    @guarded
    def pushed(self, info: InfoData, task: Any, parent: str, via: str) -> None:
        self.called = True
        id = info[0]
        if id in self.logs:
            return
        log = self.logs[id] = TaskLog(id, info[1], info[7])
        self.recorder.run_of_task[id] = self.run
        if task.writes:
            self.adopt(log, task.writes, "reapplied")
        told = ev.TaskInfo(*info[:-1], sources.by_key(info[-1]))
        self.emit(ev.TaskPushed, task=id, info=told, parent=parent, via=via)

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
                    key = new_write()
                    self.tell_wrote(log, key, write, "loaded" if via == "reapplied" else via)
                log.add(write, key)
            keys.append(key)
        return keys

    def tell_wrote(self, log: TaskLog, key: int, write: Write, via: str) -> None:
        channel, value = write
        told = (log.id, log.name, key, channel, self.snap_parts(channel, value), via, self.control[channel], None)
        put = self.recorder.put
        put((WROTE, perf_counter(), self.head, self.step, *told, channel in self.untracked))

    def snap_parts(self, channel: str, value: Any) -> Any:
        """Return the snapshot of a write, and remember those of the items of a list, for `snap_again`."""
        taken = self.recorder.snap(channel, value)
        if type(taken) is list and type(value) is list and len(taken) == len(value):
            for item, part in zip(value, taken, strict=True):
                if type(part) is dict:
                    self.parts[id(item)] = values.whole_fingerprint(item), part
        return taken

    def task_started(self, task: Any) -> None:
        try:
            log = self.logs.get(task.id)
            if log is not None:
                log.running = True
                if self.recorder.mutations:
                    log.input = held(task.input)
                put = self.recorder.put
                put((TASK_STARTED, perf_counter(), self.head, self.step, log.id, log.name))
        except Exception as exc:
            self.recorder.fail("task_started", exc)

    def sent(self, task: Any, writes: Sequence[Write], via: str, source: int | None) -> None:
        try:
            log = self.logs.get(task.id)
            if log is None:
                return
            if len(task.writes) < len(log.writes) + len(writes):
                self.look_for_retry(log, task.writes, len(writes))
            if source is None:
                source = log.source
            for write in writes:
                channel, value = write
                if channel == self.nothing:
                    continue
                log.writes.append(write)
                log.keys[id(write)] = key = new_write()
                how, control = via, self.control[channel]
                if control and via == "return":
                    how = "branch"
                # None (what a branch writes) and numbers without a call.
                kind = type(value)
                if (value is None or (kind is int and _LEAST <= value < -_LEAST)) and self.recorder.redact is None:
                    taken = value
                else:
                    taken = self.snap_parts(channel, value)
                put = self.recorder.put
                put(
                    (
                        WROTE, perf_counter(), self.head, self.step,
                        log.id, log.name, key, channel, taken, how, control, source, channel in self.untracked,
                    )
                )  # fmt: skip
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
            self.emit(ev.Retried, task=log.id, name=log.name, cleared=gone, why=why)

    @guarded
    def interrupt_called(self, task: Any, index: int, value: Any, answered: bool, source: int | None) -> None:
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
    def side_effect(self, task: Any, label: str, via: str, source: int | None) -> None:
        self.emit(ev.SideEffect, task=task.id, name=task.name, label=label, via=via, source=source)

    def task_ended(
        self,
        task: Any,
        outcome: str,
        error: str | None,
        interrupts: tuple[ev.InterruptInfo, ...],
        source: int | None,
    ) -> None:
        try:
            log = self.logs.get(task.id)
            if log is None:
                return
            if len(task.writes) < len(log.writes):
                why = "timeout" if error and error.startswith("NodeTimeoutError") else "retry"
                self.look_for_retry(log, task.writes, 0, why)
            changed = mutated(log.input, task.input) if log.input is not None else ()
            log.input = None
            put = self.recorder.put
            put(
                (
                    TASK_ENDED, perf_counter(), self.head, self.step,
                    log.id, log.name, outcome, error, interrupts, changed, source,
                )
            )  # fmt: skip
        except Exception as exc:
            self.recorder.fail("task_ended", exc)

    # ------------------------------------------------------------ writes on their way

    def handing(self, task_id: str, writes: Sequence[Write], checkpoint: str, to_saver: bool, cached: bool) -> Handed:
        """Note that the loop's put_writes is called, before it does anything: the saver may come back meanwhile."""
        log = self.logs.get(task_id)
        rows: Rows | None = None
        try:
            if log is None:
                log = self.null
                self.recognise(writes)
            else:
                rows = tuple(map(log.keys.get, map(id, writes)))
                if None in rows:
                    rows = None
        except Exception as exc:
            self.recorder.fail("handing", exc)
        call: Handed = (log or self.null, rows, list(writes), checkpoint, self.step, to_saver, cached)
        if to_saver:
            self.at_saver[task_id, checkpoint] = call
        return call

    def committed(self, task: Any, outcome: str, calls: Sequence[Handed], where: int | None) -> None:
        try:
            log = self.logs.get(task.id)
            if log is None:
                return
            log.running = False
            now = task.writes
            if len(now) < len(log.writes):
                self.look_for_retry(log, now, 0)
            keys = tuple(map(log.keys.get, map(id, now)))
            dropped: tuple[int, ...] = ()
            if len(calls) == 1 and calls[0][1] == keys:
                handed = keys = calls[0][1]  # one object for both: the garbage collector counts them
            else:
                if None in keys:
                    keys = tuple(self.adopt(log, now, "unseen"))
                handed = tuple(row for call in calls for row in self.rows(call))
                kept = {row if type(row) is int else row[1] for row in handed}
                dropped = tuple(key for key in keys if key not in kept)
                if dropped:
                    self.dropped.update(write[0] for write in log.writes if log.keys.get(id(write)) in dropped)
            put = self.recorder.put
            put(
                (
                    COMMITTED, perf_counter(), self.head, self.step,
                    log.id, log.name, outcome, keys, handed, dropped, where,
                )
            )  # fmt: skip
        except Exception as exc:
            self.recorder.fail("committed", exc)

    def rows(self, call: Handed) -> Rows:
        """Return the rows of a call of put_writes."""
        log, rows, writes = call[:3]
        if rows is not None:
            return rows
        found = [(write, log.key_of(write)) for write in writes]
        snap = self.recorder.snap
        return tuple((w[0], key, snap(w[0], w[1]) if key is None else None, log.id) for w, key in found)

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

    def put_writes(self, call: Handed) -> None:
        try:
            log, rows, writes, checkpoint, _, to_saver, cached = call
            recorder, shown = self.recorder, log.id
            if log is self.null:
                log.id, shown = null_id(checkpoint), ""
                regular = [w for w in writes if w[0] not in self.special]
                self.recognise(regular)
                self.adopt(log, regular, "command", fresh=True)
            elif cached:
                self.adopt(log, writes, "cache")
            if rows is None:
                rows = self.rows(call)
            if rows:
                before = recorder.pending.get(log.id)
                if before is not None:
                    rows_alone = log is self.null or all(type(row) is tuple and row[1] is None for row in rows)
                    if not rows_alone:
                        recorder.replaced[log.id] = recorder.replaced.get(log.id, ()) + before
                    recorder.pending[log.id] = before + rows if rows_alone else rows
                else:
                    recorder.pending[log.id] = rows
            put = recorder.put
            put(
                (
                    PUT_WRITES, perf_counter(), self.head, self.step,
                    shown, log.name, rows, checkpoint, to_saver, cached,
                )
            )  # fmt: skip
        except Exception as exc:
            self.recorder.fail("put_writes", exc)

    def saver_put_writes(
        self, task_id: str, writes: Sequence[Write], checkpoint: str | None, error: str | None
    ) -> None:
        try:
            call = self.at_saver.pop((task_id, checkpoint or ""), None)
            if call is None:  # a saver that is called by another way
                call = (self.logs.get(task_id) or self.null, None, writes, checkpoint or "", self.step, True, False)
            log, rows, known, _, step, _, _ = call
            if rows is None or len(writes) != len(known) or not all(map(is_, writes, known)):
                # The loop gives the saver other tuples: without untracked ones, with the null task's earlier ones.
                rows = self.rows((log, None, list(writes), "", step, True, False))
            put = self.recorder.put
            put(
                (
                    SAVER_PUT_WRITES, perf_counter(), self.head, step,
                    "" if task_id == self.null_task else log.id, log.name, checkpoint, rows, error,
                )
            )  # fmt: skip
        except Exception as exc:
            self.recorder.fail("saver_put_writes", exc)

    def applied(
        self,
        where: str,
        checkpoint: str,
        tasks: Sequence[Any],
        channels: Mapping[str, Any],
        updated: Iterable[str] | None,
    ) -> None:
        try:
            keys: list[int] = []
            for task in tasks:
                writes = task.writes
                if not writes:
                    continue
                log = self.logs.get(getattr(task, "id", ""))
                if log is None:
                    log = self.null
                    log.id, log.name = null_id(checkpoint), ""
                    keys += self.adopt(log, [w for w in writes if w[0] not in self.special], self.given)
                    continue
                known = list(map(log.keys.get, map(id, writes)))
                if self.called or None in known:
                    known = self.adopt(log, [w for w in writes if w[0] != self.result], "cache")
                keys += known
            changed = self.changes(channels, updated)
            put = self.recorder.put
            put((APPLIED, perf_counter(), self.head, self.step, where, tuple(keys), changed))
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
            if self.null.id or self.null.writes:
                self.null = TaskLog("", "", None)
            put = self.recorder.put
            put((CHECKPOINT_CREATED, perf_counter(), self.head, self.step, id, known, source, to_saver))
        except Exception as exc:
            self.recorder.fail("checkpoint", exc)

    def saver_put(self, checkpoint: str, error: str | None) -> None:
        try:
            step = self.made_in.get(checkpoint, self.step)
            put = self.recorder.put
            put((SAVER_PUT, perf_counter(), self.head, step, checkpoint, error))
        except Exception as exc:
            self.recorder.fail("saver_put", exc)


_ABSENT = object()
_LEAST = -(2**63)


def null_id(checkpoint: str) -> str:
    """Return the key under which the null task's rows of a checkpoint are remembered."""
    return f"null:{checkpoint}"
