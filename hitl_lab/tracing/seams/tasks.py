"""A task of LangGraph: its send, its `interrupt()` calls, its run with retries."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator
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
    ChannelWrite,
    GraphBubbleUp,
    GraphInterrupt,
    K,
    interrupt,
    local,
)
from hitl_lab.tracing.tasklog import TaskLog


class Send(TaskLog):
    """Stands for `task.writes.extend` in a task's config and tells the observer of each write.

    The log of its task, too: one object a task, since the garbage collector counts them. It has no reference to the
    task itself: that holds the config, so the two would keep each other, and with them the state of each superstep,
    until the collector came by.
    """

    __slots__ = ("get", "observer", "send")

    def __init__(self, observer: LoopObserver, task: Any, source: int | None, send: Callable[[Any], None]) -> None:
        # What TaskLog's own does, without a call: one is made for each task.
        self.id, self.name, self.source, self.live = task.id, task.name, source, task.writes
        self.rows, self.held, self.first, self.input, self.running = (), (), None, None, False
        self.observer, self.send = observer, send
        # The scratchpad's own `get_null_resume`, see `answer`.
        self.get: Callable[..., Any] | None = None

    def __call__(self, writes: Any, /) -> None:
        send, frame = self.send, _getframe(1)
        if type(writes) is not list:
            self.send_each(frame, writes)
            return
        send(writes)
        if frame.f_code is _DO_WRITE:
            self.observer.sent(self, writes, "return", self.source)
        else:
            self.sent_by(frame, writes)

    def send_each(self, frame: Any, writes: Any) -> None:
        """Pass on what is no list as it is: a generator that raises has sent what it had made by then."""
        taken: list[Any] = []

        def passed() -> Iterator[Any]:
            for write in writes:
                taken.append(write)
                yield write

        try:
            self.send(passed())
        finally:
            self.sent_by(frame, taken)

    def sent_by(self, frame: Any, writes: Any) -> None:
        """Tell of what some other code than LangGraph's writer sent."""
        via, source = _via(frame)
        if via == "interrupt()":
            _tell_kept_answer(self.observer, self, frame)
        self.observer.sent(self, writes, via, self.source if source is None else source)

    def answer(self, *args: Any, **kwargs: Any) -> Any:
        """Stand for a scratchpad's `get_null_resume`: `interrupt()` asks it for an answer when none was kept for the
        task.

        Not for `interrupt_counter`, which `interrupt()` calls first: a retry gets a new one.
        """
        get, frame = self.get, _getframe(1)
        assert get is not None
        # A subgraph's scratchpad passes the question on to its caller's: only interrupt() itself counts.
        if frame.f_code is not interrupt_code:
            return get(*args, **kwargs)
        observer = self.observer
        _check(observer)
        answer = get(*args, **kwargs)
        _tell_interrupt(observer, self, frame, answer is not None)
        if answer is not None:
            local.told = id(frame)  # it hands the answer to send next, unless it finds it invalid
        return answer


class GatedSend(Send):
    """The same for a run that stands at gates: a node that runs on after its executor was let go ends here."""

    __slots__ = ()

    def __call__(self, writes: Any, /) -> None:
        _check(self.observer)
        self.send_each(_getframe(1), writes)


_DO_WRITE = ChannelWrite.do_write.__code__
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
    """`interrupt()` sends the answer it found: tell the call, unless `Send.answer` has."""
    for _ in range(4):
        if frame is None or frame.f_code is interrupt_code:
            break
        frame = frame.f_back
    if frame is not None and local.__dict__.pop("told", None) != id(frame):
        _tell_interrupt(observer, task, frame, True)


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


def instrument(observer: LoopObserver, task: Any, info: InfoData) -> TaskLog:
    """Put the traced send and the traced question for an answer into a task's config, and return the task's log."""
    config = task.config
    conf = config[CONF] if config else None
    send = conf.get(SEND) if conf else None
    if send is None:
        return TaskLog(info[0], info[1], info[7], task.writes)
    if isinstance(send, Send):
        return send
    made = Send if observer.recorder.gates is None else GatedSend
    log = conf[SEND] = made(observer, task, info[7], send)
    pad = conf.get(PAD)
    get = getattr(pad, "get_null_resume", None)
    if get is not None and getattr(get, "__func__", None) is not _ANSWER:
        log.get = get
        # The scratchpad is a frozen dataclass that the config, and closures, already hold: set the field on it.
        try:
            _set(pad, "get_null_resume", log.answer)
        except (AttributeError, TypeError) as exc:
            observer.recorder.note(f"Calls of interrupt() cannot be seen: {values.error_text(exc)}")
    return log


