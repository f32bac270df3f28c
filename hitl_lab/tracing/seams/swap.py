"""Swapping the names in, and putting the very same objects back."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from hitl_lab.tracing import sources, stores
from hitl_lab.tracing.recorder import CURRENT
from hitl_lab.tracing.seams.calls import loop_apply_writes
from hitl_lab.tracing.seams.loops import Traced, TracedAsyncLoop, TracedSyncLoop
from hitl_lab.tracing.seams.names import (
    L,
    M,
    R,
)
from hitl_lab.tracing.seams.runner import GatedRunner, TracedRunner
from hitl_lab.tracing.seams.tasks import current_task, send_of, traced_arun_with_retry, traced_run_with_retry
from hitl_lab.tracing.seams.updates import traced_abulk_update_state, traced_bulk_update_state, update_apply_writes

_lock = threading.RLock()
_depth = 0
_originals: list[tuple[Any, str, Any]] = []


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Swap the names in for as long as any `record()` is open; the last one out puts the very same objects back."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            _swap()
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _restore()


def is_installed() -> bool:
    """Whether any `record()` is open in the process."""
    return _depth > 0


def _swap() -> None:
    for holder, name, made in (
        (M, "SyncPregelLoop", functools.partial(_guard, TracedSyncLoop)),
        (M, "AsyncPregelLoop", functools.partial(_guard, TracedAsyncLoop)),
        (M, "PregelRunner", _runner_guard),
        (R, "run_with_retry", traced_run_with_retry),
        (R, "arun_with_retry", traced_arun_with_retry),
        (L, "apply_writes", loop_apply_writes),
        (M, "apply_writes", update_apply_writes),
        (M.Pregel, "bulk_update_state", traced_bulk_update_state),
        (M.Pregel, "abulk_update_state", traced_abulk_update_state),
        *stores.swaps(_tell_store),
    ):
        original = vars(holder)[name]
        _originals.append((holder, name, original))
        setattr(holder, name, made(original))


def _tell_store(label: Callable[[], str | None], via: str, frame: Any) -> None:
    found = current_task()
    if found is None:
        return
    observer, task = found
    try:
        text = label()
    except Exception as exc:
        observer.recorder.fail(via, exc)
        return
    if text is not None:
        observer.side_effect(task, text, via, sources.of_frame(frame))


def _restore() -> None:
    while _originals:
        holder, name, original = _originals.pop()
        setattr(holder, name, original)


def _guard(traced: type, original: type) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def construct(*args: Any, **kwargs: Any) -> Any:
        recorder = CURRENT.get()
        if recorder is not None and recorder.gates is not None:
            recorder.gates.check()
        nested = send_of(kwargs.get("config"))
        if nested is None and (recorder is None or recorder.dead or recorder.closed):
            return original(*args, **kwargs)
        loop = traced(*args, **kwargs)
        loop.begin_tracing(recorder, nested, sys._getframe(1))
        return loop

    return construct


def _runner_guard(original: type) -> Callable[..., Any]:
    @functools.wraps(original, updated=())
    def construct(*args: Any, **kwargs: Any) -> Any:
        loop = getattr(kwargs.get("put_writes", lambda: None)(), "__self__", None)
        if isinstance(loop, Traced):
            runner = (TracedRunner if loop.gates is None else GatedRunner)(*args, **kwargs)
            runner.observer, runner.loop = loop.observer, loop
            return runner
        return original(*args, **kwargs)

    return construct
