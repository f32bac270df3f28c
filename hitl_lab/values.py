"""Values as plain data: snapshots that later mutation cannot falsify, their differences, and their text.

A snapshot is JSON-like: None, bool, int, float, str, list, dict with plain str keys, or a marked dict with key "$":

| marked dict | stands for |
|---|---|
| {"$": "obj", "type": T, "fields": {...}} | a message, model, dataclass or other object with named fields |
| {"$": "str", "head": s, "len": n} | a string longer than STRING_LIMIT |
| {"$": "tuple"/"set", "items": [...]} | a tuple, a set (sorted by text) |
| {"$": "dict", "items": [[k, v], ...]} | a dict whose keys are not plain str |
| {"$": "bytes", "head": hex, "len": n} | bytes |
| {"$": "float", "text": "nan"} | nan, inf, -inf, which JSON has not |
| {"$": "repr", "type": T, "text": s} | anything else, by its repr without addresses |
| {"$": "more", "n": n} | n further items that were left out |
| {"$": "hidden"} | a value that `redact` hid |
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from operator import is_
from typing import Any

STRING_LIMIT = 2_000
ITEMS_LIMIT = 60
NODES_LIMIT = 600
DEPTH_LIMIT = 8
_BIG = 2**63

Redact = Callable[[str, Any], Any]
HIDDEN: dict[str, Any] = {"$": "hidden"}

_ELAPSED = re.compile(r"\(elapsed: [\d.]+ ?m?s\)")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
def snapshot(value: Any) -> Any:
    """Return `value` as bounded plain data that shares nothing mutable with it.

    At most NODES_LIMIT parts, DEPTH_LIMIT deep, ITEMS_LIMIT items of a collection (the first and the last half),
    STRING_LIMIT characters of a string. Never raises: a part that cannot be read is told in its place.
    """
    kind = type(value)
    if (kind is str and len(value) <= STRING_LIMIT) or value is None or kind is bool:
        return value
    # What most writes and the arguments of most sends are: a few numbers and words. The copy is looked at: another
    # thread may change the value meanwhile.
    if kind is list and len(value) <= ITEMS_LIMIT:
        items = value.copy()
        if all(map(_as_it_is, items)):
            return items
    elif kind is dict and len(value) <= ITEMS_LIMIT:
        fields = value.copy()
        if all(map(_as_it_is, fields.values())) and all(map(_plain, fields)):
            return fields
    return _Snapshot().take(value, 0)


def _as_it_is(value: Any) -> bool:
    kind = type(value)
    return (kind is int and -_BIG <= value < _BIG) or (kind is str and len(value) <= STRING_LIMIT) or value is None


def _plain(key: Any) -> bool:
    return type(key) is str and key[:1] != "$" and len(key) <= 200


class _Snapshot:
    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = NODES_LIMIT

    def take(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return value if len(value) <= STRING_LIMIT else _string(value)
        if kind is int:
            return value if -_BIG <= value < _BIG else {"$": "repr", "type": "int", "text": _int_text(value)}
        if kind is float:
            return value if math.isfinite(value) else {"$": "float", "text": repr(value)}
        self.left -= 1
        if self.left < 0 or depth >= DEPTH_LIMIT:
            return {"$": "more", "n": 1}
        try:
            return self._compound(value, kind, depth)
        except Exception as exc:  # a hostile __len__, property, __dict__...
            return {"$": "repr", "type": kind.__name__, "text": f"<{kind.__name__}: cannot be read, {_error(exc)}>"}

    def _compound(self, value: Any, kind: type, depth: int) -> Any:
        if kind is list:
            return self._items(value, depth)
        if kind is dict and len(value) <= ITEMS_LIMIT and (plain := self._plain(value, depth)) is not None:
            return plain
        if kind in _BY_FIELDS:  # what follows asks a dozen questions of it, and has answered them for its class
            return {"$": "obj", "type": kind.__name__, "fields": self._fields(named_fields(value), depth)}
        if kind is dict or isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, str):  # a str enum or the like
            return _string(str.__str__(value))
        if isinstance(value, bool | int | float):
            return self._repr(value, kind)
        if isinstance(value, tuple):
            if hasattr(value, "_fields"):
                return {
                    "$": "obj",
                    "type": kind.__name__,
                    "fields": self._fields(zip(value._fields, value, strict=False), depth),
                }
            return {"$": "tuple", "items": self._items(value, depth)}
        if isinstance(value, bytes | bytearray | memoryview):
            data = bytes(value[:64])
            return {"$": "bytes", "head": data.hex(), "len": len(value)}
        if isinstance(value, Set):
            part = sorted((self.take(v, depth + 1) for v in list(value)[:ITEMS_LIMIT]), key=repr)
            return {"$": "set", "items": part + _more(len(value) - len(part))}
        if isinstance(value, deque):
            return self._items(list(value), depth)
        if isinstance(value, BaseException):
            return {"$": "repr", "type": kind.__name__, "text": _error(value)}
        if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
            return {"$": "repr", "type": kind.__name__, "text": getattr(value, "__qualname__", kind.__name__)}
        fields = named_fields(value)
        if fields is not None:
            if not callable(value):
                if len(_BY_FIELDS) > 500:
                    _BY_FIELDS.clear()
                _BY_FIELDS[kind] = _is_model(kind)
            return {"$": "obj", "type": kind.__name__, "fields": self._fields(fields, depth)}
        return self._repr(value, kind)

    def _items(self, value: Sequence[Any], depth: int) -> list[Any]:
        size = len(value)
        if size <= ITEMS_LIMIT:
            deeper = depth + 1
            return [
                v
                if ((kind := type(v)) is str and len(v) <= STRING_LIMIT)
                or (kind is int and -_BIG <= v < _BIG)
                or v is None
                else self.take(v, deeper)
                for v in value
            ]
        half = ITEMS_LIMIT // 2
        # The last items matter most (messages are appended), so they get their share of the parts first.
        last = [self.take(v, depth + 1) for v in value[-half:]]
        first = [self.take(v, depth + 1) for v in value[:half]]
        return [*first, *_more(size - 2 * half), *last]

    def _plain(self, value: dict[Any, Any], depth: int) -> dict[str, Any] | None:
        """Return the snapshot of a small dict with plain keys, None if a key is of another kind."""
        left, deeper = self.left, depth + 1
        out: dict[str, Any] = {}
        for k, v in list(value.items()):
            if type(k) is not str or k[:1] == "$" or len(k) > 200:
                self.left = left
                return None
            out[k] = (
                v
                if ((kind := type(v)) is str and len(v) <= STRING_LIMIT)
                or (kind is int and -_BIG <= v < _BIG)
                or v is None
                else self.take(v, deeper)
            )
        return out

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Any:
        size = len(value)
        pairs = list(value.items()) if size <= ITEMS_LIMIT else _head(value.items(), ITEMS_LIMIT)
        if size <= ITEMS_LIMIT and all(type(k) is str and k[:1] != "$" and len(k) <= 200 for k, _ in pairs):
            return {k: self.take(v, depth + 1) for k, v in pairs}
        items: list[Any] = [[self.take(k, depth + 1), self.take(v, depth + 1)] for k, v in pairs]
        return {"$": "dict", "items": items + _more(size - len(pairs))}

    def _fields(self, fields: Any, depth: int) -> dict[str, Any]:
        deeper = depth + 1
        return {
            str(k): v
            if ((kind := type(v)) is str and len(v) <= STRING_LIMIT) or (kind is int and -_BIG <= v < _BIG) or v is None
            else self.take(v, deeper)
            for k, v in fields
        }

    def _repr(self, value: Any, kind: type) -> dict[str, Any]:
        return {"$": "repr", "type": kind.__name__, "text": safe_repr(value)}


_BY_FIELDS: dict[type, bool] = {}
"""Classes whose snapshots are told by named fields, as far as they were seen: whether it is a pydantic model."""


def _is_model(kind: type) -> bool:
    return hasattr(kind, "model_fields") or hasattr(kind, "__pydantic_fields__")


def _says_something(value: Any) -> bool:
    kind = type(value)
    if kind is str or kind is dict or kind is list:
        return bool(value)
    if kind is int or kind is bool or kind is float:
        return True
    return value is not None and value != {} and value != [] and value != ""


def named_fields(value: Any) -> list[tuple[str, Any]] | None:
    """Return the fields that say what `value` is, or None if it has none to name.

    Messages and other pydantic models: those that are set to something, without `type`. Dataclasses: all but
    those at their default. Objects with __slots__ such as LangGraph's Send: their slots.
    """
    kind = type(value)
    model = _BY_FIELDS.get(kind)
    if model or (model is None and _is_model(kind)):
        fields = vars(value)
        extra = getattr(value, "__pydantic_extra__", None)
        if not extra and "content" in fields and "additional_kwargs" in fields:
            return _message_fields(fields)
        pairs = [*fields.items(), *extra.items()] if extra else list(fields.items())
        told = [
            (k, v)
            for k, v in pairs
            if (v if (kind := type(v)) is str or kind is list or kind is dict else _says_something(v)) and k != "type"
        ]
        if ("content" in fields or (extra and "content" in extra)) and hasattr(value, "additional_kwargs"):
            # A message: its id first, its text next; a model's book-keeping says nothing about where a write goes.
            order = {"id": 0, "content": 1}
            told = [(k, v) for k, v in told if v is not False and k not in ("response_metadata", "usage_metadata")]
            if not any(k == "content" for k, _ in told):
                told.append(("content", vars(value).get("content")))
            told.sort(key=lambda kv: order.get(kv[0], 2))
        return told
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        out = []
        for f in dataclasses.fields(value):
            if not hasattr(value, f.name):
                continue
            v = getattr(value, f.name)
            if v is None or (f.default is not dataclasses.MISSING and v is f.default):
                continue
            out.append((f.name, v))
        return out
    slots = getattr(kind, "__slots__", None)
    if isinstance(slots, (tuple, list)) and slots and type(value).__repr__ is not object.__repr__:
        return [(k, getattr(value, k)) for k in slots if k[:1] != "_" and hasattr(value, k)]
    return None


# A model's book-keeping says nothing about where a write goes.
_LEFT_OUT = frozenset({"id", "content", "type", "response_metadata", "usage_metadata"})


def _message_fields(fields: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the fields of a message: its id first, its text next, then what else says something."""
    id_ = fields.get("id")
    told = [("id", id_), ("content", fields["content"])] if _says_something(id_) else [("content", fields["content"])]
    for k, v in fields.items():
        if v is None or v is False or k in _LEFT_OUT:
            continue
        kind = type(v)
        if v if kind is str or kind is list or kind is dict else _says_something(v):
            told.append((k, v))
    return told


