"""`update_state`: what it applies, seen from inside."""

from __future__ import annotations

import contextvars
import functools
import sys
from collections.abc import Callable
from typing import Any

from hitl_lab.tracing import reading, sources
from hitl_lab.tracing.observer import LoopObserver
from hitl_lab.tracing.recorder import CURRENT
from hitl_lab.tracing.seams.calls import untracked, updated_channels
from hitl_lab.tracing.seams.names import (
    CONF,
    KNOWN,
    K,
)

_updating: contextvars.ContextVar[reading.Update | None] = contextvars.ContextVar("hitl_lab_update", default=None)


def update_apply_writes(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `apply_writes` as `update_state` calls it."""

    @functools.wraps(original)
    def apply_writes(checkpoint: Any, channels: Any, tasks: Any, *args: Any, **kwargs: Any) -> Any:
        update = _updating.get()
        if update is None or update.recorder.dead:
            return original(checkpoint, channels, tasks, *args, **kwargs)
        tasks = list(tasks)
        update.observer.knows(untracked(channels))
        _quietly(update, update.observer.channels.read, channels)
        out = original(checkpoint, channels, tasks, *args, **kwargs)
        _quietly(update, update.applied, tasks, channels, updated_channels(out))
        return out

    return apply_writes


def _quietly(update: reading.Update, call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)
    except Exception as exc:
        update.recorder.fail(update.action, exc)
        return None


def _update_of(graph: Any, config: Any, supersteps: Any, frame: Any) -> reading.Update | None:
    recorder = CURRENT.get()
    if recorder is None or recorder.dead or recorder.closed or _updating.get() is not None:
        return None
    try:
        conf = (config or {}).get(CONF, {})
        ns = tuple(part for part in str(conf.get(K.CONFIG_KEY_CHECKPOINT_NS) or "").split(K.NS_SEP) if part)
        observer = LoopObserver(recorder, recorder.new_run(), ns, **KNOWN)
        own = graph.checkpointer if hasattr(graph.checkpointer, "get_tuple") else None
        saver = conf.get(K.CONFIG_KEY_CHECKPOINTER) or own
        above = frame.f_back
        single = above is not None and frame.f_code.co_name in ("update_state", "aupdate_state")
        action = frame.f_code.co_name if single else "bulk_update_state"
        user = sources.user_frame(frame)
        source = sources.of_frame(user) if user is not None else recorder.caller
        return reading.Update(observer, graph, saver, config, supersteps, action, source, K.CONFIG_KEY_CHECKPOINTER)
    except Exception as exc:
        recorder.fail("update_state", exc)
        return None


def traced_bulk_update_state(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `bulk_update_state`, told as a step of its own."""

    @functools.wraps(original)
    def bulk_update_state(self: Any, config: Any, supersteps: Any, *args: Any, **kwargs: Any) -> Any:
        update = _update_of(self, config, supersteps, sys._getframe(1))
        if update is None:
            return original(self, config, supersteps, *args, **kwargs)
        _quietly(update, reading.drive, update.begin())
        token = _updating.set(update)
        try:
            out = original(self, config, supersteps, *args, **kwargs)
        except BaseException as exc:
            _quietly(update, update.failed, exc)
            raise
        finally:
            _updating.reset(token)
        _quietly(update, reading.drive, update.finish(out))
        return out

    return bulk_update_state


def traced_abulk_update_state(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the async twin."""

    @functools.wraps(original)
    async def abulk_update_state(self: Any, config: Any, supersteps: Any, *args: Any, **kwargs: Any) -> Any:
        update = _update_of(self, config, supersteps, sys._getframe(1))
        if update is None:
            return await original(self, config, supersteps, *args, **kwargs)
        await _aquietly(update, update.begin())
        token = _updating.set(update)
        try:
            out = await original(self, config, supersteps, *args, **kwargs)
        except BaseException as exc:
            _quietly(update, update.failed, exc)
            raise
        finally:
            _updating.reset(token)
        await _aquietly(update, update.finish(out))
        return out

    return abulk_update_state


async def _aquietly(update: reading.Update, reads: reading.Reads) -> None:
    try:
        await reading.adrive(reads)
    except Exception as exc:
        update.recorder.fail(update.action, exc)
