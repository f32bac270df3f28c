"""`TracedExecutor`: the real run, one phase at a time.

ex = hitl_lab.TracedExecutor(graph, {"messages": [...]}, config, durability="sync")
ex.step()
ex.run_to("commit")
ex.tasks["review"].writes
ex.finish()
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hitl_lab import values
from hitl_lab.errors import ExecutorBusy, ExecutorError, RunIsOver, StepTimeoutWarning
from hitl_lab.stored import StoredRows, stored_rows
from hitl_lab.trace import Trace
from hitl_lab.tracing import events as ev
from hitl_lab.tracing import parts as live
from hitl_lab.tracing import reading, seams, sources
from hitl_lab.tracing.gates import Gate, Gates
from hitl_lab.tracing.recorder import make_recorder
from hitl_lab.tracing.stops import Stop, goal
from hitl_lab.tracing.worker import Job, Worker, on_own_loop

if TYPE_CHECKING:
    from hitl_lab.views.live import Live

JOIN_SECONDS = 1.0


class TracedExecutor:
    """A graph run that waits after each phase, in a background thread; recorded like any `record()`.

    Nothing runs before the first `step`. Between two steps the kernel is free, the run stands. Closing it (also by
    leaving a `with` block, dropping it, or ending the process) ends the run where it stands and saves nothing more.

    Args:
        graph: a compiled graph, sync or async, StateGraph or functional API.
        input: as for invoke().
        config: as for invoke(), with the thread_id.
        durability: "sync", "async" or "exit"; default LangGraph's own.
        seed: int, to choose among parallel tasks at random; default the order of `tick`.
        asynchronous: use ainvoke() on an event loop of the executor; default only if the graph can run no other way.
        patience: seconds a step waits for its task before it lets the next parallel task in, too: the first may be
            waiting for that one. Default 5.
        redact, rows: as for `record()`.
        options: further keywords of invoke(), such as interrupt_before.

    Raises:
        NotAGraph, UnsupportedLangGraph.
    """

    def __init__(
        self,
        graph: Any,
        input: Any = None,
        config: Mapping[str, Any] | None = None,
        *,
        durability: str | None = None,
        seed: int | None = None,
        asynchronous: bool | None = None,
        patience: float = 5.0,
        redact: values.Redact | None = None,
        rows: bool = False,
        **options: Any,
    ) -> None:
        seams.require_graph(graph, "TracedExecutor")
        self._graph, self._config = graph, dict(config) if config else {}
        self._options = options if durability is None else {"durability": durability, **options}
        self._async = seams.is_async_only(graph) if asynchronous is None else asynchronous
        if self._async:
            self._graph = on_own_loop(graph)
        self._gates = Gates(patience)
        if seed is not None:
            self._gates.choose = random.Random(seed).choice
        self._recorder = make_recorder(redact=redact, rows=rows, on_event=self._gates.on_event)
        self._recorder.gates = self._gates
        self._trace = Trace(recorder=self._recorder)
        self._worker = Worker(self._gates, self._recorder, self._async)
        self._finalizer = weakref.finalize(self, self._worker.let_go)
        self._finalizer.atexit = False  # the worker has a hook that comes in time
        self._moving = threading.Lock()
        self._views: weakref.WeakSet[Any] = weakref.WeakSet()
        self._at: Gate | None = None
        self._last: Stop | None = None
        self._closed = ""
        self._warn_of_step_timeout()
        self._job: Job | None = None
        self._new_run(input, sys._getframe(1))

    # ------------------------------------------------------------ moving

    def step(self, task: str | None = None) -> Stop:
        """Let the run go on to the end of its next phase.

        Args:
            task: which of the parallel tasks moves, by name ("b", "b[1]" for the second of that name, "sub/b" in a
                subgraph); default the first in the order of `tick`, or what the seed chooses.

        Returns:
            Stop: where it stands now; at the end of the run what it came to.

        Raises:
            RunIsOver: the run has ended, or the executor is closed.
            ExecutorBusy: another thread is in a step.
            Exception: whatever the graph itself raised, unchanged; the trace is kept.
        """
        with self._only_one("step()"):
            return self._step(task)

    def run_to(self, target: str | Callable[[ev.Event], bool] | None = None, *, node: str | None = None) -> Stop:
        """Let the run go on until something happens, or to its end.

        Args:
            target: a phase ("tick", "execute", "commit", "after_tick"); "superstep", the next tick; "dropped", the
                next commit that drops a write; a node name, when it is about to run; a kind of event (`Event.kind`),
                or a callable that picks an event.
            node: a node name, for one that is called like a phase or a kind.

        Raises:
            ValueError: there is no such phase, node or kind of event. Else as `step`.
        """
        reached, watch = goal(self._graph, target, node)
        with self._only_one("run_to()"):
            self._gates.watch = watch
            try:
                while True:
                    stop = self._step(None)
                    if self.over or stop.phase == "event" or reached(stop):
                        return stop
            finally:
                self._gates.watch = None

    def finish(self) -> Stop:
        """Let the run go on to its pause or end."""
        return self.run_to(_never)

    def _step(self, task: str | None) -> Stop:
        if self._closed:
            raise RunIsOver(f"{self._closed} Its trace is kept: see .trace")
        job = self._job
        if job is None:
            raise RunIsOver(self._why_over("step"))
        if not job.started:
            self._start()
            self._gates.begin()
            self._worker.submit(job)
        gate = self._gates.advance(lambda: job.done, task)
        self._at = gate
        if gate is not None:
            self._last = Stop(gate.phase, gate.event, self._trace)
            return self._last
        if not job.done:
            raise RunIsOver("The executor was closed while this step was on its way. Its trace is kept: see .trace")
        return self._end_of(job)

    def _end_of(self, job: Job) -> Stop:
        self._job, error = None, job.error
        wanted = (ev.Paused, ev.Returned, ev.RunEnded)
        ends = [e for e in self._trace.events if e.run and type(e) in wanted and not e.ns]
        run = ends[-1].run if ends else None
        found = {type(e): e for e in ends if e.run == run}
        event = found.get(ev.Paused) or (found.get(ev.Returned) if error is None else None) or found.get(ev.RunEnded)
        self._last = Stop("paused" if isinstance(event, ev.Paused) else "end", event, self._trace)
        if error is not None:
            error.add_note(
                "Raised by the graph while hitl_lab stepped it; the trace up to here is in the executor's .trace"
            )
            if isinstance(error, TimeoutError) and self._timeouts:
                error.add_note(
                    "The graph has a step_timeout, which counts the time it stood: set it to None for stepping."
                )
            raise error
        return self._last

    @contextlib.contextmanager
    def _only_one(self, what: str) -> Any:
        if not self._moving.acquire(blocking=False):
            raise ExecutorBusy(f"{what}: another thread is moving this executor. Wait for it, or close() the executor.")
        try:
            yield
        finally:
            self._moving.release()
            self._refresh()

    # ------------------------------------------------------------ going on after a pause

    def resume(self, value: Any) -> None:
        """Answer the question: the next step begins `invoke(Command(resume=value))` on the same thread.

        Raises ExecutorError if the run has not come to its pause yet.
        """
        self._between("resume()")
        self._new_run(seams.Command(resume=value), sys._getframe(1))
        self._refresh()

    def invoke(self, input: Any) -> None:
        """Go on with another input (None: from the last checkpoint) on the same thread; it begins with the next step.

        Raises ExecutorError if the run has not ended yet.
        """
        self._between("invoke()")
        self._new_run(input, sys._getframe(1))
        self._refresh()

    def update_state(self, values: Any, as_node: str | None = None) -> Stop:
        """Call the graph's update_state, recorded in the same trace.

        Raises ExecutorError if the run has not ended yet, and what update_state raises.
        """
        self._between("update_state()")
        with self._only_one("update_state()"):
            self._start()
            self._recorder.caller = _line(sys._getframe(1))
            name = "aupdate_state" if self._async else "update_state"
            job = Job(functools.partial(getattr(self._graph, name), self._config, values, as_node=as_node))
            self._worker.submit(job)
            with self._gates.moved:
                self._gates.moved.wait_for(lambda: job.done or self._gates.gone)
            if job.error is not None:
                raise job.error
        event = next((e for e in reversed(self._trace.events) if isinstance(e, ev.StateUpdated)), None)
        self._last = Stop("update", event, self._trace)
        return self._last

    def _between(self, what: str) -> None:
        if self._closed:
            raise RunIsOver(f"{what}: {self._closed} Its trace is kept: see .trace")
        if self._job is not None and self._job.started:
            raise ExecutorError(f"{what}: the run is not over, {self._where()}. Let it go on first: finish().")

    def _new_run(self, input: Any, frame: Any) -> None:
        self._recorder.caller = _line(frame)
        method = self._graph.ainvoke if self._async else self._graph.invoke
        self._job = Job(functools.partial(method, input, self._config, **self._options))
        self._run = self._job

    def _start(self) -> None:
        if self._worker.thread.ident is None:
            self._worker.start()

    # ------------------------------------------------------------ looking

    @property
    def trace(self) -> Trace:
        """What happened so far, over all runs and updates of this executor."""
        return self._trace

    @property
    def at(self) -> Stop | None:
        """The last stop, None before the first step."""
        return self._last

    @property
    def over(self) -> bool:
        """Whether the run has ended: paused, done or failed."""
        return self._job is None

    @property
    def closed(self) -> bool:
        """Whether it was closed: nothing can move any more."""
        return bool(self._closed)

    @property
    def returned(self) -> Any:
        """What the last run returned; None if it has not ended or raised."""
        return self._run.result if self._run.done else None

    @property
    def waiting(self) -> tuple[str, ...]:
        """The names that `step(task=...)` takes now, in order of `tick`."""
        with self._gates.moved:
            return tuple(s.path for s in self._gates.top.below() if not s.children)

    @property
    def parts(self) -> live.Parts:
        """The parts of the loop at which the run stands, copied."""
        gate, job = self._at, self._job
        if job is None or not job.started or self._closed:
            why = self._why_over("look") if job is None else "the run has not begun: take a step()."
            why = self._closed or why
            none = (live.Named("channel", {}, why), live.Named("task", {}, why))
            return live.Parts("", None, none[0], none[1], live.Writes(), live.Saved(exists=False))
        if gate is None or gate.open:
            raise ExecutorError("The run is moving, so its parts cannot be copied. Take a step() first.")
        loops = self._gates.loops
        loop = next((x for x in reversed(loops) if x.observer.ns == gate.ns), loops[-1] if loops else None)
        if loop is None:
            raise ExecutorError("No loop is open here.")
        return live.live(seams.parts(loop), seams.is_control)

    @property
    def channels(self) -> live.Named:
        """The values of the state channels as they are now, by name."""
        return self.parts.channels

    @property
    def tasks(self) -> live.Named:
        """The tasks of this superstep by name, each with `input` and `writes`."""
        return self.parts.tasks

    @property
    def pending_writes(self) -> live.Writes:
        """The loop's pending writes: what was handed on by put_writes and is not yet applied."""
        return self.parts.pending_writes

    @property
    def checkpoint(self) -> live.Saved:
        """The checkpoint the loop works on, in memory."""
        return self.parts.checkpoint

    def saved(self, inner: bool = False) -> live.Saved:
        """What the checkpointer gives back at this moment: the thread's newest checkpoint and its pending writes.

        inner: of the subgraph in which the run stands.
        """
        saver = self._graph.checkpointer
        ns = "|".join(self._at.ns) if inner and self._at is not None else ""
        if not hasattr(saver, "get_tuple"):
            return live.Saved(exists=False)
        found = self._ask(saver, "get_tuple", reading.head_config(self._config, ns=ns))
        if found is None:
            return live.Saved(exists=False)
        names = {id: info.name for id, info in self._trace.story.tasks.items()}
        return live.saved(seams.saved_parts(found), names, seams.is_control)

    def state(self, subgraphs: bool = False) -> Any:
        """What the graph's get_state() says at this moment (a StateSnapshot)."""
        config = reading.head_config(self._config)
        return self._ask(self._graph, "get_state", config, subgraphs=subgraphs)

    def _ask(self, target: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        # An async saver belongs to an event loop; sync ones answer in any thread.
        if type(self._graph.checkpointer).__name__.startswith("Async"):
            if self._closed:
                raise ExecutorError(f"{self._closed} Its event loop has ended: ask the async checkpointer itself.")
            self._start()
            return self._worker.read(getattr(target, f"a{name}")(*args, **kwargs))
        return getattr(target, name)(*args, **kwargs)

    # ------------------------------------------------------------ ending

    def close(self) -> None:
        """End the run where it stands; nothing more runs and nothing more is saved. The trace is kept."""
        self._close("The executor is closed.", f"The executor was closed here: {self._where()}.")

    def crash_here(self) -> StoredRows:
        """What if the process died here? End the run as a kill would, and read what stands in the database then.

        The rows are read over a connection of their own, so they are what another process would find. With an
        InMemorySaver that is nothing: `committed` is False. See `hitl_lab.crashes` for real kills in a process.

        Raises:
            CannotReadRows: the checkpointer is of an unknown kind.
        """
        saver = self._graph.checkpointer
        thread = self._config.get("configurable", {}).get("thread_id")
        if type(saver).__name__ == "AsyncSqliteSaver":
            from hitl_lab.stored import astored_rows

            self._start()
            # The file is looked up on the executor's loop; the rows are read when the run has ended.
            place = self._worker.read(astored_rows(saver, thread))
            self._close("The executor ended in crash_here().", f"The process died here, as it were: {self._where()}.")
            return place
        self._close("The executor ended in crash_here().", f"The process died here, as it were: {self._where()}.")
        rows = stored_rows(saver, thread)
        return rows if rows.committed else StoredRows(rows.database, False)

    def _close(self, word: str, note: str) -> None:
        if self._closed:
            return
        self._closed = word
        if self._job is not None and self._job.started:
            self._recorder.note(note)
        self._finalizer()
        self._worker.join(JOIN_SECONDS)
        self._at = None
        self._refresh()

    def __enter__(self) -> TracedExecutor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # ------------------------------------------------------------ telling

    def view(self) -> Live:
        """Return the stepper with live controls; it grows as the run goes on."""
        from hitl_lab.views.live import Live

        view = Live(self)
        self._views.add(view)
        return view

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        try:
            return self.view()._repr_mimebundle_(**kwargs)
        except ImportError:  # no widgets installed
            return {"text/plain": str(self)}

    def _refresh(self) -> None:
        for view in list(self._views):
            view.refresh()

    def _where(self) -> str:
        if self._closed:
            return "it is closed"
        if self._job is not None and not self._job.started:
            return "it has not begun"
        if self._last is None:
            return "it is on its way"
        stop = self._last
        step = getattr(stop.event, "step", None)
        after = f"{stop.phase} of {stop.task}" if stop.task else stop.phase
        inside = f" in {stop.place}" if stop.place else ""
        at = f", superstep {step}" if step is not None else ""
        return {"paused": "it is paused", "end": "it has ended", "update": "update_state is done"}.get(
            stop.phase, f"it stands after {after}{inside}{at}"
        )

    def _why_over(self, doing: str) -> str:
        paused = self._last is not None and self._last.phase == "paused"
        if doing == "look":
            how = "paused" if paused else "ended"
            return f"the run {how}, its loop is gone and with it task.writes; saved() is what is left."
        if paused:
            return "The run is paused: answer it with resume(value), go on with invoke(None), or update_state() first."
        return "The run has ended: go on with invoke(input) on the same thread, or look at .trace"

    def _warn_of_step_timeout(self) -> None:
        self._timeouts = seams.step_timeouts(self._graph)
        for name, seconds in self._timeouts:
            text = (
                f"Graph {name} has step_timeout={seconds}: the time it stands between two steps counts, so a superstep "
                "that you look at for longer fails with TimeoutError. Set graph.step_timeout = None to step it."
            )
            self._recorder.note(text)
            warnings.warn(text, StepTimeoutWarning, stacklevel=3)

    def __str__(self) -> str:
        runs = len({e.run for e in self._trace.events if isinstance(e, ev.RunStarted)})
        of = f"run {runs}" if runs else "run"
        return f"TracedExecutor of {getattr(self._graph, 'name', 'graph')}, {of}: {self._where()}."

    __repr__ = __str__


def _never(event: ev.Event) -> bool:  # noqa: ARG001
    return False


def _line(frame: Any) -> ev.Source | None:
    user = sources.user_frame(frame)
    return sources.of_frame(user) if user is not None else None
