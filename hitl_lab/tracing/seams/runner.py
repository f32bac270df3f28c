"""The traced runner: what `commit` hands on and what it does not; and the counterfactual lab's other commits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hitl_lab.tracing import reading, sources
from hitl_lab.tracing.observer import LoopObserver
from hitl_lab.tracing.seams.names import (
    SPECIAL,
    GraphInterrupt,
    K,
    L,
    R,
    is_control,
    local,
)
from hitl_lab.tracing.seams.tasks import outcome_of


class TracedRunner(R.PregelRunner):
    """PregelRunner that tells what `commit` hands on and what it does not."""

    observer: LoopObserver
    loop: Any

    def commit(self, task: Any, exception: Any, *args: Any, **kwargs: Any) -> Any:
        loop = self.loop
        gates = loop.gates
        if gates is not None and gates.gone:
            return None  # the pool that would hand the writes to the saver may be gone, too
        # For the loop's put_writes on this thread: whose commit it is, a place for the line of `commit` that called it
        # first, and then what it was called with.
        seen: list[Any] = [loop, None]
        mine = local.__dict__
        before = mine.get("commit")
        mine["commit"] = seen
        try:
            how = loop.counterfactual
            if how is not None and isinstance(exception, GraphInterrupt) and exception.args and exception.args[0]:
                if how == "task":
                    return _keep_as_own(self, task, exception.args[0])
                super().commit(task, exception, *args, **kwargs)
                return _keep_elsewhere(how, self, task)
            # Without packing and unpacking what is not there, which costs more than the rest of the call.
            if args or kwargs:
                return super().commit(task, exception, *args, **kwargs)
            return super().commit(task, exception)
        finally:
            mine["commit"] = before
            observer, (_, where, *calls) = self.observer, seen
            if where is None:
                where = sources.key_of(sources.of_function(super().commit))
            observer.committed(task, "finished" if exception is None else outcome_of(exception), calls, where)
            if gates is not None:
                # It may run in a done-callback of a pool thread: an exception raised there would be lost or logged.
                if isinstance(loop, L.AsyncPregelLoop):
                    gates.post("commit", task.id, observer.ns)
                else:
                    gates.stand("commit", task.id, observer.ns, leaving=True)


class GatedRunner(TracedRunner):
    """The same for a run that stands at gates."""

    def tick(self, tasks: Any, *args: Any, **kwargs: Any) -> Any:
        gates, tasks = self.loop.gates, tuple(tasks)
        self.tell_batch(gates, tasks, kwargs.get("get_waiter") is not None)
        return super().tick(tasks, *args, **kwargs)

    def atick(self, tasks: Any, *args: Any, **kwargs: Any) -> Any:
        gates, tasks = self.loop.gates, tuple(tasks)
        self.tell_batch(gates, tasks, False)
        return self.gated_atick(gates, tasks, args, kwargs)

    async def gated_atick(self, gates: Any, tasks: Any, args: Any, kwargs: Any) -> Any:
        try:
            async for _ in super().atick(tasks, *args, **kwargs):
                yield
        except Exception:
            await gates.hold(self.loop.strand)
            raise
        await gates.hold(self.loop.strand)
        await self.loop.after_tick_early()

    def tell_batch(self, gates: Any, tasks: Any, waiter: bool) -> None:
        room = self.loop.config.get("max_concurrency")
        if not isinstance(self.loop, L.AsyncPregelLoop):
            pool = getattr(getattr(self.loop.submit, "__self__", None), "executor", None)
            room = getattr(pool, "_max_workers", room)
            room = room - waiter if room and len(tasks) > 1 else room
        gates.batch(self.loop.strand, [(t.id, t.name) for t in tasks], room or None)


def _keep_as_own(runner: TracedRunner, task: Any, asked: Any) -> None:
    """NOT LangGraph (hitl_lab.counterfactual): hand on a task's question and its other writes as well."""
    own = [w for w in task.writes if w[0] == K.RESUME or w[0] not in SPECIAL]
    runner.put_writes()(task.id, [(K.INTERRUPT, asked), *own])


def _keep_elsewhere(how: str, runner: TracedRunner, task: Any) -> None:
    """NOT LangGraph (hitl_lab.counterfactual): keep what `commit` did not hand on, by another way."""
    own = [w for w in task.writes if w[0] not in SPECIAL]
    if how == "null task" and own:
        runner.observer.share(task, own)
        runner.put_writes()(K.NULL_TASK_ID, own)
    elif how == "update_state" and not runner.observer.ns:
        runner.loop.kept += tuple(w for w in own if not is_control(w[0]))


def kept_updates(loop: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield config and values of each update_state that saves what was kept: as many as one channel has writes."""
    left, loop.kept = list(loop.kept), ()
    config = reading.head_config(loop.config, keep=K.CONFIG_KEY_CHECKPOINTER)
    while left:
        update: dict[str, Any] = {}
        rest = []
        for channel, value in left:
            if channel in update:
                rest.append((channel, value))
            else:
                update[channel] = value
        yield config, update
        left = rest


def line_in_commit(frame: Any) -> int | None:
    """Return the line of the installed `commit` that called `put_writes` with this frame, as a key of `sources`."""
    code, at = frame.f_code, frame.f_lasti
    known = _LINES.get(at) if code is _COMMIT else None
    if known is not None:
        return known
    for _ in range(12):
        above = frame.f_back
        if above is None:
            return None
        if above.f_code is _TRACED_COMMIT:
            found = sources.key_of_frame(frame)
            if code is _COMMIT:
                _LINES[at] = found
            return found
        frame = above
    return None


_COMMIT, _TRACED_COMMIT = R.PregelRunner.commit.__code__, TracedRunner.commit.__code__
# The lines of the installed `commit`, by instruction.
_LINES: dict[int, int] = {}
