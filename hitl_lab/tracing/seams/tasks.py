"""A task of LangGraph: its send, its `interrupt()` calls, its run with retries."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from sys import _getframe
from typing import Any

from hitl_lab import values
from hitl_lab.tracing import events as ev
from hitl_lab.tracing import sources
from hitl_lab.tracing.observer import InfoData, LoopObserver
from hitl_lab.tracing.seams.names import (
    CONF,
    PAD,
    SEND,
    GraphBubbleUp,
    GraphInterrupt,
    K,
    interrupt,
    local,
)


class Send:
    """Stands for `task.writes.extend` in a task's config and tells the observer of each write.

    It has of the task what an observer asks for, not the task itself: that holds the config, so the two would keep each
    other, and with them the state of each superstep, until the garbage collector came by.
    """

    __slots__ = ("id", "name", "observer", "send", "writes")

    def __init__(self, observer: LoopObserver, task: Any, send: Callable[[Any], None]) -> None:
        self.id, self.name, self.writes = task.id, task.name, task.writes
        self.observer, self.send = observer, send

    def __call__(self, writes: Any) -> None:
        if type(writes) is not list:
            writes = list(writes)
        send = self.send
        send(writes)
        frame = _getframe(1)
        if _sender(frame.f_code.co_filename) == "return":
            self.observer.sent(self, writes, "return", None)
            return
        via, source = _via(frame)
        if via == "interrupt()":
            _tell_kept_answer(self.observer, self, frame)
        self.observer.sent(self, writes, via, source)


class GatedSend(Send):
    """The same for a run that stands at gates: a node that runs on after its executor was let go ends here."""

    __slots__ = ()

    def __call__(self, writes: Any) -> None:
        writes = list(writes)
        _check(self.observer)
        self.send(writes)
        via, source = _via(_getframe(1))
        if via == "interrupt()":
            _tell_kept_answer(self.observer, self, _getframe(1))
        self.observer.sent(self, writes, via, source)


_SENDERS = {
    "langgraph/pregel/_write.py": "return",
    "langgraph/types.py": "interrupt()",
    "langgraph/pregel/_retry.py": "",
}


@functools.lru_cache(maxsize=4096)
def _sender(filename: str) -> str:
    name = filename.replace("\\", "/")
    return next((via for end, via in _SENDERS.items() if name.endswith(end)), "send")


def _via(frame: Any) -> tuple[str, int | None]:
    # The first caller that is no guard of a timeout (langgraph wraps the send of a node with a timeout policy).
    via = _sender(frame.f_code.co_filename)
    for _ in range(4):
        if via or frame.f_back is None:
            break
        frame = frame.f_back
        via = _sender(frame.f_code.co_filename)
    return (via, None) if via in ("return", "interrupt()") else ("send", sources.key_of_frame(frame))


def _tell_kept_answer(observer: LoopObserver, task: Any, frame: Any) -> None:
    """`interrupt()` sends the answer it found: tell the call, unless `_NullResume` has."""
    for _ in range(4):
        if frame is None or frame.f_code is interrupt_code:
            break
        frame = frame.f_back
    if frame is not None and local.__dict__.pop("told", None) != id(frame):
        _tell_interrupt(observer, task, frame, True)


class _NullResume:
    """Stands for a scratchpad's `get_null_resume`: `interrupt()` asks it for an answer when none was kept for the task.

    Not `interrupt_counter`, which `interrupt()` calls first: a retry gets a new one.
    """

    __slots__ = ("get", "send")

    def __init__(self, send: Send, get: Callable[..., Any]) -> None:
        self.send, self.get = send, get

    def __call__(self, consume: bool = False) -> Any:
        frame = _getframe(1)
        # A subgraph's scratchpad passes the question on to its caller's: only interrupt() itself counts.
        if frame.f_code is not interrupt_code:
            return self.get(consume)
        observer = self.send.observer
        _check(observer)
        answer = self.get(consume)
        _tell_interrupt(observer, self.send, frame, answer is not None)
        if answer is not None:
            local.told = id(frame)  # it hands the answer to send next, unless it finds it invalid
        return answer


interrupt_code = inspect.unwrap(interrupt).__code__


def _tell_interrupt(observer: LoopObserver, task: Any, frame: Any, answered: bool) -> None:
    try:
        found, caller = frame.f_locals, frame.f_back
        source = sources.key_of_frame(caller) if caller is not None else None
        observer.interrupt_called(task, found["idx"], found["value"], answered, source)
    except Exception as exc:
        observer.recorder.note(f"A call of interrupt() could not be read: {values.error_text(exc)}")


def _check(observer: LoopObserver) -> None:
    # A node that runs on after its executor was let go ends at the next thing it does.
    gates = observer.recorder.gates
    if gates is not None:
        gates.check()


def send_of(config: Any) -> Send | None:
    """Return the traced send of a config, None if it has none."""
    send = config.get(CONF, {}).get(SEND) if config else None
    return send if isinstance(send, Send) else None


def instrument(observer: LoopObserver, task: Any) -> None:
    """Put the traced send and the traced question for an answer into a task's config."""
    conf = task.config[CONF] if task.config else None
    if not conf:
        return
    send = conf.get(SEND)
    if send is None:
        return
    if not isinstance(send, Send):
        send = conf[SEND] = (Send if observer.recorder.gates is None else GatedSend)(observer, task, send)
    pad = conf.get(PAD)
    get = getattr(pad, "get_null_resume", None)
    if get is not None and type(get) is not _NullResume:
        # The scratchpad is a frozen dataclass that the config, and closures, already hold: set the field on it.
        try:
            object.__setattr__(pad, "get_null_resume", _NullResume(send, get))
        except (AttributeError, TypeError) as exc:
            observer.recorder.note(f"Calls of interrupt() cannot be seen: {values.error_text(exc)}")


