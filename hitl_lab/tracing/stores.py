"""What a node puts into the store or deletes from it: a side effect, which no pause takes back.

`BaseStore.put` and its kin are swapped, by class, together with the seams. Not `batch`: each store has its own, and a
background store calls it outside of any task. So a node that calls `store.batch([...])` itself is not seen.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from langgraph.store.base import BaseStore
from langgraph.store.base.batch import AsyncBatchedBaseStore

Tell = Callable[[str, str, Any], None]
_NAMES = ("put", "delete", "aput", "adelete")


def swaps(tell: Tell) -> Iterator[tuple[type, str, Callable[[Any], Any]]]:
    """Yield (class, method name, what makes the watched method of the original one).

    tell: called with (label, via, the caller's frame) once a method has come back.
    """
    for holder in (BaseStore, AsyncBatchedBaseStore):
        for name in _NAMES:
            if name in vars(holder):
                yield holder, name, functools.partial(_awatched if name.startswith("a") else _watched, tell)


def _label(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, str]:
    named = dict(zip(("namespace", "key"), args, strict=False)) | kwargs
    name = name.removeprefix("a")
    namespace = "/".join(str(part) for part in named.get("namespace") or ())
    return f"store.{name}({namespace}, {named.get('key')})", f"store.{name}"


def _watched(tell: Tell, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        out = original(self, *args, **kwargs)
        tell(*_label(original.__name__, args, kwargs), sys._getframe(1))
        return out

    return watched


def _awatched(tell: Tell, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1)
        out = await original(self, *args, **kwargs)
        tell(*_label(original.__name__, args, kwargs), caller)
        return out

    return watched
