"""Places in source files, found at run time from frames and functions."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any

from hitl_lab.tracing.events import Source

_LOCK = threading.Lock()

# Code that is neither the user's nor the part of LangGraph that a reader should look at.
_MACHINERY = (
    "langgraph",
    "langchain_core",
    "langchain",
    "langsmith",
    "asyncio",
    "concurrent",
    "threading",
    "contextlib",
)


TASK_STEP = asyncio.Handle._run.__code__
"""Where the event loop goes on with a task: the end of the stack, as far as who called is concerned."""


@functools.lru_cache(maxsize=4096)
def short_file(filename: str) -> str:
    """Return `filename` without what is particular to this machine.

    Below site-packages (or the standard library): the path from there. A notebook cell: "<cell>". Below the working
    directory: relative. Elsewhere: the last two parts.
    """
    name = filename.replace("\\", "/")
    for mark in ("/site-packages/", "/dist-packages/"):
        if mark in name:
            return name.rsplit(mark, 1)[1]
    if name.startswith("<") or "/ipykernel_" in name or "/ipython-input-" in name:
        return "<cell>"
    if "/lib/python" in name and "/" in name.split("/lib/python", 1)[1]:
        return name.split("/lib/python", 1)[1].split("/", 1)[1]
    try:
        relative = os.path.relpath(name).replace("\\", "/")
    except ValueError:  # another drive on Windows
        relative = ".."
    return "/".join(name.split("/")[-2:]) if relative.startswith("..") else relative


# Every place that was seen, by its key, and the key of each.
_PLACES: list[Source] = []
_KEYS: dict[Source, int] = {}
# id(code) -> (that code, key by instruction). Looking a line up walks the code's line table, and hashing a code object
# hashes all its constants, at each write. The code is held, so that its id stays its own.
_SEEN: dict[int, tuple[CodeType, dict[int, int]]] = {}


def of_frame(frame: FrameType) -> Source:
    """Return the line a frame is at."""
    return _PLACES[key_of_frame(frame)]


def key_of_frame(frame: FrameType) -> int:
    """Return the key of the line a frame is at, for `by_key`."""
    code, at = frame.f_code, frame.f_lasti
    seen = _SEEN.get(id(code))
    if seen is None:
        if len(_SEEN) > 4_096:
            _SEEN.clear()
        seen = _SEEN[id(code)] = (code, {})
    key = seen[1].get(at)
    if key is None:
        key = seen[1][at] = key_of(_source(code, frame.f_lineno))
    return key


def key_of(source: Source) -> int:
    """Return the key of a place, the same number for the same place."""
    key = _KEYS.get(source)
    if key is None:
        with _LOCK:
            key = _KEYS.setdefault(source, len(_PLACES))
            if key == len(_PLACES):
                _PLACES.append(source)
    return key


def by_key(key: int | None) -> Source | None:
    """Return the place of a key."""
    return None if key is None else _PLACES[key]


def of_function(function: Any) -> Source | None:
    """Return where a function (or callable object, partial, bound method) is defined, None if it is no Python code."""
    for _ in range(8):
        if isinstance(function, functools.partial):
            function = function.func
        else:
            break
    try:
        function = inspect.unwrap(function)
    except ValueError:
        pass
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        code = getattr(getattr(type(function), "__call__", None), "__code__", None)  # noqa: B004 - its code is wanted
    return _source(code, code.co_firstlineno) if code is not None else None


@functools.lru_cache(maxsize=8192)
def _source(code: CodeType, line: int) -> Source:
    return Source(short_file(code.co_filename), getattr(code, "co_qualname", code.co_name), line)


@functools.lru_cache(maxsize=4096)
def is_machinery(filename: str) -> bool:
    """Whether a file belongs to LangGraph, its libraries or this recorder, not to the user."""
    name = filename.replace("\\", "/")
    short = short_file(filename)
    return short.split("/", 1)[0] in _MACHINERY or short.split(".", 1)[0] in _MACHINERY or "hitl_lab/tracing/" in name


def user_frame(frame: FrameType | None, limit: int = 60) -> FrameType | None:
    """Return the nearest frame at or above `frame` that is the user's own code, None within `limit` frames.

    None, too, in a task of asyncio that was made of machinery alone (by gather, by astream_events): what stands above
    it is who runs the event loop, which may be a kernel, and not who called.
    """
    while frame is not None and limit:
        if frame.f_code is TASK_STEP:
            return None
        if not is_machinery(frame.f_code.co_filename):
            return frame
        frame, limit = frame.f_back, limit - 1
    return None


def here(depth: int = 1) -> FrameType:
    """Return the frame `depth` calls above the caller."""
    return sys._getframe(depth + 1)


def of_traceback(exc: BaseException) -> Source | None:
    """Return the innermost line of the user's own code in the traceback of an exception."""
    found: Source | None = None
    tb = exc.__traceback__
    while tb is not None:
        if not is_machinery(tb.tb_frame.f_code.co_filename):
            found = _source(tb.tb_frame.f_code, tb.tb_lineno)
        tb = tb.tb_next
    return found
