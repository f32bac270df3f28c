"""`record()`: collect the events of every run in a block of code, from any thread, numbered in order of arrival."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from hitl_lab import values
from hitl_lab._steady import collector_paused
from hitl_lab.tracing.events import Event, Noted, Source
from hitl_lab.tracing.raw import Maker, Raw, Rows, by_name

if TYPE_CHECKING:
    from hitl_lab.trace import Trace


class _Current:
    """The recorder of the running context; else the one that `hitl_lab.watch()` made for the whole process."""

    __slots__ = ("_here", "everywhere")

    def __init__(self) -> None:
        self._here: contextvars.ContextVar[Recorder | None] = contextvars.ContextVar("hitl_lab_recorder", default=None)
        self.everywhere: Recorder | None = None

    def get(self) -> Recorder | None:
        here = self._here.get()
        # A thread that outlives its record() block still carries that recorder.
        return self.everywhere if here is None or here.closed else here

    def set(self, recorder: Recorder | None) -> contextvars.Token[Recorder | None]:
        return self._here.set(recorder)

    def reset(self, token: contextvars.Token[Recorder | None]) -> None:
        self._here.reset(token)


CURRENT = _Current()
"""The recorder of the running context. Read only where a loop is constructed or an update begins: later hooks run in
done-callbacks and pool threads where it is not visible, so they hold the recorder as an attribute."""

_run_keys = itertools.count(1)


def _nothing(raw: Raw) -> None:
    """Stand for `Recorder.put` once the recorder has failed or was closed."""


class Recorder:
    """Collects events. One a `record()` block; safe to use from any thread.

    redact: called with (channel, value) for each channel value before it is kept; what it returns is kept instead.
    on_event: called with each event after it is stored, outside the lock, so it may block (the live executor does).
    mutations: look for state that a node changes in place (a few microseconds a task).
    rows: after each run and update, count the thread's rows in the database, over a connection of its own.
    parent: the recorder of an enclosing `record()`, which gets every event too.
    """

    def __init__(
        self,
        *,
        redact: values.Redact | None = None,
        on_event: Callable[[Event], None] | None = None,
        mutations: bool = True,
        rows: bool = False,
        parent: Recorder | None = None,
    ) -> None:
        # The raw events that no event was made of yet, one after the other in one flat list: a tuple kept for each
        # would be one more object for the garbage collector to count. Extending a list by a tuple needs no lock.
        self._raw: list[Any] = []
        self.redact = redact
        self._on_event = on_event
        # Where the run's threads wait for a learner (hitl_lab.tracing.gates.Gates); None: they do not.
        self.gates: Any = None
        # The user's line that a run in another thread goes back to.
        self.caller: Source | None = None
        self.mutations = mutations
        self.rows = rows
        self.parent = parent
        self._sinks: list[Callable[[Event], None]] = []
        self._dead = self._closed = False
        self.facts: dict[str, Any] = {}
        # task id -> the rows that stand for it as pending writes, so that a resume recognises them.
        self.pending: dict[str, Rows] = {}
        # task id -> rows it put earlier, from the oldest: a saver that has a row keeps it and ignores the new one.
        self.replaced: dict[str, Rows] = {}
        # task id -> run key, for a subgraph whose config lost its caller's send.
        self.run_of_task: dict[str, int] = {}
        # thread id -> the savers in memory that have a thread of that id, from the first.
        self._stores: dict[str, list[weakref.ref[Any]]] = {}
        # Keys of the graph structures that an event has told already.
        self.shapes: set[str] = set()
        # What `hitl_lab.counterfactual` asks of the loops made in its block; None: LangGraph as it is.
        self.counterfactual: str | None = None
        self._lock = threading.Lock()
        self._made = Maker(time.perf_counter())
        self._choose()

    def _choose(self) -> None:
        listened = self._on_event is not None or self.parent is not None or self._sinks
        self.put: Callable[[Raw], None] = self._raw.extend if not listened else self._put
        if self._dead or self._closed:
            self.put = _nothing

    @property
    def on_event(self) -> Callable[[Event], None] | None:
        """Who is called with each event."""
        return self._on_event

    @on_event.setter
    def on_event(self, listener: Callable[[Event], None] | None) -> None:
        self._on_event = listener
        self._choose()

    def add_sink(self, sink: Callable[[Event], None]) -> None:
        """Call `sink` with each event too, under the lock, in their order; one that raises is removed."""
        self._sinks.append(sink)
        self._choose()

    @property
    def dead(self) -> bool:
        """Whether it failed and records nothing any more."""
        return self._dead

    @property
    def closed(self) -> bool:
        """Whether its block is over; it records nothing any more."""
        return self._closed

    def close(self) -> None:
        """Record nothing any more."""
        self._closed = True
        self._choose()

    def lineage(self) -> Iterator[Recorder]:
        """Yield this recorder and the enclosing ones, innermost first."""
        at: Recorder | None = self
        while at is not None:
            yield at
            at = at.parent

    def stored_rows(self, task: str) -> list[tuple[str, int]]:
        """Return the rows that a checkpointer may hold for a task: the newest in their order, then older ones."""
        rows = [*self.pending.get(task, ()), *reversed(self.replaced.get(task, ()))]
        keys = [key for row in rows if (key := row if type(row) is int else row[1]) is not None]
        if keys:
            self._make_all()
        return [(known.channel, key) for key in keys if (known := self._made.writes.get(key)) is not None]

    def take(self, rows: list[tuple[str, int]], channel: str, value: Any) -> int | None:
        """Take the row of a stored write out of `rows` and return its key; None if it is none of them.

        The first row of the channel with the same value, else (a saver may give back another type) the first at all.
        """
        found = [row for row in rows if row[0] == channel]
        if not found:
            return None
        if len(found) > 1:
            stored = self.snap(channel, value)
            found = [row for row in found if self._made.writes[row[1]].value == stored] or found
        rows.remove(found[0])
        return found[0][1]

    def thread_name(self, saver: Any, thread: Any) -> str | None:
        """Return what the events call a thread: its id, and in which saver if an earlier one has another of that id.

        Two savers in memory (LangGraph's InMemorySaver keeps all in its `storage`) share nothing; others may stand for
        one database, so the same id is the same thread there.
        """
        if thread is None:
            return None
        if not isinstance(getattr(saver, "storage", None), dict):
            return str(thread)
        *_, root = self.lineage()
        known = root._stores.setdefault(str(thread), [])
        at = next((i for i, ref in enumerate(known) if ref() is saver), None)
        if at is None:
            at = len(known)
            known.append(weakref.ref(saver))
        return str(thread) if at == 0 else f"{thread} in saver {at + 1}"

    def new_run(self) -> int:
        """Return a key for a call, unique in the process."""
        return next(_run_keys)

    @property
    def events(self) -> list[Event]:
        """The events so far, in order of arrival; made from what was noted since the last look."""
        self._make_all()
        return self._made.events

    def _make_all(self) -> None:
        if self._raw:
            with self._lock, collector_paused():
                self._made.make(self._raw)

    def emit(
        self,
        made: type[Event],
        run: int = 0,
        ns: tuple[str, ...] = (),
        step: int | None = None,
        fields: dict[str, Any] | None = None,
    ) -> None:
        """Store an event and tell who listens. Does nothing once the recorder has failed or was closed.

        fields: the event's own fields, kept as they are, so the caller must not change them; rows may be plain tuples.
        """
        self.put((by_name(made.kind), time.perf_counter(), (run, ns), step, fields or {}))

    def _put(self, raw: Raw) -> None:
        """Stand for `put` while somebody listens; when nobody does, that is the bare `extend` of a list."""
        if self.parent is not None:
            self.parent.put(raw)
        with self._lock:
            known = len(self._made.events)
            self._raw.extend(raw)
            self._made.make(self._raw)
            new = self._made.events[known:]
            faults = [fault for event in new if self._sinks and (fault := self._tell_sinks(event)) is not None]
        for fault in faults:
            self.note(f"A listener was removed: {fault}")
        for event in new:
            if self._on_event is None:
                break
            try:
                self._on_event(event)
            except Exception as exc:
                self.on_event = None
                self.note(f"on_event was removed: it raised {values.error_text(exc)}")

    def _tell_sinks(self, event: Event) -> str | None:
        fault = None
        for sink in list(self._sinks):
            try:
                sink(event)
            except Exception as exc:
                self._sinks.remove(sink)
                fault = values.error_text(exc)
        return fault

    def fail(self, where: str, exc: BaseException) -> None:
        """Remove this recorder from the run after a fault of its own, and say so on the trace."""
        if self._dead:
            return
        text = f"The recorder stopped here: {where} failed with {values.error_text(exc)}. The graph went on unrecorded."
        with contextlib.suppress(Exception):
            self.note(text)
        self._dead = True
        self._choose()
        if self.parent is not None:
            self.parent.fail(where, exc)

    def note(self, text: str, run: int = 0) -> None:
        """Put a word to the reader on the trace."""
        self.emit(Noted, run, fields={"text": text})

    def snap(self, channel: str, value: Any) -> Any:
        """Return the snapshot of one channel's value, after `redact`."""
        if self.redact is not None:
            try:
                value = self.redact(channel, value)
            except Exception as exc:
                return {"$": "repr", "type": "redact", "text": f"<hidden: redact raised {type(exc).__name__}>"}
        return values.snapshot(value)

    def snap_input(self, value: Any) -> Any:
        """Return the snapshot of a run's input; each key of a dict goes through `redact` under its own name."""
        if self.redact is None:
            return values.snapshot(value)
        if isinstance(value, dict):
            return {str(k): self.snap(str(k), v) for k, v in value.items()}
        return self.snap("__input__", value)


@contextlib.contextmanager
def record(
    *,
    redact: values.Redact | None = None,
    mutations: bool = True,
    rows: bool = False,
    file: str | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Iterator[Trace]:
    """Record every LangGraph run of the enclosed code: invoke, stream, ainvoke, astream, update_state, subgraphs.

    The code inside stays unchanged, sync or async; runs in other threads or tasks that were not started from it are
    untouched. May be nested: the outer trace then holds the inner's events too.

    Args:
        redact: (channel, value) -> value to keep, to hide secrets; default keeps all.
        mutations: also tell state that a node changed in place; default True.
        rows: after each run and update, count the rows that stand in the checkpointer's database, over a connection of
            its own, so that what is counted is committed; default False, for it connects each time.
        file: path of a JSON Lines trace file, written event by event as they happen; default none.
        on_event: called with each event as it happens; if it raises, the recorder is removed and the graph goes on.

    Yields:
        Trace: readable at any time, complete when the block is left.

    Raises:
        UnsupportedLangGraph: before anything runs, naming the installed version, the range, the missing name.

    Source: the seams in `hitl_lab.tracing.seams`.
    """
    from hitl_lab.trace import Trace, TraceWriter

    recorder = make_recorder(redact=redact, mutations=mutations, rows=rows, on_event=on_event)
    with contextlib.ExitStack() as stack:
        if file is not None:
            writer = stack.enter_context(TraceWriter(file, recorder.facts))
            recorder.add_sink(writer.write)
        stack.enter_context(recording(recorder))
        try:
            yield Trace(recorder=recorder)
        except BaseException as exc:
            recorder.note(f"The recorded code ended with {values.error_text(exc)}.")
            raise


def make_recorder(redact: values.Redact | None = None, **options: Any) -> Recorder:
    """Return a recorder under the one of this context, if any. Raises UnsupportedLangGraph."""
    from hitl_lab.tracing import seams

    seams.check()
    parent = CURRENT.get()
    recorder = Recorder(redact=_both(redact, parent), parent=parent, **options)
    recorder.facts = seams.facts()
    return recorder


@contextlib.contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Give the runs of the enclosed code to a recorder; it is closed at the end."""
    from hitl_lab.tracing import seams

    with seams.installed(), _current(recorder):
        try:
            yield
        finally:
            recorder.close()


def _both(redact: values.Redact | None, parent: Recorder | None) -> values.Redact | None:
    # An outer trace gets the inner's snapshots, so what it hides must be hidden in them already.
    outer = parent.redact if parent is not None else None
    if redact is None or outer is None:
        return redact or outer
    return lambda channel, value: redact(channel, outer(channel, value))


@contextlib.contextmanager
def _current(recorder: Recorder | None) -> Iterator[None]:
    before = CURRENT.get()
    token = CURRENT.set(recorder)
    try:
        yield
    finally:
        try:
            CURRENT.reset(token)
        except ValueError:
            # An async generator or fixture may leave the block in another context than it entered it.
            CURRENT.set(before)