def _string(value: str) -> Any:
    if len(value) <= STRING_LIMIT:
        return value
    return {"$": "str", "head": value[:STRING_LIMIT], "len": len(value)}


def _int_text(value: int) -> str:
    return f"<int of {value.bit_length()} bits>" if value.bit_length() > 4_000 else str(value)


def _more(n: int) -> list[Any]:
    return [{"$": "more", "n": n}] if n > 0 else []


def _head(items: Any, n: int) -> list[Any]:
    out = []
    for item in items:
        out.append(item)
        if len(out) == n:
            break
    return out


def safe_repr(value: Any) -> str:
    """Return repr(value) without addresses, at most STRING_LIMIT characters; never raises."""
    try:
        text = repr(value)
        if type(text) is not str:
            text = str(text)
    except Exception as exc:
        return f"<{type(value).__name__}: repr raised {type(exc).__name__}>"
    if len(text) > STRING_LIMIT:
        text = f"{text[:STRING_LIMIT]}… ({len(text):,} characters)"
    return _ADDRESS.sub("", text)


def _error(exc: BaseException) -> str:
    """Return "ValueError: text", at most 300 characters of it, without addresses and measured times."""
    try:
        text = str(exc)
    except Exception:
        text = "<str() raised>"
    # What asyncio puts into a cancellation is its own bookkeeping: tasks and callbacks with addresses.
    if not text or type(exc).__name__ == "CancelledError":
        return type(exc).__name__
    return f"{type(exc).__name__}: {_ELAPSED.sub('(elapsed: …)', _ADDRESS.sub('', text[:300]))}"