_ANSWER, _set = Send.answer, object.__setattr__


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
    path, name, config = task.path, task.name, task.config
    if path and path[0] == "__pregel_push":
        function = getattr(path[-1], "func", None)
        source = _key(function) if function is not None else _node_source(loop, name)
        arg = values.snapshot(task.input) if loop.observer.recorder.redact is None else None
        kind = "push"
    else:
        kind, arg = "pull", None
        known = loop.sources_of_nodes
        source = known[name] if name in known else _node_source(loop, name)
    tags = config.get("tags") if config else None
    hidden = bool(tags) and "langsmith:hidden" in tags
    triggers = tuple(task.triggers)
    if triggers in _TRIGGERS:  # parallel tasks have the same, a loop has them again
        triggers = _TRIGGERS[triggers]
    elif len(_TRIGGERS) < 1_000:
        _TRIGGERS[triggers] = triggers
    return task.id, name, kind, triggers, bool(task.writes), hidden, arg, source


_TRIGGERS: dict[tuple[str, ...], tuple[str, ...]] = {}


def _key(function: Any) -> int | None:
    source = sources.of_function(function)
    return None if source is None else sources.key_of(source)


def _node_source(loop: Any, name: str) -> int | None:
    known: dict[str, int | None] = loop.sources_of_nodes
    if name not in known:
        bound = getattr(loop.nodes.get(name), "bound", None)
        function = getattr(bound, "func", None) or getattr(bound, "afunc", None)
        known[name] = _key(function) if function is not None else None
    return known[name]


def traced_run_with_retry(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `run_with_retry`, told."""

    @functools.wraps(original)
    def run_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        config = task.config
        log = config[CONF].get(SEND) if config else None
        if not isinstance(log, Send):
            return original(task, *args, **kwargs)
        observer = log.observer
        gates = observer.recorder.gates
        if gates is not None:
            gates.stand("ready", log.id, observer.ns)
        observer.task_started(log, task.input)
        try:
            out = original(task, *args, **kwargs)
        except BaseException as exc:
            _tell_failure(log, task, exc)
            if gates is not None:
                gates.stand("execute", log.id, observer.ns)
            raise
        if _TOLD in local.__dict__:
            del local.told
        observer.task_ended(log, task.input, "finished", None, (), None)
        if gates is not None:
            gates.stand("execute", log.id, observer.ns)
        return out

    return run_with_retry


def traced_arun_with_retry(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the async twin."""

    @functools.wraps(original)
    async def arun_with_retry(task: Any, *args: Any, **kwargs: Any) -> Any:
        config = task.config
        log = config[CONF].get(SEND) if config else None
        if not isinstance(log, Send):
            return await original(task, *args, **kwargs)
        observer = log.observer
        gates = observer.recorder.gates
        if gates is not None:
            await gates.astand("ready", log.id, observer.ns)
        observer.task_started(log, task.input)
        try:
            out = await original(task, *args, **kwargs)
        except BaseException as exc:
            _tell_failure(log, task, exc)
            if gates is not None and not isinstance(exc, asyncio.CancelledError):
                await gates.astand("execute", log.id, observer.ns)
            raise
        if _TOLD in local.__dict__:
            del local.told
        observer.task_ended(log, task.input, "finished", None, (), None)
        if gates is not None:
            await gates.astand("execute", log.id, observer.ns)
        return out

    return arun_with_retry


_TOLD = "told"


def outcome_of(exc: BaseException | None) -> str:
    """Return how a task ended, by the exception that left its node."""
    if exc is None:
        return "finished"
    if isinstance(exc, GraphInterrupt):
        return "interrupt"
    if isinstance(exc, GraphBubbleUp):
        return "bubble"
    return "error" if isinstance(exc, Exception) else "cancelled"


def _tell_failure(log: Send, task: Any, exc: BaseException) -> None:
    local.__dict__.pop(_TOLD, None)
    observer = log.observer
    outcome, error, asked = outcome_of(exc), None, ()
    if outcome == "interrupt":
        found = exc.args[0] if exc.args else ()
        snap = observer.recorder.snap
        asked = tuple(ev.InterruptInfo(str(i.id), snap(K.INTERRUPT, i.value), task.id, task.name) for i in found or ())
    elif outcome != "bubble":
        error = values.error_text(exc)
    observer.task_ended(log, task.input, outcome, error, asked, sources.of_traceback(exc))
