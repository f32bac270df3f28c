"""What a node puts into the store or deletes from it: a side effect, which no pause takes back.

`put` and `delete` are swapped on LangGraph's base classes, and with `batch` on every store class that is there when the
recording begins, together with the seams. They call each other, and a background store calls `abatch` for what others
put: only the outermost call is told, and none that LangGraph's own store code makes.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

from langgraph.store.base import BaseStore, PutOp

Tell = Callable[[Callable[[], "str | None"], str, Any], None]
_NAMES = ("put", "delete", "aput", "adelete", "batch", "abatch")
_OPS_SHOWN = 3

# Whether a told call is at work here; a sync call of an async store goes on in another thread with a copy of it.
_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("hitl_lab_store", default=False)


def swaps(tell: Tell) -> Iterator[tuple[type, str, Callable[[Any], Any]]]:
    """Yield (class, method name, what makes the watched method of the original one).

    tell: called with (what makes the label, None for a batch that only reads; via; the caller's frame) once a method
    has come back.
    """
    for holder in _classes(BaseStore):
        for name in _NAMES:
            method = vars(holder).get(name)
            if inspect.isfunction(method) and not getattr(method, "__isabstractmethod__", False):
                made = _awatched if inspect.iscoroutinefunction(method) else _watched
                yield holder, name, functools.partial(made, tell, name.removeprefix("a"))


def _classes(base: type) -> list[type]:
    found = [base]
    for cls in found:
        found += [c for c in type.__subclasses__(cls) if c not in found]
    return found


def _by_the_store(frame: Any) -> bool:
    return "/langgraph/store/" in frame.f_code.co_filename.replace("\\", "/")


def _label(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Return what a call changes, None if it only reads."""
    names = ("ops",) if name == "batch" else ("namespace", "key")
    named = dict(zip(names, args, strict=False)) | kwargs
    if name != "batch":
        return f"store.{_op(name, named.get('namespace'), named.get('key'))}"
    found = [op for op in named.get("ops") or () if isinstance(op, PutOp)]
    changes = [_op("delete" if op.value is None else "put", op.namespace, op.key) for op in found[:_OPS_SHOWN]]
    more = [f"{len(found) - _OPS_SHOWN} more"] if len(found) > _OPS_SHOWN else []
    return f"store.batch({', '.join(changes + more)})" if found else None


def _op(name: str, namespace: Any, key: Any) -> str:
    return f"{name}({'/'.join(str(part) for part in namespace or ())}, {key})"


def _read_once(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with the iterator that a batch may be given as a list: it can be read only once."""
    if name == "batch" and args and isinstance(args[0], Iterator):
        return (list(args[0]), *args[1:]), kwargs
    if name == "batch" and isinstance(kwargs.get("ops"), Iterator):
        return args, {**kwargs, "ops": list(kwargs["ops"])}
    return args, kwargs


def _watched(tell: Tell, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1)
        if _inside.get() or _by_the_store(caller):
            return original(self, *args, **kwargs)
        args, kwargs = _read_once(name, args, kwargs)
        token = _inside.set(True)
        try:
            out = original(self, *args, **kwargs)
        finally:
            _inside.reset(token)
        tell(functools.partial(_label, name, args, kwargs), f"store.{name}", caller)
        return out

    return watched


def _awatched(tell: Tell, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1)
        if _inside.get() or _by_the_store(caller):
            return await original(self, *args, **kwargs)
        args, kwargs = _read_once(name, args, kwargs)
        token = _inside.set(True)
        try:
            out = await original(self, *args, **kwargs)
        finally:
            _inside.reset(token)
        tell(functools.partial(_label, name, args, kwargs), f"store.{name}", caller)
        return out

    return watched