error_text = _error


def is_mark(value: Any, mark: str | None = None) -> bool:
    """Whether `value` is a marked dict (of the given mark)."""
    return type(value) is dict and "$" in value and (mark is None or value["$"] == mark)


# ---------------------------------------------------------------- changes between two values of a channel


def change(before: Any, after: Any, taken: Callable[[Any], Any] = snapshot) -> dict[str, Any] | None:
    """Return how a channel went from `before` to `after`, or None if it is the same object throughout.

    {"append": [values], "len": n} for a list that kept its items and grew; {"items": {index: value}, "len": n} for
    a list of the same length or longer with some items replaced; {"set": value} for all else. Items are compared
    by identity, which costs about 20 ns an item and is what reducers such as add_messages keep.
    """
    if type(before) is list and type(after) is list and before:
        size = len(before)
        if len(after) >= size:
            changed = []
            if not all(map(is_, before, after)):
                changed = [i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a is not b]
            added = after[size:]
            if not changed and not added:
                return None
            if not changed:
                return {"append": taken(list(added)), "len": len(after)}
            if len(changed) * 2 <= size or size <= 4:
                some = {str(i): taken(after[i]) for i in changed[:ITEMS_LIMIT]}
                out: dict[str, Any] = {"items": some, "len": len(after)}
                if added:
                    out["append"] = taken(list(added))
                return out
    elif before is after:
        return None
    return {"set": taken(after)}


