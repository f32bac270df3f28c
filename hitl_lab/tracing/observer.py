"""One observer a loop: turns what the seams see of a live loop into events. Knows tasks, writes and values, but no
LangGraph: the seams hand it plain arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import is_
from time import perf_counter
from typing import Any

from hitl_lab.tracing import events as ev
from hitl_lab.tracing import sources
from hitl_lab.tracing.channels import LEAST, Channels
from hitl_lab.tracing.raw import COMMITTED_AND_PUT, Head, Rows, new_write
from hitl_lab.tracing.recorder import Recorder
from hitl_lab.tracing.tasklog import Control, Handed, TaskLog, Write, fields_of, looks, mutated

InfoData = tuple[str, str, str, tuple[str, ...], bool, bool, Any, int | None]
"""The fields of an `events.TaskInfo`, in order; the last is a key of `sources`, see `raw.INFO`."""

# The kinds that a superstep has many of; their fields are told in order, see `raw.FIELDS`. There `put` is bound to
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
        null_task: str = "",
        result: str = "",
    ) -> None:
        self.recorder, self.run, self.ns, self.parent_task = recorder, run, ns, parent_task
        self.control = Control(special, is_control)
        self.head = Head(run, ns, self.control, frozenset())
        # Whether an event comes from the input or from a Command that stands in its place.
        self.given = "input"
        self.called = False  # whether tasks may give back what they were called for (the functional API)
        self.special, self.null_task, self.result = special, null_task, result
        self.dropped: set[str] = set()  # channels of the writes that commit did not hand on
        self.logs: dict[str, TaskLog] = {}
        self.null = TaskLog("", "", None)
        # What a saver's put_writes is storing: with durability "async" it may come back steps later.
        self.at_saver: dict[tuple[str, str], Handed] = {}
        # Checkpoint id -> the superstep that made it: a saver's put may come back steps later.
        self.made_in: dict[str, int | None] = {}
        self.channels = Channels(recorder, self.control)
        self.step: int | None = None
        self.started = False
        self.status = "done"
        self.error: str | None = None
        self.interrupts: tuple[ev.InterruptInfo, ...] = ()
        self.last_values: Any = None
        self.values_seen = False
        self.known_checkpoints: set[str] = set()

    def knows(self, untracked: frozenset[str]) -> None:
        """Take the names of the channels that no checkpoint holds."""
        self.head = self.head._replace(untracked=untracked)

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
        loaded = self.channels.read(channels)
        fields["values"] = {k: self.recorder.snap(k, v) for k, v in loaded.items()}
        fields["input"] = None if command is not None else self.recorder.snap_input(input)
        if made is ev.RunStarted:
            fields["command"] = command and {k: self.recorder.snap_input(v) for k, v in command.items()}
        if fields.get("checkpoint"):
            self.known_checkpoints.add(fields["checkpoint"])
        self.emit_outside(made, **fields)

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
        self.logs = {id: log for id, log in self.logs.items() if log.running and (log.rows or log.held)}
        self.last_values, self.null = None, TaskLog("", "", None)
        self.channels = Channels(self.recorder, self.control)

    # ------------------------------------------------------------ tasks

    def ticked(
        self,
        step: int,
        status: str,
        more: bool,
        tasks: tuple[Any, ...],
        logs: dict[str, TaskLog],
        loaded: Iterable[tuple[TaskLog, Iterable[Write]]],
    ) -> None:
        """Take the tasks of a superstep, a log for each by its id, and those that have writes already.

        tasks: the fields of one InfoData after the other; a tuple for each would be one more that is kept.
        """
        try:
            recorder, run = self.recorder, self.run
            self.step, self.logs, self.channels.parts = step, logs, {}
            for id in logs:
                recorder.run_of_task[id] = run
            for log, writes in loaded:
                self.adopt(log, writes, "reapplied")
            put = recorder.put
            put((TICKED, perf_counter(), self.head, step, tasks, status, more))
        except Exception as exc:
            self.recorder.fail("ticked", exc)

    def remember(self, id: str, name: str) -> TaskLog:
        """Open a log for a task that no tick of this observer planned."""
        log = self.logs[id] = TaskLog(id, name, None)
        return log

    @guarded
    def pushed(self, info: InfoData, log: TaskLog, writes: Collection[Write], parent: str, via: str) -> None:
        self.called = True
        if self.logs.get(log.id) is log:
            return
        self.logs[log.id] = log
        self.recorder.run_of_task[log.id] = self.run
        if writes:
            self.adopt(log, writes, "reapplied")
        told = ev.TaskInfo(*info[:-1], sources.by_key(info[-1]))
        self.emit(ev.TaskPushed, task=log.id, info=told, parent=parent, via=via)

    def adopt(self, log: TaskLog, writes: Iterable[Write], via: str, fresh: bool = False) -> list[int]:
        """Give keys to the writes that no send made: handed back from the saver, from the cache, from a Command.

        Rows saved by an earlier run of the same task keep the keys they had then; `fresh` ones never come from there.
        """
        stored: list[tuple[str, int]] | None = None
        keys: list[int] = []
        writes = list(writes)
        for write, known in zip(writes, log.keys_of(writes), strict=True):
            key = known
            if key is None:
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
        taken, put = self.channels.snap(channel, value), self.recorder.put
        put((WROTE, perf_counter(), self.head, self.step, log.id, log.name, key, channel, taken, via, None))

    def task_started(self, log: TaskLog, state: Any) -> None:
        try:
            if self.logs.get(log.id) is log:
                log.running = True
                recorder = self.recorder
                if recorder.mutations:
                    fields = state if type(state) is dict else fields_of(state)
                    if fields is not None:
                        fields = fields.copy()  # another thread may change it meanwhile
                        log.input = fields, looks(fields)
                put = recorder.put
                put((TASK_STARTED, perf_counter(), self.head, self.step, log.id, log.name))
        except Exception as exc:
            self.recorder.fail("task_started", exc)

    def sent(self, log: TaskLog, writes: Collection[Write], via: str, source: int | None) -> None:
        try:
            if self.logs.get(log.id) is not log:
                return
            recorder = self.recorder
            whole = recorder.redact is None
            rows = log.rows
            in_place = not log.held and len(log.live) == len(rows) + len(writes)
            if not in_place or (rows and log.live[0] is not log.first):
                self.look_for_retry(log, len(writes))
                in_place, rows = log.in_place(len(writes)), log.rows
            keys = (new_write(),) if len(writes) == 1 else tuple([new_write() for _ in writes])
            if in_place:
                if not rows and writes:
                    log.first = writes[0]
                log.rows = rows + keys
            else:
                for write, key in zip(writes, keys, strict=True):
                    log.add(write, key)
            for write, key in zip(writes, keys, strict=True):
                try:
                    channel, value = write
                except (TypeError, ValueError):  # no pair: LangGraph will say so
                    continue
                # None (what a branch writes) and numbers without a call.
                if whole and (value is None or (type(value) is int and LEAST <= value < -LEAST)):
                    taken = value
                else:
                    taken = self.channels.snap(channel, value)
                put = recorder.put  # anew: a listener may have stopped at the last one, and the recorder been closed
                put((WROTE, perf_counter(), self.head, self.step, log.id, log.name, key, channel, taken, via, source))
        except Exception as exc:
            self.recorder.fail("sent", exc)

    def look_for_retry(self, log: TaskLog, new: int = 0, why: str = "retry") -> None:
        """Tell that `task.writes` was emptied, if it was."""
        # run_with_retry does so before each attempt, and when a node is out of time; nothing else does.
        cleared = log.forget(new)
        if cleared:
            self.emit(ev.Retried, task=log.id, name=log.name, cleared=cleared, why=why)

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
        log: TaskLog,
        state: Any,
        outcome: str,
        error: str | None,
        interrupts: tuple[ev.InterruptInfo, ...],
        source: int | None,
    ) -> None:
        try:
            if self.logs.get(log.id) is not log:
                return
            if len(log.live) < len(log.rows) or log.held:
                self.look_for_retry(log, 0, "timeout" if error and error.startswith("NodeTimeoutError") else "retry")
            before = log.input
            changed = () if before is None else mutated(before, state)
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

    def handing(self, task_id: str, writes: Collection[Write], checkpoint: str, to_saver: bool, cached: bool) -> Handed:
        """Note that the loop's put_writes is called, before it does anything: the saver may come back meanwhile."""
        log = self.logs.get(task_id)
        rows: Rows | None = None
        try:
            if log is None:
                log, writes = self.null, list(writes)
                self.recognise(writes)
            elif writes is log.live and not log.held and len(writes) == len(log.rows):
                rows = log.rows
            else:
                writes = list(writes)
                rows = tuple(log.keys_of(writes, rebuilt=False))
                if None in rows:
                    rows = None
        except Exception as exc:
            self.recorder.fail("handing", exc)
        call: Handed = (log or self.null, rows, writes, checkpoint, self.step, to_saver, cached)
        if to_saver:
            self.at_saver[task_id, checkpoint] = call
        return call

    def committed(self, task: Any, outcome: str, calls: Sequence[Handed], where: int | None) -> None:
        """Take what `commit` did with a task, and then each of its calls of the loop's put_writes."""
        recorder = self.recorder
        try:
            log = self.logs.get(task.id)
            if log is not None:
                log.running = False
                if len(calls) == 1:
                    known, rows, writes, checkpoint, _, to_saver, cached = calls[0]
                    pending = recorder.pending
                    whole = rows and known is log and writes is log.live and len(writes) == len(rows)
                    if whole and log.id not in pending:  # all that it wrote went on, for the first time
                        pending[log.id] = rows
                        put = recorder.put
                        put(
                            (
                                COMMITTED_AND_PUT, perf_counter(), self.head, self.step,
                                log.id, log.name, outcome, rows, where, checkpoint, to_saver, cached,
                            )
                        )  # fmt: skip
                        return
                self.committed_in_part(log, task.writes, outcome, calls, where)
        except Exception as exc:
            recorder.fail("committed", exc)
        for call in calls:
            self.put_writes(call)

    def committed_in_part(
        self, log: TaskLog, now: Collection[Write], outcome: str, calls: Sequence[Handed], where: int | None
    ) -> None:
        self.look_for_retry(log)
        keys = tuple(self.adopt(log, now, "unseen"))
        handed = tuple(row for call in calls for row in self.rows(call))
        kept = {row if type(row) is int else row[1] for row in handed}
        # Who hands `task.writes` itself on drops nothing: what is missing was sent since, by a thread left behind.
        whole = any(call[2] is log.live for call in calls)
        dropped = () if whole else tuple(key for key in keys if key not in kept)
        if dropped:
            self.dropped.update(write[0] for write, key in log.pairs() if key in dropped)
        put = self.recorder.put
        told = (log.id, log.name, outcome, keys, handed, dropped, where)
        put((COMMITTED, perf_counter(), self.head, self.step, *told))

    def rows(self, call: Handed) -> Rows:
        """Return the rows of a call of put_writes."""
        log, rows, writes = call[:3]
        if rows is not None:
            return rows
        writes = list(writes)
        found = zip(writes, log.keys_of(writes), strict=True)
        snap = self.recorder.snap
        return tuple((w[0], key, snap(w[0], w[1]) if key is None else None, log.id) for w, key in found)

    def recognise(self, writes: Iterable[Write]) -> None:
        """Let the null task know a node's own writes that are handed over in its name."""
        for write in writes:
            if self.null.knows(write):
                continue
            key = next((known.key_of(write) for known in self.logs.values() if known.knows(write)), None)
            if key is not None:
                self.null.add(write, key)

    @guarded
    def share(self, task: Any, writes: Sequence[Write]) -> None:
        """Let the null task know a task's writes by their keys: `hitl_lab.counterfactual` hands them to it."""
        log = self.logs[task.id]
        self.adopt(log, task.writes, "unseen")
        for write in writes:
            if (key := log.key_of(write)) is not None:
                self.null.add(write, key)

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
        self, task_id: str, writes: Collection[Write], checkpoint: str | None, error: str | None, size: int
    ) -> None:
        """The saver's put_writes came back. size: how many writes there were when it was called."""
        try:
            call = self.at_saver.pop((task_id, checkpoint or ""), None)
            if call is None:  # a saver that is called by another way
                call = (self.logs.get(task_id) or self.null, None, writes, checkpoint or "", self.step, True, False)
            log, rows, known, _, step, _, _ = call
            # `task.writes` itself may have grown: a thread that a node left behind sends on, and the saver stores it.
            same = writes is known or all(map(is_, list(writes), list(known)))
            if rows is None or len(writes) != len(rows) or not same:
                # The loop gives the saver other tuples: without untracked ones, with the null task's earlier ones.
                told, rows = rows, self.rows((log, None, list(writes)[:size], "", step, True, False))
                if writes is known and told is not None:
                    # Which of them the saver has read nobody sees; what it has is known again by these.
                    self.recorder.pending[log.id] = log.keys()
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
            logs = self.logs
            for task in tasks:
                writes = task.writes
                if not writes:
                    continue
                log = logs.get(getattr(task, "id", ""))
                if log is None:
                    log = self.null
                    log.id, log.name = null_id(checkpoint), ""
                    keys += self.adopt(log, [w for w in writes if w[0] not in self.special], self.given)
                    continue
                if writes is log.live and not log.held and len(writes) == len(log.rows) and not self.called:
                    keys += log.rows
                    continue
                known = log.keys_of(writes, rebuilt=False)
                if self.called or None in known:
                    known = self.adopt(log, [w for w in writes if w[0] != self.result], "cache")
                keys += known
            changed = self.channels.changes(channels, updated)
            put = self.recorder.put
            put((APPLIED, perf_counter(), self.head, self.step, where, tuple(keys), changed))
        except Exception as exc:
            self.recorder.fail("applied", exc)

    @guarded
    def half_applied(self, where: str, channels: Mapping[str, Any], error: str) -> None:
        """`apply_writes` raised: what it had done by then stays done, and with durability "exit" it is saved."""
        changes = self.channels.changes(channels, None)
        changed = ", ".join(name for name, delta in changes.items() if [] not in delta.values())
        if changed:
            self.recorder.note(
                f"apply_writes stopped half-way in {where}, after it had changed {changed}: {error}", self.run
            )

    def checkpoint(self, id: str, parent: str | None, source: str, to_saver: bool) -> None:
        try:
            known = parent if parent in self.known_checkpoints else None
            self.known_checkpoints.add(id)
            self.made_in[id] = self.step
            if self.null.id or self.null.held:
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



def null_id(checkpoint: str) -> str:
    """Return the key under which the null task's rows of a checkpoint are remembered."""
    return f"null:{checkpoint}"
