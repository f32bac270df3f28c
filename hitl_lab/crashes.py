"""`crash()`: run a graph in another process, kill it at a chosen point, and see what stands in the database.

Nothing here is predicted: the process dies by `os._exit`, the rows are read over a connection of their own, and the
resume is a real one, by a fresh graph on a fresh checkpointer.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hitl_lab import _child, savers, values
from hitl_lab.errors import HitlLabError
from hitl_lab.stitching import stitch
from hitl_lab.stored import StoredRows, stored_rows
from hitl_lab.trace import Trace
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import show

POINTS: dict[str, str] = {
    "in_node": "in the node that asks",
    "after_node": "after the node that asks, before commit",
    "commit": "after the commit of the question",
    "put_writes": "after the saver's put_writes of the question",
    "put": "after the saver's first put",
    "interrupt_chunk": "at the stream's interrupt chunk",
    "returned": "after invoke returned",
}
_AT_NODE = {
    "in_node": "before {} runs",
    "after_node": "after {}, before commit",
    "commit": "after the commit of {}",
    "put_writes": "after the saver's put_writes of {}",
    "put": "after the saver's put of what {} wrote",
}
"""Where a process can be killed. The first five take a node: "put:attach" is the put of the checkpoint made after
`attach`, "in_node:attach" the moment before its function runs. Without a node they mean the one that asks ("put": the
first put of the run). In `in_node` the one that asks is killed at its call of interrupt()."""

DURABILITIES = ("sync", "async", "exit")


class NoSuchPoint(HitlLabError, ValueError):
    """A point at which a process cannot be killed."""


@dataclass(frozen=True)
class Survivor:
    """One write the killed process made, and where it stands now.

    place: "checkpoint" (in a saved checkpoint's channel values), "pending" (a row of its task at a saved checkpoint),
    "adrift" (a row at a checkpoint that was not saved, where nobody finds it), or "gone".
    """

    node: str
    channel: str
    value: Any
    place: str

    def __str__(self) -> str:
        return f"{self.node} wrote {self.channel} = {show(self.value, 60)}: {self.place}"


@dataclass(frozen=True, repr=False)
class Crash:
    """What one killed process left, and what a resume did with it.

    at, saver, durability: as given. reached: the run came to the point (else it finished). killed: the trace of the
    process up to its death. rows: what stood in the database then. question, next: what get_state() then said waits
    and would run. resumed: the trace of the resume. error: what the resume raised, None if nothing.
    """

    at: str
    saver: str
    durability: str
    reached: bool
    killed: Trace
    rows: StoredRows
    question: bool
    next: tuple[str, ...]
    resumed: Trace
    error: str | None = None

    @cached_property
    def trace(self) -> Trace:
        """Both processes as one trace."""
        return stitch(self.killed, self.resumed)

    @cached_property
    def unawaited(self) -> tuple[str, ...]:
        """Calls of the saver that were under way on another thread and that nothing waited for before the death.

        Each is a race: whether it came back in time may differ from try to try. Those that happened to come back
        count too, else a try that was lucky would look certain.
        """
        return _unawaited(self.killed, self.at, self.durability)

    @cached_property
    def survivors(self) -> tuple[Survivor, ...]:
        """Each write of a state channel that the process made, in order."""
        return tuple(_survivors(self.killed, self.rows))

    @property
    def asked(self) -> bool:
        """Whether the killed process got as far as to call interrupt()."""
        return any(e.kind == "interrupt_called" and not e.answered for e in self.killed.events)

    @property
    def ran(self) -> tuple[str, ...]:
        """The nodes that the resume ran, in order."""
        hidden = {i.id for e in self.resumed.events if e.kind == "tick" for i in e.tasks if i.hidden}
        started = (e for e in self.resumed.story.events if e.kind == "task_started")
        return tuple(e.name for e in started if e.task not in hidden)

    @property
    def kept(self) -> str:
        """How many of the writes survived, as "2 of 3"."""
        there = sum(s.place in ("checkpoint", "pending") for s in self.survivors)
        return f"{there} of {len(self.survivors)}"

    @property
    def resume(self) -> str:
        """What the resume did, in a few words."""
        if self.error:
            return self.error.split(":")[0]
        end = next((e.status for e in reversed(self.resumed.events) if e.kind == "run_ended"), "not recorded")
        # LangGraph looks the answer up when the node asks again, whether a question was stored or not.
        ended = {"done": "done", "paused": "asks"}.get(end, end)
        return f"{' '.join(self.ran) or 'nothing'} → {ended}" if self.ran else f"runs nothing, {ended}"

    @property
    def summary(self) -> str:
        """The cell of a table: writes kept, question stored, what the resume did."""
        if not self.reached:
            return "not reached"
        return f"{self.kept} writes; question {'yes' if self.question else 'no'}; {self.resume}"

    def __str__(self) -> str:
        where = f"{in_words(self.at)}, durability {self.durability}, {self.saver}"
        if not self.reached:
            return f"Not killed {where}: the run never came there."
        lines = [f"Killed {where}; not waited for: {', '.join(self.unawaited) or 'nothing'}"]
        lines += [f"  {s}" for s in self.survivors]
        stored = "stored" if self.question else "not stored"
        lines.append(f"  the question: {stored}; next: {', '.join(self.next) or '–'}")
        lines.append(f"  {self.rows.counts()}")
        lines.append(f"  resume: {self.error or self.resume}")
        return "\n".join(lines)

    __repr__ = __str__


def crash(
    graph_factory: Any,
    *,
    at: str,
    saver: str = "sqlite",
    durability: str = "sync",
    input: Any = None,
    answer: Any = "approved",
    timeout: float = 60,
) -> Crash:
    """Run a graph in another process, kill it at a point, then look into the database and resume.

    Args:
        graph_factory: a function of a checkpointer that returns a compiled graph, importable, or "module:name" of one
            or of a graph; or the name of a scenario.
        at: one of POINTS, with ":node" where that matters.
        saver: "sqlite" (a temporary file), "postgres" (`savers.postgres_dsn()`), a path, or "postgresql://...".
        durability: "sync", "async" or "exit".
        input: of the first call; a scenario brings its own.
        answer: the value of Command(resume=...); a scenario brings its own.
        timeout: seconds for the process; default 60.

    Returns:
        Crash: what was left, and what the resume did.

    Raises:
        NoSuchPoint: `at` is none of POINTS.
        CannotRunThere, TookTooLong: the graph could not be run in another process.
        NoPostgres: no server is known.
    """
    _check(at, durability, saver)
    spelled = _child.spell(graph_factory)
    factory = _child.find(spelled)
    input, answer = _story(factory, input, answer)
    with _place(saver) as (name, place), tempfile.TemporaryDirectory(prefix="hitl-lab-") as folder:
        file = Path(folder) / "killed.jsonl"
        thread = f"crash-{uuid.uuid4()}"
        job = _child.Job(spelled, name, place, thread, input, str(file), at, durability)
        reached = _child.run(job, timeout) == _child.KILLED
        killed = Trace.load(file)
        with savers.opened(name, place) as opened:
            try:
                return _look(factory, opened, thread, at, name, durability, reached, killed, answer)
            finally:
                if name == "postgres":
                    opened.delete_thread(thread)


def _check(at: str, durability: str, saver: str) -> None:
    point, _, node = at.partition(":")
    if point not in POINTS or (node and point in ("interrupt_chunk", "returned")):
        raise NoSuchPoint(f"{at!r} is no point to kill a process at. There are: {', '.join(POINTS)}.")
    if durability not in DURABILITIES:
        raise NoSuchPoint(f"{durability!r} is no durability mode. There are: {', '.join(DURABILITIES)}.")
    if saver == "memory":
        raise NoSuchPoint("InMemorySaver dies with its process: nothing of it can be looked at afterwards.")


def _story(factory: Any, given: Any, answer: Any) -> tuple[Any, Any]:
    if given is not None or not hasattr(factory, "story"):
        return given, answer
    first = factory.story[0].input
    resume = next((a.value for a in factory.story[1:] if hasattr(a, "value") and not callable(a.value)), answer)
    return (first() if callable(first) else first), resume


@contextlib.contextmanager
def _place(saver: str) -> Iterator[tuple[str, str]]:
    """Yield the saver's name and where its database is, which both processes open."""
    if saver == "postgres" or "://" in saver:
        yield "postgres", savers.need_postgres(saver if "://" in saver else None)
    elif saver != "sqlite":
        yield "sqlite", saver
    else:
        with tempfile.TemporaryDirectory(prefix="hitl-lab-", ignore_cleanup_errors=True) as folder:
            yield "sqlite", str(Path(folder) / "checkpoints.sqlite")


def _look(
    factory: Any,
    saver: Any,
    thread: str,
    at: str,
    name: str,
    durability: str,
    reached: bool,
    killed: Trace,
    answer: Any,
) -> Crash:
    from langgraph.types import Command

    from hitl_lab.tracing.recorder import record

    config = {"configurable": {"thread_id": thread}}
    graph = _child.build(factory, saver)
    state = graph.get_state(config)
    rows = stored_rows(saver, thread)
    error = None
    with record() as resumed:
        try:
            graph.invoke(Command(resume=answer), config, durability=durability)
        except Exception as exc:  # noqa: BLE001 - a resume that fails is a result
            error = values.error_text(exc)
    return Crash(
        at=at,
        saver=name,
        durability=durability,
        reached=reached,
        killed=killed,
        rows=rows,
        # Not the row alone: it may stand at a checkpoint that was not saved in time, where nobody finds it.
        question=bool(state.interrupts),
        next=tuple(state.next),
        resumed=resumed,
        error=error,
    )


def _unawaited(trace: Trace, at: str, durability: str) -> tuple[str, ...]:
    events = trace.events
    if any(e.kind == "run_ended" for e in events):
        return ()
    story = trace.story
    own = {"put": "saver_put", "put_writes": "saver_put_writes"}.get(at.partition(":")[0])
    killing = next((e for e in reversed(events) if e.kind == own), None)
    puts: dict[str, int] = {}
    writes: dict[str, str] = {}
    leaving = False
    for event in events:
        match event:
            case ev.CheckpointCreated():
                # It holds what was pending until now, and "exit" saves the last one only.
                writes.clear()
                if durability == "exit":
                    puts.clear()
                puts[event.checkpoint] = event.n
            case ev.PutWrites() | ev.Committed() if getattr(event, "handed", True):
                # commit is told before the put_writes that it called.
                writes[event.task] = f"put_writes of {event.name or 'the null task'}"
            case ev.Ticked() if durability == "sync":
                puts.clear()  # LangGraph's word: saved before the next step starts
            case ev.SaverPut() | ev.SaverPutWrites() | ev.Paused():
                leaving = True
    if durability == "exit" and not leaving:
        return ()
    if isinstance(killing, ev.SaverPut):
        puts.pop(killing.checkpoint, None)
    elif isinstance(killing, ev.SaverPutWrites):
        writes.pop(killing.task, None)
    return (*(f"put of {story.name(c)}" for c in puts), *writes.values())


def _survivors(trace: Trace, rows: StoredRows) -> Iterator[Survivor]:
    saved = {row.checkpoint for row in rows.checkpoints}
    applied: dict[tuple[int, tuple[str, ...]], list[int]] = {}
    into: dict[int, str] = {}
    later: dict[str, str | None] = {}
    for event in trace.events:
        key = (event.run, event.ns)
        if isinstance(event, ev.Applied) and event.where != "_suppress_interrupt":
            applied.setdefault(key, []).extend(event.writes)
        elif isinstance(event, ev.CheckpointCreated):
            later[event.checkpoint] = event.parent
            for write in applied.pop(key, ()):
                into[write] = event.checkpoint
    # What is in a checkpoint is in those made from it too ("exit" saves the last one only).
    for checkpoint in list(saved):
        at = later.get(checkpoint)
        while at is not None and at not in saved:
            saved.add(at)
            at = later.get(at)
    stored = {row.checkpoint for row in rows.checkpoints}
    left: dict[str, list[tuple[str, str]]] = {}
    for row in rows.writes:
        left.setdefault(row.task, []).append((row.channel, "pending" if row.checkpoint in stored else "adrift"))
    for event in trace.story.events:
        if not isinstance(event, ev.Wrote) or event.control:
            continue
        there = left.get(event.task, [])
        at = next((i for i, (channel, _) in enumerate(there) if channel == event.channel), None)
        place = there.pop(at)[1] if at is not None else "gone"
        if into.get(event.write) in saved:
            place = "checkpoint"
        yield Survivor(event.name, event.channel, event.value, place)


# ---------------------------------------------------------------- the table


@dataclass(frozen=True)
class Cell:
    """All tries of one cell: a point, a durability mode, a saver."""

    tries: tuple[Crash, ...]

    @property
    def racing(self) -> bool:
        """Whether another try may end otherwise: they differed, or a call of the saver was not waited for."""
        return len({t.summary for t in self.tries}) > 1 or any(t.unawaited for t in self.tries)

    def counts(self) -> dict[str, int]:
        """Return how often each outcome was seen, the most frequent first."""
        seen: dict[str, int] = {}
        for each in self.tries:
            seen[each.summary] = seen.get(each.summary, 0) + 1
        return dict(sorted(seen.items(), key=lambda kv: (-kv[1], kv[0])))

    def lines(self, stable: bool = False) -> list[str]:
        """Return the cell's text; a racing one as counts out of n, or as "varies" if only `stable` text is wanted."""
        if self.racing:
            n = len(self.tries)
            return ["varies"] if stable else [f"{count}/{n}: {text}" for text, count in self.counts().items()]
        return [self.tries[0].summary]


@dataclass(frozen=True, repr=False)
class CrashTable:
    """Outcomes by point, durability mode and saver; in Jupyter a table whose cells open their traces.

    `str()` shows all; `text(stable=True)` hides what races.
    """

    cells: dict[tuple[str, str, str], Cell]

    def __getitem__(self, key: tuple[str, ...]) -> Cell:
        """Return a cell: table[at, durability], or table[at, durability, saver]."""
        if len(key) == 2:
            key = (*key, next(iter(self.cells))[2])
        return self.cells[key]

    def rows(self) -> list[tuple[str, str, list[Cell]]]:
        """Return (point, saver, cells in the order of the durability modes)."""
        out: dict[tuple[str, str], list[Cell]] = {}
        for (at, _, saver), cell in self.cells.items():
            out.setdefault((at, saver), []).append(cell)
        return [(at, saver, cells) for (at, saver), cells in out.items()]

    @property
    def durabilities(self) -> tuple[str, ...]:
        """The durability modes, in order."""
        return tuple(dict.fromkeys(key[1] for key in self.cells))

    def text(self, stable: bool = False) -> str:
        """Return the table as text. stable: show racing cells as "varies", so that two runs give the same bytes."""
        lines: list[str] = []
        for at, saver, cells in self.rows():
            lines.append(f"killed {in_words(at)}  [{saver}]")
            for durability, cell in zip(self.durabilities, cells, strict=True):
                for i, line in enumerate(cell.lines(stable)):
                    lines.append(f"    {durability if i == 0 else '':6} {line}")
        return "\n".join(lines)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as one self-contained HTML file; return its path."""
        from hitl_lab.views.crash_view import summary

        return summary(self).to_html(path)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle: dict[str, Any] = {"text/plain": self.text(stable=True)}
        try:
            from hitl_lab.views.crash_view import buttons

            shown = buttons(self)._repr_mimebundle_(**kwargs)
        except ImportError:  # no ipywidgets here
            return bundle
        data = shown[0] if isinstance(shown, tuple) else shown or {}
        return {**data, **bundle}


def in_words(at: str) -> str:
    """Return a point in words: "before attach runs"."""
    point, _, node = at.partition(":")
    return _AT_NODE[point].format(node) if node else POINTS[point]


TABLE_POINTS = ("in_node:attach", "put:attach", *(point for point in POINTS if point != "put"))


def crash_table(
    graph_factory: Any = "fix_a_split_node",
    *,
    points: tuple[str, ...] = TABLE_POINTS,
    durabilities: tuple[str, ...] = DURABILITIES,
    savers: tuple[str, ...] = ("sqlite",),
    times: int = 5,
    jobs: int = 2,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> CrashTable:
    """Kill a graph at every point in every durability mode, and tell what was left.

    A cell is tried once; one that races is tried `times` times. A try takes about a second and a half.

    Args:
        graph_factory: as for `crash`; default fix A, the payload in a node of its own before the one that asks.
        points: where to kill it; default the whole way from the node that writes to the return.
        durabilities: default all three.
        savers: default SQLite.
        times: tries of a cell that races; default 5.
        jobs: processes at a time; default 2.
        progress: called with each cell's name when it is done; default nothing.
        options: input, answer and timeout, as for `crash`.

    Raises what `crash` raises.
    """
    from concurrent.futures import ThreadPoolExecutor

    # What cannot be done is said at once, not after the cells that can.
    _child.find(_child.spell(graph_factory))
    keys = [(at, durability, saver) for saver in savers for at in points for durability in durabilities]
    for at, durability, saver in keys:
        _check(at, durability, saver)

    def cell(key: tuple[str, str, str]) -> Cell:
        at, durability, saver = key
        tries = [crash(graph_factory, at=at, durability=durability, saver=saver, **options)]
        while Cell(tuple(tries)).racing and len(tries) < times:
            tries.append(crash(graph_factory, at=at, durability=durability, saver=saver, **options))
        if progress is not None:
            progress(f"{in_words(at)}, {durability}, {saver}")
        return Cell(tuple(tries))

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            return CrashTable(dict(zip(keys, pool.map(cell, keys), strict=True)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # an interrupt of the kernel ends it soon
            raise