def apply_change(before: Any, delta: Mapping[str, Any]) -> Any:
    """Return the snapshot after `delta`, from the snapshot before it. Pure; `before` is left as it was.

    A list longer than ITEMS_LIMIT keeps its first and last items and a {"$": "more"} between.
    """
    if "set" in delta:
        return delta["set"]
    items = list(before) if isinstance(before, list) else []
    gap = next((i for i, v in enumerate(items) if is_mark(v, "more")), None)
    missing = items[gap]["n"] - 1 if gap is not None else 0
    for key, value in delta.get("items", {}).items():
        i = int(key)
        at = i if gap is None or i < gap else i - missing
        if gap is not None and gap <= i <= gap + missing:
            continue
        if 0 <= at < len(items):
            items[at] = value
    items += delta.get("append", [])
    return _bounded(items)


def _bounded(items: list[Any]) -> list[Any]:
    gap = next((i for i, v in enumerate(items) if is_mark(v, "more")), None)
    if len(items) <= ITEMS_LIMIT + 1:
        return items
    half = ITEMS_LIMIT // 2
    out = items[half : len(items) - half]
    n = len(out) - 1 + items[gap]["n"] if gap is not None and half <= gap < len(items) - half else len(out)
    return [*items[:half], {"$": "more", "n": n}, *items[len(items) - half :]]


def frozen(snapshot: Any) -> Any:
    """Return a key that is equal for equal snapshots, for lookup in a dict."""
    if isinstance(snapshot, dict):
        return frozenset((k, frozen(v)) for k, v in snapshot.items())
    if isinstance(snapshot, list | tuple):
        return tuple(frozen(v) for v in snapshot)
    return snapshot


def same(a: Any, b: Any) -> bool:
    """Whether two live values are equal in structure, by type and fields rather than by identity.

    Used to compare what was returned with what the checkpointer gives back, which is always a copy. Bounded at
    100,000 parts, beyond which the rest counts as equal; never raises.
    """
    budget = [100_000]
    try:
        return _same(a, b, budget, 0)
    except Exception:
        return False


_LISTS = (list, tuple, deque)


def _same(a: Any, b: Any, budget: list[int], depth: int) -> bool:
    if a is b:
        return True
    budget[0] -= 1
    if budget[0] < 0 or depth > 60:
        return True
    ta, tb = type(a), type(b)
    # Asked of each message of a thread at the end of a run: in C first.
    if ta is tb and _BY_FIELDS.get(ta) and _equal(a.__dict__, b.__dict__):
        return True
    if ta is str or ta is int or ta is bool or a is None or b is None:
        return ta is tb and a == b
    if ta is float:
        return tb is float and (a == b or (a != a and b != b))
    if isinstance(a, _LISTS):
        return (
            isinstance(b, _LISTS)
            and len(a) == len(b)
            and all(_same(x, y, budget, depth + 1) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, Mapping):
        if not isinstance(b, Mapping) or len(a) != len(b):
            return False
        return all(k in b and _same(v, b[k], budget, depth + 1) for k, v in a.items())
    if isinstance(a, Set):
        return isinstance(b, Set) and a == b
    if ta.__name__ != tb.__name__:
        return False
    fa = vars(a) if hasattr(a, "__dict__") else dict(named_fields(a) or ())
    fb = vars(b) if hasattr(b, "__dict__") else dict(named_fields(b) or ())
    if fa or fb:
        return _equal(fa, fb) or _same(dict(fa), dict(fb), budget, depth + 1)
    if ta.__eq__ is not object.__eq__:
        return bool(a == b)
    return safe_repr(a) == safe_repr(b)


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # arrays have no truth
        return False
