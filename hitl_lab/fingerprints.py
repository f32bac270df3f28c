"""Fingerprints of live values: whether one was changed in place between two looks at it."""

from __future__ import annotations

from itertools import chain, compress
from operator import attrgetter, is_
from typing import Any, NamedTuple


def fingerprint(value: Any, left: int = 24) -> Any:
    """Return something that changes if a bounded part of `value` is changed in place.

    Looks at the last four and the first item of a list, and at the fields and dicts within them. Costs a few
    microseconds, and is good only while `value` is alive.
    """
    try:
        return _print(value, [left, True])
    except Exception:
        return None


def whole_fingerprint(value: Any, left: int = 24) -> Any:
    """Return the same if it covers every part of `value`, else None."""
    seen = [left, True]
    try:
        found = _print(value, seen)
    except Exception:
        return None
    return found if seen[1] else None


LEAVES = frozenset({str, int, float, bool, bytes, type(None)})
"""Types whose values cannot be changed in place."""


class _Kinds(dict[type, bool]):
    """Whether values of a type can change in place, worked out once a type."""

    def __missing__(self, kind: type) -> bool:
        if len(self) > 2_000:
            self.clear()
        known = self[kind] = kind not in LEAVES
        return known


can_change = _Kinds().__getitem__
"""Whether values of a type can change in place: for `compress`, which picks such parts without a loop of Python's."""


class _Masks(dict[tuple[type, ...], tuple[list[bool], list[bool], bool]]):
    """Of parts with these types: which are leaves, which are not, and whether the latter are all lists and dicts."""

    def __missing__(self, kinds: tuple[type, ...]) -> tuple[list[bool], list[bool], bool]:
        if len(self) > 2_000:
            self.clear()
        inner = [kind not in LEAVES for kind in kinds]
        known = self[kinds] = [not own for own in inner], inner, {list, dict}.issuperset(compress(kinds, inner))
        return known


_MASKS = _Masks()


def _print(value: Any, seen: list[Any]) -> Any:
    """Return the print of what is no leaf. seen: how many such may still be looked into, and whether all were."""
    kind = type(value)
    if kind in LEAVES:
        return value
    if seen[0] <= 0:
        seen[1] = False
        return id(value)
    seen[0] -= 1
    # Lists and dicts count by what is in them: a copy in the same place is no change.
    if kind is dict:
        what, parts = tuple(map(id, value)), list(value.values())
    elif kind is list:
        what, parts = len(value), value
        if len(value) > 5:
            parts, seen[1] = [*value[-4:], value[0]], False
    else:
        what, fields = id(value), getattr(value, "__dict__", None)
        if type(fields) is not dict or callable(value):
            seen[1] = False
            return what, len(value) if kind is set else 0
        parts = list(fields.values())
    # By the types, too: True equals 1.
    kinds = tuple(map(type, parts))
    leaf, changes, bare = _MASKS[kinds]
    leaves, inner = tuple(compress(parts, leaf)), list(compress(parts, changes))
    # A message has four empty lists and dicts: to go over them, or into them, was half the cost.
    if bare and not any(inner):
        return what, kinds, leaves
    of = [0 if (type(v) is dict or type(v) is list) and not v else _print(v, seen) for v in inner]
    return what, kinds, leaves, of


class Look(NamedTuple):
    """How a list of objects was found: of the items that are looked at, all fields, one after the other.

    size: of the list. items: those looked at. empty: the lists and dicts among the parts that had nothing in them; a
    message has four. deep: the others, each with its print.
    """

    size: int
    items: list[Any]
    parts: tuple[Any, ...]
    empty: list[Any]
    deep: list[tuple[Any, Any]]


_EMPTY_LIST = 0
# How many lists and dicts that are not empty are looked into, in all items together, and how far into each.
_DEEP, _LEFT = 20, 4
_fields = attrgetter("__dict__")


def look(value: Any) -> Any:
    """Return how `value` is found now, for `changed`: a Look where that will do, else its fingerprint.

    The fields of all messages at once take less than half the time that a print of each takes.
    """
    if type(value) is list:
        if not value:
            return _EMPTY_LIST
        try:
            return _look(value) or fingerprint(value)
        except Exception:
            pass
    return fingerprint(value)


def _look(value: list[Any]) -> Look | None:
    items = _items(value)
    if any(map(callable, items)):
        return None
    parts = _parts(items)
    _, changes, bare = _MASKS[tuple(map(type, parts))]
    if not bare:
        return None
    empty = list(compress(parts, changes))
    if not any(empty):
        return Look(len(value), items, parts, empty, [])
    full = [part for part in empty if part]
    if len(full) > _DEEP:
        return None
    deep = [(part, fingerprint(part, _LEFT)) for part in full]
    return Look(len(value), items, parts, [part for part in empty if not part], deep)


def _items(value: list[Any]) -> list[Any]:
    return [*value[-4:], value[0]] if len(value) > 5 else value.copy()


def _parts(items: list[Any]) -> tuple[Any, ...]:
    # Raises where an object has no `__dict__` of its own.
    return tuple(chain.from_iterable(map(dict.values, map(_fields, items))))


def changed(before: Any, value: Any) -> bool:
    """Whether what was looked at in `value` has changed since `look(value)` gave `before`.

    False where nothing could be seen before.
    """
    if type(before) is not Look:
        now = _EMPTY_LIST if type(value) is list and not value else fingerprint(value)
        return before is not None and before != now
    if type(value) is not list or len(value) != before.size:
        return True
    try:
        items = _items(value)
        if not all(map(is_, items, before.items)):
            return True
        parts = _parts(items)
        if len(parts) != len(before.parts):
            return True
        if all(map(is_, parts, before.parts)):
            return any(before.empty) or any(was != fingerprint(part, _LEFT) for part, was in before.deep)
        deep = {id(part): was for part, was in before.deep}
        return any(_replaced(was, now, deep) for was, now in zip(before.parts, parts, strict=True))
    except Exception:
        return True


def _replaced(was: Any, now: Any, deep: dict[int, Any]) -> bool:
    if type(was) is not type(now):
        return True
    if type(was) in LEAVES:
        return was is not now and bool(was != now)
    # Another list or dict with the same in it is no change.
    return bool(now) if id(was) not in deep else bool(deep[id(was)] != fingerprint(now, _LEFT))
