"""What a loop calls, watched: `apply_writes` and the saver's `put_writes`; whom it asks, and who called it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from hitl_lab import values
from hitl_lab.tracing import events as ev
from hitl_lab.tracing import sources
from hitl_lab.tracing.seams.names import (
    CONF,
    K,
    UntrackedValue,
    local,
)


def untracked(channels: Any) -> frozenset[str]:
    """Return the names of the channels that LangGraph never saves."""
    return frozenset(name for name, channel in channels.items() if isinstance(channel, UntrackedValue))


def enter(loop: Any, where: str) -> list[tuple[Any, str]]:
    """Note on this thread which loop function is at work, so that `apply_writes`, a plain function, knows its caller.

    Returns the stack to pop when it is left: a context manager would cost three times as much, at each superstep.
    """
    try:
        stack = local.stack
    except AttributeError:
        stack = local.stack = []
    stack.append((loop, where))
    return stack


def loop_apply_writes(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `apply_writes` as a traced loop calls it."""

    @functools.wraps(original)
    def apply_writes(checkpoint: Any, channels: Any, tasks: Any, *args: Any, **kwargs: Any) -> Any:
        stack = getattr(local, "stack", None)
        if not stack:
            return original(checkpoint, channels, tasks, *args, **kwargs)
        loop, where = stack[-1]
        tasks = list(tasks)
        try:
            out = original(checkpoint, channels, tasks, *args, **kwargs)
        except BaseException as exc:
            loop.observer.half_applied(where, channels, values.error_text(exc))
            raise
        updated = out if type(out) is set else updated_channels(out)
        loop.observer.applied(where, loop.checkpoint["id"], tasks, channels, updated)
        return out

    return apply_writes


def updated_channels(out: Any) -> Any:
    """Return what `apply_writes` says it changed, None if this LangGraph does not say."""
    return out if isinstance(out, set | frozenset) else None


def watch_put_writes(loop: Any, put_writes: Callable[..., Any]) -> Callable[..., Any]:
    """Return the saver's `put_writes`, watched."""
    # Not the loop itself, which holds what is made here: they would keep each other.
    observer, gates = loop.observer, loop.observer.recorder.gates

    checkpoint_id = K.CONFIG_KEY_CHECKPOINT_ID

    def named(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        given = dict(zip(("config", "writes", "task_id"), args, strict=False)) | kwargs
        return given["config"], given["writes"], given["task_id"]

    def tell(args: tuple[Any, ...], size: int, error: str | None) -> None:
        observer.saver_put_writes(args[2], args[1], args[0][CONF].get(checkpoint_id), error, size)

    if inspect.iscoroutinefunction(put_writes):

        @functools.wraps(put_writes)
        async def awatched(*args: Any, **kwargs: Any) -> Any:
            if gates is not None and gates.gone:
                return None
            known = args if len(args) >= 3 else named(*args, **kwargs)
            size = len(known[1])
            try:
                out = await put_writes(*args, **kwargs)
            except BaseException as exc:
                tell(known, size, values.error_text(exc))
                raise
            tell(known, size, None)
            return out

        return awatched

    @functools.wraps(put_writes)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if gates is not None and gates.gone:
            return None
        known = args if len(args) >= 3 else named(*args, **kwargs)
        size = len(known[1])
        try:
            out = put_writes(*args, **kwargs)
        except BaseException as exc:
            tell(known, size, values.error_text(exc))
            raise
        tell(known, size, None)
        return out

    return watched


def checkpoint_arg(args: tuple[Any, ...]) -> str:
    """Return the id of the checkpoint that a put is given."""
    # (..., config, checkpoint, metadata, new_versions): what stands before them grew over the versions.
    return args[-3]["id"]


def interrupts_of(exc: BaseException, loop: Any) -> tuple[ev.InterruptInfo, ...]:
    """Return the questions of a pause, in the order of the tasks."""
    asked = exc.args[0] if exc.args else ()
    by_id = {}
    for tid, channel, value in getattr(loop, "checkpoint_pending_writes", ()):
        if channel == K.INTERRUPT:
            for item in value if isinstance(value, list | tuple) else (value,):
                by_id[getattr(item, "id", None)] = tid
    tasks = getattr(loop, "tasks", {})
    order = {tid: i for i, tid in enumerate(tasks)}
    snap = loop.observer.recorder.snap
    out = []
    for item in asked or ():
        tid = by_id.get(getattr(item, "id", None), "")
        node = tasks[tid].name if tid in tasks else ""
        out.append(
            (order.get(tid, len(order)), ev.InterruptInfo(str(item.id), snap(K.INTERRUPT, item.value), tid, node))
        )
    # LangGraph collects them from a set: their order in the exception is random, that of the tasks is not.
    return tuple(info for _, info in sorted(out, key=lambda pair: pair[0]))


def paused_nodes(loop: Any, reason: str, asked: tuple[ev.InterruptInfo, ...]) -> tuple[str, ...]:
    """Return the nodes that a pause stands at."""
    if reason == "interrupt":
        return tuple(dict.fromkeys(i.node for i in asked if i.node))
    if reason == "interrupt_before":
        at, tasks = loop.interrupt_before, [t for t in getattr(loop, "tasks", {}).values() if not t.writes]
    else:
        at, tasks = loop.interrupt_after, loop.just_ran
    return tuple(dict.fromkeys(t.name for t in tasks if (t.name in at if at != "*" else not _is_hidden(t))))


def _is_hidden(task: Any) -> bool:
    return "langsmith:hidden" in ((task.config or {}).get("tags") or ())


class Call(NamedTuple):
    """What started a loop. method: the public method. gives_output: whether its last event carries the output."""

    method: str
    source: ev.Source | None
    gives_output: bool = False


_METHODS = ("stream", "astream", "invoke", "ainvoke")
# `astream_events` ("v1", "v2") and `astream_log` read the graph's `astream` in a task of their own, in this function.
_READER = "consume_astream"


def call_site(frame: Any, graph: Any, config: Any) -> Call:
    """Return which public method started the loop, and the user's line that called it."""
    method, output, at = "invoke", False, frame
    for _ in range(16):
        if at is None or at.f_code is sources.TASK_STEP or not sources.is_machinery(at.f_code.co_filename):
            break
        name = at.f_code.co_name
        if name in _METHODS and at.f_code.co_filename.endswith("main.py"):
            method = name
        elif name == _READER and at.f_locals.get("runnable") is graph:
            method, output = _reader(at.f_locals)
        at = at.f_back
    if method.endswith("stream") and config[CONF].get(_EVENTS_V3):
        method += "_events"
    user = sources.user_frame(at)
    return Call(method, sources.of_frame(user) if user is not None else None, output)


_EVENTS_V3 = getattr(K, "CONFIG_KEY_STREAM_MESSAGES_V2", "")


def _reader(found: Any) -> tuple[str, bool]:
    """Return the method whose `_READER` has these locals, and whether its last event carries the output."""
    if "event_streamer" in found:
        return "astream_events", True  # "v2"
    v1 = getattr(found.get("stream"), "_schema_format", "") == "streaming_events"
    return ("astream_events" if v1 else "astream_log"), False
