"""`record()`: collect the events of every run in a block of code, from any thread, numbered in order of arrival."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from hitl_lab import values
from hitl_lab.tracing.events import KINDS, Event, Noted, Row, Source, TaskInfo

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

# The fields that come as plain tuples, by class of event, and what is made of them.
_PARTS = {
    made: tuple(
        (name, part)
        for name, part in (("rows", Row), ("handed", Row), ("pending", Row), ("tasks", TaskInfo))
        if name in made.__dataclass_fields__
    )
    for made in KINDS.values()
}
# The order in which `add` takes the fields of an event.
FIELDS = {
    made: tuple(n for n in made.__dataclass_fields__ if n not in Event.__dataclass_fields__) for made in KINDS.values()
}


class _Named(dict):
    """The fields of an event by name, for the kinds that are rare."""


_write_keys = itertools.count(1)
_run_keys = itertools.count(1)


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
        # What happened, as (class, time, run, ns, step, *the fields that FIELDS names): an event object costs several
        # times as much, to make and to the garbage collector, so it is made when somebody asks. Appending to a list
        # needs no lock.
        self._raw: list[tuple[Any, ...] | None] = []
        self._events: list[Event] = []
        self.redact = redact
        self.on_event = on_event
        # Where the run's threads wait for a learner (hitl_lab.tracing.gates.Gates); None: they do not.
        self.gates: Any = None
        # The user's line that a run in another thread goes back to.
        self.caller: Source | None = None
        self.mutations = mutations
        self.rows = rows
        self.parent = parent
        self.sinks: list[Callable[[Event], None]] = []
        self.dead = False
        self.closed = False
        self.facts: dict[str, Any] = {}
        # task id -> the rows that stand for it as pending writes, so that a resume recognises them.
        self.pending: dict[str, list[tuple[str, int]]] = {}
        # task id -> rows it put earlier, from the oldest: a saver that has a row keeps it and ignores the new one.
        self.replaced: dict[str, list[tuple[str, int]]] = {}
        # write key -> its snapshot, so that a stored row is recognised by its value.
        self.taken: dict[int, Any] = {}
        # task id -> run key, for a subgraph whose config lost its caller's send.
        self.run_of_task: dict[str, int] = {}
        # Keys of the graph structures that an event has told already.
        self.shapes: set[str] = set()
        # What `hitl_lab.counterfactual` asks of the loops made in its block; None: LangGraph as it is.
        self.counterfactual: str | None = None
        self._lock = threading.Lock()
        self._start = time.perf_counter()

    def lineage(self) -> Iterator[Recorder]:
        """Yield this recorder and the enclosing ones, innermost first."""
        at: Recorder | None = self
        while at is not None:
            yield at
            at = at.parent

    def stored_rows(self, task: str) -> list[tuple[str, int]]:
        """Return the rows that a checkpointer may hold for a task: the newest in their order, then older ones."""
        return [*self.pending.get(task, ()), *reversed(self.replaced.get(task, ()))]

    def take(self, rows: list[tuple[str, int]], channel: str, value: Any) -> int | None:
        """Take the row of a stored write out of `rows` and return its key; None if it is none of them.

        The first row of the channel with the same value, else (a saver may give back another type) the first at all.
        """
        found = [row for row in rows if row[0] == channel]
        if not found:
            return None
        stored = self.snap(channel, value)
        found = [row for row in found if self.taken.get(row[1]) == stored] or found
        rows.remove(found[0])
        return found[0][1]

    def new_run(self) -> int:
        """Return a key for a call, unique in the process."""
        return next(_run_keys)

    def new_write(self) -> int:
        """Return a key for a write, unique in the process."""
        return next(_write_keys)

    @property
    def events(self) -> list[Event]:
        """The events so far, in order of arrival; made from what was noted since the last look."""
        if len(self._events) != len(self._raw):
            with self._lock:
                self._make(len(self._raw))
        return self._events

    def _make(self, upto: int) -> None:
        made, raw, start = self._events, self._raw, self._start
        for i in range(len(made), upto):
            cls, at, run, ns, step, *given = raw[i]  # type: ignore[misc]
            named = given and type(given[0]) is _Named
            fields = dict(given[0]) if named else dict(zip(FIELDS[cls], given, strict=False))
            for name, part in _PARTS[cls]:
                if name in fields:
                    fields[name] = tuple(x if type(x) is part else part(*x) for x in fields[name])
            made.append(cls(n=i + 1, t=at - start, run=run, ns=ns, step=step, **fields))
            raw[i] = None

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
        self.add((made, time.perf_counter(), run, ns, step, _Named(fields or {})))

    def add(self, raw: tuple[Any, ...]) -> None:
        """The same, for the events of which a superstep has many: (class, perf_counter(), run, ns, step, *FIELDS)."""
        if self.dead or self.closed:
            return
        if self.on_event is None and self.parent is None and not self.sinks:
            self._raw.append(raw)
            return
        if self.parent is not None:
            self.parent.add(raw)
        with self._lock:
            self._raw.append(raw)
            n = len(self._raw)
            self._make(n)
            event = self._events[n - 1]
            fault = self._tell_sinks(event) if self.sinks else None
        if fault is not None:
            self.note(f"A listener was removed: {fault}")
        if self.on_event is not None:
            try:
                self.on_event(event)
            except Exception as exc:
                self.on_event = None
                self.note(f"on_event was removed: it raised {values.error_text(exc)}")

    def _tell_sinks(self, event: Event) -> str | None:
        fault = None
        for sink in list(self.sinks):
            try:
                sink(event)
            except Exception as exc:
                self.sinks.remove(sink)
                fault = values.error_text(exc)
        return fault

    def fail(self, where: str, exc: BaseException) -> None:
        """Remove this recorder from the run after a fault of its own, and say so on the trace."""
        if self.dead:
            return
        text = f"The recorder stopped here: {where} failed with {values.error_text(exc)}. The graph went on unrecorded."
        with contextlib.suppress(Exception):
            self.note(text)
        self.dead = True
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
            recorder.sinks.append(writer.write)
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
            recorder.closed = True


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
