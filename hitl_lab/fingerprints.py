"""Fingerprints of live values: whether one was changed in place between two looks at it."""

from __future__ import annotations

from itertools import compress
from typing import Any


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