def task_here() -> str:
    """Return the id of the task that starts a graph which does not know its caller's config, "" outside a node."""
    found = current_task()
    return found[1].id if found is not None else ""


def current_task() -> tuple[LoopObserver, Any] | None:
    """Return the observer and the task (as its send) of the node that runs here, None outside a recorded node."""
    from langgraph.config import get_config

    try:
        found = send_of(get_config())
    except RuntimeError:  # LangGraph's word for "outside of a runnable context"
        return None
    return (found.observer, found) if found is not None else None


def info_of(loop: Any, task: Any) -> InfoData:
    """Return the fields of a TaskInfo."""
    path = task.path
    if path and path[0] == "__pregel_push":
        function = getattr(path[-1], "func", None)
        source = _key(function) if function is not None else _node_source(loop, task.name)
        arg = values.snapshot(task.input) if loop.observer.recorder.redact is None else None
        kind = "push"
    else:
        kind, arg, source = "pull", None, _node_source(loop, task.name)
    tags = task.config.get("tags") if task.config else None
    hidden = bool(tags) and "langsmith:hidden" in tags
    triggers = tuple(task.triggers)
    if len(_TRIGGERS) > 1_000:
        _TRIGGERS.clear()
    triggers = _TRIGGERS.setdefault(triggers, triggers)  # parallel tasks have the same, a loop has them again
    return task.id, task.name, kind, triggers, bool(task.writes), hidden, arg, source


_TRIGGERS: dict[tuple[str, ...], tuple[str, ...]] = {}


def _key(function: Any) -> int | None:
    source = sources.of_function(function)
    return None if source is None else sources.key_of(source)


def _node_source(loop: Any, name: str) -> int | None:
    known = loop.__dict__.setdefault("_sources", {})
    if name not in known:
        bound = getattr(loop.nodes.get(name), "bound", None)
        function = getattr(bound, "func", None) or getattr(bound, "afunc", None)
        known[name] = _key(function) if function is not None else None
    return known[name]


def observer_of(task: Any) -> LoopObserver | None:
    """Return who follows the loop of a task, None if nobody does."""
    config = task.config
    send = config[CONF].get(SEND) if config else None
    return send.observer if isinstance(send, Send) else None


def traced_run_with_retry(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `run_with_retry`, told."""

    @functools.wraps(original)
    def run_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        observer = observer_of(task)
        if observer is None:
            return original(task, *args, **kwargs)
        gates = observer.recorder.gates
        if gates is not None:
            gates.stand("ready", task.id, observer.ns)
        observer.task_started(task)
        try:
            out = original(task, *args, **kwargs)
        except BaseException as exc:
            _tell_failure(observer, task, exc)
            if gates is not None:
                gates.stand("execute", task.id, observer.ns)
            raise
        local.__dict__.pop("told", None)
        observer.task_ended(task, "finished", None, (), None)
        if gates is not None:
            gates.stand("execute", task.id, observer.ns)
        return out

    return run_with_retry


def traced_arun_with_retry(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return its async twin, told."""

    @functools.wraps(original)
    async def arun_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        observer = observer_of(task)
        if observer is None:
            return await original(task, *args, **kwargs)
        gates = observer.recorder.gates
        if gates is not None:
            await gates.astand("ready", task.id, observer.ns)
        observer.task_started(task)
        try:
            out = await original(task, *args, **kwargs)
        except BaseException as exc:
            _tell_failure(observer, task, exc)
            if gates is not None and not isinstance(exc, asyncio.CancelledError):
                await gates.astand("execute", task.id, observer.ns)
            raise
        local.__dict__.pop("told", None)
        observer.task_ended(task, "finished", None, (), None)
        if gates is not None:
            await gates.astand("execute", task.id, observer.ns)
        return out

    return arun_with_retry


def outcome_of(exc: BaseException | None) -> str:
    """Return how a task ended, by the exception that left its node."""
    if exc is None:
        return "finished"
    if isinstance(exc, GraphInterrupt):
        return "interrupt"
    if isinstance(exc, GraphBubbleUp):
        return "bubble"
    return "error" if isinstance(exc, Exception) else "cancelled"


def _tell_failure(observer: LoopObserver, task: Any, exc: BaseException) -> None:
    local.__dict__.pop("told", None)
    outcome, error, asked = outcome_of(exc), None, ()
    if outcome == "interrupt":
        found = exc.args[0] if exc.args else ()
        snap = observer.recorder.snap
        asked = tuple(ev.InterruptInfo(str(i.id), snap(K.INTERRUPT, i.value), task.id, task.name) for i in found or ())
    elif outcome != "bubble":
        error = values.error_text(exc)
    observer.task_ended(task, outcome, error, asked, sources.of_traceback(exc))
