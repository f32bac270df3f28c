"""What the checkpointer gives back, read over LangGraph's public API, and `update_state` as a step of its own.

Each piece is a generator that asks for reads: it yields (object, method name, arguments) and is sent the result.
`drive` answers with the sync method, `adrive` with its async twin (`get_state`/`aget_state`), so that both kinds of
graph run the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from hitl_lab import values
from hitl_lab.tracing import events as ev
from hitl_lab.tracing import shapes
from hitl_lab.tracing.observer import LoopObserver, null_id
from hitl_lab.tracing.recorder import Recorder

Reads = Generator[tuple[Any, str, tuple[Any, ...]], Any, Any]


def drive(reads: Reads) -> Any:
    """Run a generator of reads with the sync methods; return what it returns."""
    return _run(reads, lambda target, name, args: getattr(target, name)(*args))


def _run(reads: Reads, answer: Callable[[Any, str, tuple[Any, ...]], Any]) -> Any:
    try:
        ask = next(reads)
        while True:
            try:
                got = answer(*ask)
            except Exception as exc:
                ask = reads.throw(exc)
            else:
                ask = reads.send(got)
    except StopIteration as done:
        return done.value


async def adrive(reads: Reads) -> Any:
    """Run a generator of reads with the async methods; return what it returns."""
    try:
        ask = next(reads)
        while True:
            target, name, args = ask
            try:
                got = await getattr(target, f"a{name}")(*args)
            except Exception as exc:
                ask = reads.throw(exc)
            else:
                ask = reads.send(got)
    except StopIteration as done:
        return done.value


def head_config(config: Any, keep: str | None = None, ns: str = "") -> dict[str, Any]:
    """Return the config with which get_state() reads the head of a thread, live.

    keep: the one internal key to pass on (a checkpointer given by config). ns: the checkpoint namespace.
    """
    conf = (config or {}).get("configurable", {})
    kept = {k: v for k, v in conf.items() if not str(k).startswith("__pregel") or k == keep}
    for gone in ("checkpoint_id", "checkpoint_map", "checkpoint_ns"):
        kept.pop(gone, None)
    if ns:
        kept["checkpoint_ns"] = ns
    return {"configurable": kept}


def checkpoint_id(config: Any) -> str | None:
    """Return the checkpoint id a config names, None if none."""
    return (config or {}).get("configurable", {}).get("checkpoint_id")


class _Watched:
    """Stands for a saver while get_state() reads, and keeps the checkpoint that it was given.

    To read a thread of 1,000 messages a second time, for its stored writes, rebuilds all of them: 12 microseconds each.
    """

    def __init__(self, saver: Any) -> None:
        self._saver = saver
        self.found: Any = None

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # LangGraph asks whether it is a saver
        return type(self._saver)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._saver, name)

    def get_tuple(self, config: Any) -> Any:
        self.found = self._saver.get_tuple(config)
        return self.found

    async def aget_tuple(self, config: Any) -> Any:
        self.found = await self._saver.aget_tuple(config)
        return self.found


def read_state(graph: Any, saver: Any, config: Any, key: str | None = None) -> Reads:
    """Read the live state and the stored writes: (StateSnapshot or None, CheckpointTuple or None, error text or None).

    A state that cannot be read (two pending writes for a channel that takes one) still has stored writes.
    key: LangGraph's key of a saver in a config, to read once where that is enough.
    """
    state, error, watched = None, None, None
    conf = (config or {}).get("configurable", {})
    # With a namespace, a saver in the config would mean another graph.
    if key and saver is not None and not conf.get("checkpoint_ns") and saver is (conf.get(key) or graph.checkpointer):
        watched = _Watched(saver)
        config = {**(config or {}), "configurable": {**conf, key: watched}}
    try:
        state = yield graph, "get_state", (config,)
        if state.metadata is None:
            return state, None, None
    except Exception as exc:
        error = values.error_text(exc)
    if saver is None:
        return state, None, error
    found = watched.found if watched is not None else None
    # Pending writes have been applied to the state: a reducer may have changed them, and what they were added to.
    if state is not None and found is not None and not found.pending_writes:
        return state, found, error
    try:
        at = state.config if state is not None else stored_config(graph, config)
        return state, (yield saver, "get_tuple", (at,)), error
    except Exception as exc:
        return None, None, error or values.error_text(exc)


def stored_config(graph: Any, config: Any) -> dict[str, Any]:
    """Return the config with which the saver itself is asked for the checkpoint that get_state(config) reads."""
    conf = {**(getattr(graph, "config", None) or {}).get("configurable", {}), **(config or {}).get("configurable", {})}
    kept = {k: v for k, v in conf.items() if not str(k).startswith("__pregel") and k != "checkpoint_map"}
    return {"configurable": {"checkpoint_ns": "", **kept}}


def read_rows(recorder: Recorder, saver: Any, thread: Any, head: Any) -> Reads:
    """Read the rows of a thread: {"database", "committed", "tables": counts, "head": channels of the writes stored at
    the newest checkpoint}, or {"error": text}; {} unless the recorder was asked for rows.
    """
    if saver is None or not any(each.rows for each in recorder.lineage()):
        return {}
    from hitl_lab import stored

    try:
        found = yield stored, "stored_rows", (saver, None if thread is None else str(thread))
    except Exception as exc:
        return {"error": values.error_text(exc)}
    at = checkpoint_id(head)
    head_rows = [row for point in found.checkpoints if point.checkpoint == at for row in found.at(point)]
    return {
        "database": found.database,
        "committed": found.committed,
        "tables": dict(found.tables),
        "head": [row.channel for row in head_rows],
    }


def state_fields(observer: LoopObserver, state: Any, tuple_: Any) -> dict[str, Any]:
    """Return the fields of a StateRead event."""
    snap = observer.recorder.snap
    shown = state.values if isinstance(state.values, dict) else {"__root__": state.values}
    asked = tuple(
        ev.InterruptInfo(str(i.id), snap("__interrupt__", i.value), t.id, t.name)
        for t in state.tasks
        for i in t.interrupts
    )
    return {
        "checkpoint": checkpoint_id(state.config),
        "values": {str(k): snap(str(k), v) for k, v in shown.items()},
        "next": tuple(state.next),
        "interrupts": asked,
        "pending": pending_rows(observer, tuple_),
        "planned": tuple(t.id for t in state.tasks),
    }


def pending_rows(observer: LoopObserver, tuple_: Any) -> tuple[ev.Row, ...]:
    """Return the writes stored at a checkpoint (a CheckpointTuple), each with its key if this trace saw it written."""
    if tuple_ is None:
        return ()
    recorder, known = observer.recorder, {}
    out = []
    for tid, channel, value in tuple_.pending_writes or ():
        null = str(tid) == observer.null_task
        name = null_id(tuple_.checkpoint["id"]) if null else str(tid)
        if name not in known:
            known[name] = recorder.stored_rows(name)
        key = recorder.take(known[name], channel, value)
        kept = recorder.snap(channel, value) if key is None else None
        out.append(ev.Row(channel, key, kept, "" if null else str(tid)))
    return tuple(out)


def tell_state(observer: LoopObserver, saver: Any, thread: Any, state: Any, tuple_: Any, error: str | None) -> Reads:
    """Emit what was read back, or why it could not be read."""
    stored = yield from read_rows(observer.recorder, saver, thread, state.config if state is not None else None)
    if state is None:
        fields: dict[str, Any] = {"error": error or "nothing is stored", "pending": pending_rows(observer, tuple_)}
        fields["checkpoint"] = checkpoint_id(tuple_.config) if tuple_ is not None else None
    else:
        fields = state_fields(observer, state, tuple_)
    name = observer.recorder.thread_name(saver, thread)
    observer.emit_outside(ev.StateRead, thread=name, stored=stored, **fields)


def phantoms(observer: LoopObserver, state: Any, tuple_: Any) -> tuple[str, ...]:
    """Return the channels whose returned value is in no checkpoint and no stored write."""
    shown = observer.last_values
    if state is None or not isinstance(shown, dict) or not isinstance(state.values, dict):
        return ()
    saved = state.values
    differ = [
        k for k, v in shown.items() if k not in observer.special and not (k in saved and values.same(v, saved[k]))
    ]
    # get_state() leaves out what a task started by goto wrote, but the checkpointer has it: no phantom.
    planned = {t.id for t in state.tasks}
    hidden = {row[1] for row in (tuple_.pending_writes or () if tuple_ is not None else ()) if row[0] not in planned}
    return tuple(
        str(k)
        for k in differ
        if k in observer.dropped or not (k in hidden or (k in saved and _same_but_ids(shown[k], saved[k])))
    )


def _same_but_ids(shown: Any, saved: Any) -> bool:
    """Whether two lists of messages differ only in ids: a pending message without one gets a new one at each read."""

    def bare(message: Any) -> Any:
        fields = dict(values.named_fields(message) or ())
        return type(message).__name__, values.snapshot({k: v for k, v in fields.items() if k != "id"})

    if not isinstance(shown, list) or not isinstance(saved, list) or len(shown) != len(saved):
        return False
    return all(
        values.same(a, b) or (hasattr(a, "id") and bare(a) == bare(b)) for a, b in zip(shown, saved, strict=True)
    )


class Update:
    """One call of update_state: what stood there before, what was applied, what stands there now."""

    def __init__(
        self,
        observer: LoopObserver,
        graph: Any,
        saver: Any,
        config: Any,
        supersteps: Sequence[Sequence[Any]],
        action: str,
        source: ev.Source | None,
        keep: str | None = None,
    ) -> None:
        self.keep = keep
        self.observer, self.graph, self.saver, self.config, self.action = observer, graph, saver, config, action
        self.recorder: Recorder = observer.recorder
        self.updates = [update for step in supersteps or () for update in step]
        self.source = source
        self.thread = (config or {}).get("configurable", {}).get("thread_id")
        self.before: str | None = None
        self.nodes: list[str] = []
        self.keys: list[int] = []

    def begin(self) -> Reads:
        """Read what stands there and emit UpdateStarted."""
        state, tuple_, _ = yield from read_state(self.graph, self.saver, self.config, self.keep)
        pending, addressed = pending_rows(self.observer, tuple_), bool(checkpoint_id(self.config))
        if addressed:
            # That was the record view: it shows a question again that was answered since.
            at = (self.config or {}).get("configurable", {}).get("checkpoint_ns", "")
            state, *_ = yield from read_state(self.graph, None, head_config(self.config, self.keep, at))
        fields = state_fields(self.observer, state, None) if state is not None and tuple_ is not None else {}
        self.before = checkpoint_id(tuple_.config) if tuple_ is not None else None
        told = [self.recorder.snap_input(update[0]) for update in self.updates]
        one = len(told) == 1
        self.observer.emit(
            ev.UpdateStarted,
            action=self.action,
            thread=self.recorder.thread_name(self.saver, self.thread),
            values=told[0] if one else told,
            as_node=self.updates[0][1] if one else None,
            before=self.before,
            addressed=addressed,
            pending=pending,
            interrupts=fields.get("interrupts", ()),
            next=fields.get("next", ()),
            graph=getattr(self.graph, "name", "") or "",
            saver=type(self.saver).__name__ if self.saver is not None else None,
            source=self.source,
            shape=shapes.shape_of(self.recorder, self.graph),
        )

    def applied(self, tasks: Sequence[Any], channels: Any, updated: Any) -> None:
        """Emit the writes that `apply_writes` took: the update's own, and stored ones that it takes along."""
        observer = self.observer
        keys: list[int] = []
        for task in tasks:
            if not task.writes:
                continue
            if getattr(task, "id", None):
                log = observer.logs.get(task.id) or observer.remember(task.id, task.name)
                keys += observer.adopt(log, task.writes, "reapplied")
                continue
            log = observer.null
            regular = [w for w in task.writes if w[0] not in observer.special]
            if task.name == "__input__" and self.before and not self.nodes and self.stored_null(regular):
                log.id, log.name = null_id(self.before), ""
                keys += observer.adopt(log, regular, "reapplied")
                continue
            self.nodes.append(task.name)
            log.id, log.name = f"update:{observer.run}", task.name
            keys += observer.adopt(log, regular, "update_state")
        self.keys += keys
        changed = observer.channels.changes(channels, updated)
        observer.emit(ev.Applied, where="update_state", writes=tuple(keys), changes=changed)

    def stored_null(self, writes: Sequence[Any]) -> bool:
        stored = [row[0] for row in self.recorder.stored_rows(null_id(self.before or ""))]
        return bool(stored) and [w[0] for w in writes] == stored

    def finish(self, config: Any) -> Reads:
        """Emit the new checkpoints and what stands there now; `config` is what update_state returned."""
        observer = self.observer
        made, source = yield from self.new_checkpoints(config)
        parent = self.before
        for id in made:
            observer.emit(ev.CheckpointCreated, checkpoint=id, parent=parent, source=source)
            observer.emit(ev.SaverPut, checkpoint=id)
            parent = id
        observer.emit(
            ev.StateUpdated,
            action=self.action,
            nodes=tuple(self.nodes),
            writes=tuple(self.keys),
            before=self.before,
            checkpoint=made[-1] if made else None,
        )
        at = (self.config or {}).get("configurable", {}).get("checkpoint_ns", "")
        head = head_config(self.config, self.keep, at)
        state, tuple_, error = yield from read_state(self.graph, self.saver, head, self.keep)
        yield from tell_state(observer, self.saver, self.thread, state, tuple_, error)
        observer.forget()

    def new_checkpoints(self, config: Any) -> Reads:
        """Return the ids of the checkpoints the update made, oldest first, and the source of the last."""
        last = checkpoint_id(config)
        made: list[str] = []
        source = "update"
        at = config
        try:
            for i in range(2 * len(self.updates) + 1):
                # Ids grow with time, and a copy (as_node="__copy__") has the parent of what it copies.
                if self.saver is None or at is None or (checkpoint_id(at) or "") <= (self.before or ""):
                    break
                found = yield self.saver, "get_tuple", (plain_config(at),)
                if found is None:
                    break
                if i == 0:
                    source = str(found.metadata.get("source", source))
                made.insert(0, checkpoint_id(found.config) or "")
                at = found.parent_config
        except Exception as exc:
            self.recorder.note(f"The checkpoints of {self.action} could not be read: {values.error_text(exc)}")
        return (made or ([last] if last else [])), source

    def failed(self, exc: BaseException) -> None:
        """Emit that update_state raised; the exception itself goes on to the caller."""
        self.observer.emit(ev.StateUpdated, action=self.action, before=self.before, error=values.error_text(exc))


def plain_config(config: Any) -> dict[str, Any]:
    """Return a config with the keys a saver reads, no internal ones."""
    conf = config.get("configurable", {})
    return {
        "configurable": {k: v for k, v in conf.items() if not str(k).startswith("__pregel") and k != "checkpoint_map"}
    }
