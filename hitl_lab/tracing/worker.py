"""The background thread in which an executor's runs live: sync graphs on the thread itself, async graphs on an event
loop of its own, so that the learner's thread and the kernel's event loop stay free.

The thread knows gates and recorder, never the executor that the learner holds: when that object is dropped, its
finalizer lets the thread go.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread as pools
import contextlib
import contextvars
import copy
import queue
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

from hitl_lab.errors import ExecutorError
from hitl_lab.tracing.gates import Gates, LetGo
from hitl_lab.tracing.recorder import Recorder, recording

EXIT_SECONDS = 0.4
"""How long the end of the process waits for runs that were let go; one that stood at a gate ends in milliseconds."""

_live: weakref.WeakSet[Worker] = weakref.WeakSet()


class Job:
    """One call into the graph: a callable without arguments, which returns a coroutine in an async worker."""

    __slots__ = ("call", "done", "error", "result", "started")

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call: Callable[[], Any] | None = call
        self.started = self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self, result: Any, error: BaseException | None) -> None:
        self.call = None
        if error is not None and not isinstance(error, LetGo):
            # The frames of a traceback hold the loop, its tasks and channels; their lines stay readable without.
            at: BaseException | None = error
            while at is not None:
                traceback.clear_frames(at.__traceback__)
                at = at.__cause__ or at.__context__
            self.error = error
        self.result = result


class Worker:
    """Performs jobs one after the other in a daemon thread, inside one recording."""

    def __init__(self, gates: Gates, recorder: Recorder, asynchronous: bool) -> None:
        self.gates, self.recorder, self.asynchronous = gates, recorder, asynchronous
        self.loop: asyncio.AbstractEventLoop | None = None
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._job: Job | None = None
        self._wake: asyncio.Event | None = None
        self._ready = threading.Event()
        # The caller's context: an outer record() gets the events too, and nodes see the caller's context variables.
        body = self._aserve if asynchronous else self._serve
        context = contextvars.copy_context()
        self.thread = threading.Thread(target=context.run, args=(body,), name="hitl_lab run", daemon=True)
        gates.threads.add(self.thread)

    def start(self) -> None:
        """Start the thread and wait until it takes jobs."""
        _live.add(self)
        self.thread.start()
        self._ready.wait()

    def submit(self, job: Job) -> None:
        job.started = True
        self._jobs.put(job)
        self._stir()

    def _stir(self) -> None:
        if self._wake is not None and self.loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(self._wake.set)

    # ------------------------------------------------------------ in the thread

    def _serve(self) -> None:
        with recording(self.recorder):
            self._ready.set()
            while (job := self._jobs.get()) is not None:
                result = error = None
                try:
                    assert job.call is not None
                    result = job.call()
                except BaseException as exc:
                    error = exc
                self._settle(job, result, error)
                del job, result, error  # else they live as long as this thread waits
        self._left()

    def _aserve(self) -> None:
        try:
            with asyncio.Runner() as runner:
                runner.get_loop().set_exception_handler(_quiet_about_let_go)
                runner.run(self._serve_on_loop(), context=contextvars.copy_context())
        except BaseException as exc:
            # KeyboardInterrupt or SystemExit in one of several tasks: asyncio throws it out of the event loop.
            if self._job is not None:
                self._settle(self._job, None, exc)
        self._left()

    async def _serve_on_loop(self) -> None:
        self.loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        with recording(self.recorder):
            self._ready.set()
            while True:
                await self._wake.wait()
                self._wake.clear()
                while not self._jobs.empty():
                    job = self._jobs.get()
                    if job is None:
                        return
                    self._job, result, error = job, None, None
                    try:
                        assert job.call is not None
                        result = await job.call()
                    except BaseException as exc:
                        task = asyncio.current_task()
                        if task is not None and task.cancelling():
                            raise  # something was thrown out of the event loop: _aserve knows what
                        error = exc
                    self._settle(job, result, error)
                    del job, result, error

    def _settle(self, job: Job, result: Any, error: BaseException | None) -> None:
        self._job = None
        job.settle(result, error)
        self.gates.end()
        with self.gates.moved:
            job.done = True
            self.gates.moved.notify_all()

    def _left(self) -> None:
        self.recorder.on_event = self.recorder.gates = None
        self.gates.loops.clear()
        with self.gates.moved:
            self.gates.gone = True
            self.gates.moved.notify_all()

    # ------------------------------------------------------------ in other threads

    def read(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the worker's event loop, beside the run, and return its result.

        Raises ExecutorError if the run stands inside a node of an async graph, so that its event loop waits too.
        """
        at = self.gates.watched
        if at is not None and at.thread is self.thread:
            coroutine.close()
            raise ExecutorError(
                "The run stands in the middle of an async node, and its event loop waits with it, so the checkpointer "
                "cannot be asked now. Take one step() to the end of the phase first."
            )
        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def let_go(self) -> None:
        """End the thread as soon as it stands. Safe to call from the garbage collector, twice, at exit."""
        self.recorder.close()
        self.gates.let_go()
        self._jobs.put(None)
        self._stir()

    def join(self, seconds: float) -> bool:
        """Wait for the thread to end; whether it did."""
        if self.thread.ident is not None and self.thread is not threading.current_thread():
            self.thread.join(seconds)
        return not self.thread.is_alive()


def on_own_loop(graph: Any) -> Any:
    """Return the graph, with a copy of its async saver if that holds an asyncio lock.

    Such a lock belongs to the first event loop in which somebody had to wait for it, and raises in every other one. The
    copy has a lock of its own and shares the connection; saver and graph of the caller stay as they are.
    """
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(getattr(saver, "lock", None), asyncio.Lock):
        return graph
    own = copy.copy(saver)
    own.lock = asyncio.Lock()
    return graph.copy(update={"checkpointer": own})


def _quiet_about_let_go(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), LetGo):
        loop.default_exception_handler(context)


def _at_exit() -> None:
    """Let all runs go before the interpreter waits for its pool threads: one that stands at a gate would never end."""
    workers = list(_live)
    for worker in workers:
        worker.let_go()
    until = time.monotonic() + EXIT_SECONDS
    for worker in workers:
        if worker.join(max(0.0, until - time.monotonic())):
            continue
        # A node that is at work (a sleep, a slow request) cannot be ended. Its pool threads are daemons, for their
        # parent is one: taken off this list, they end with the process instead of holding it up.
        default = getattr(worker.loop, "_default_executor", None)
        with contextlib.suppress(AttributeError):
            for thread in [*worker.gates.threads, *getattr(default, "_threads", ())]:
                pools._threads_queues.pop(thread, None)


# atexit comes too late: threading waits for pool threads before it. Hooks run in reverse order, so this one, registered
# after concurrent.futures registered its own, runs first.
threading._register_atexit(_at_exit)  # type: ignore[attr-defined]
