"""Differences between snapshots as lines of (path, before, after), and a snapshot as several lines of text. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from hitl_lab.value_text import clean, show
from hitl_lab.values import is_mark

LINES_LIMIT = 40
FULL_LIMIT = 20_000
_ABSENT = object()


class Line(NamedTuple):
    """One place where two values differ.

    path: such as "messages[1].additional_kwargs.risk". before, after: snapshots, None with `had` or `has` False.
    """

    path: str
    before: Any
    after: Any
    had: bool = True
    has: bool = True


def differences(path: str, before: Any, after: Any, *, limit: int = LINES_LIMIT) -> list[Line]:
    """Return where `after` differs from `before`, leaf by leaf; beyond `limit` a last line says that there are more."""
    out: list[Line] = []
    for line in _walk(path, before, after):
        if len(out) == limit:
            out.append(Line(path, None, {"$": "more", "n": 1}, had=False))
            break
        out.append(line)
    return out


def added(path: str, after: Any) -> Line:
    """Return the line of a value that was not there before."""
    return Line(path, None, after, had=False)


def _walk(path: str, before: Any, after: Any) -> Iterator[Line]:
    if type(before) is type(after) and before == after:
        return
    a, b = _parts(before), _parts(after)
    if a is None or b is None or a[0] != b[0] or not (a[1] or b[1]):
        yield Line(path, before, after)
        return
    if isinstance(before, list) and len(before) != len(after):
        yield from _aligned(path, before, after)
        return
    left, right = a[1], b[1]
    for key in [*left, *(k for k in right if k not in left)]:
        x, y = left.get(key, _ABSENT), right.get(key, _ABSENT)
        inner = path + key
        if x is _ABSENT:
            yield Line(inner, None, y, had=False)
        elif y is _ABSENT:
            yield Line(inner, x, None, has=False)
        else:
            yield from _walk(inner, x, y)


def _aligned(path: str, before: list[Any], after: list[Any]) -> Iterator[Line]:
    """Lists of different length: an item put in the middle is one difference, not one for each item behind it."""
    match = SequenceMatcher(
        None, [show(v, FULL_LIMIT) for v in before], [show(v, FULL_LIMIT) for v in after], autojunk=False
    )
    for tag, a, b, c, d in match.get_opcodes():
        if tag == "equal":
            continue
        both = min(b - a, d - c)
        for i in range(both):
            yield from _walk(f"{path}[{c + i}]", before[a + i], after[c + i])
        for i in range(a + both, b):
            yield Line(f"{path}[{i}]", before[i], None, has=False)
        for i in range(c + both, d):
            yield Line(f"{path}[{i}]", None, after[i], had=False)


def _parts(value: Any) -> tuple[str, dict[str, Any]] | None:
    """Return what kind of container a snapshot is and its parts by the step that leads to them; None for a leaf."""
    if isinstance(value, list):
        return "list", {f"[{i}]": v for i, v in enumerate(value)}
    if not isinstance(value, dict):
        return None
    if is_mark(value, "obj"):
        return "obj " + value["type"], {f".{clean(k)}": v for k, v in value["fields"].items()}
    if is_mark(value):
        return None
    return "dict", {f".{clean(k)}" if k.isidentifier() else f"[{show(k)}]": v for k, v in value.items()}


def pretty(value: Any, width: int = 76) -> str:
    """Return a snapshot as lines of about `width` characters, at most FULL_LIMIT in all; controls are escaped."""
    text = "\n".join(_lines(value, "", width))
    return text if len(text) <= FULL_LIMIT else text[:FULL_LIMIT] + "…"


def _lines(value: Any, indent: str, width: int) -> Iterator[str]:
    line = show(value, FULL_LIMIT)
    opening = _opening(value)
    if len(indent) + len(line) <= width or opening is None:
        yield indent + line
        return
    start, items, end = opening
    yield indent + start
    for label, item in items:
        lines = list(_lines(item, indent + "  ", width))
        lines[0] = f"{indent}  {label}{lines[0].lstrip(' ')}"
        yield from lines
    yield indent + end


def _opening(value: Any) -> tuple[str, list[tuple[str, Any]], str] | None:
    if isinstance(value, list) and value:
        return "[", [("", v) for v in value], "]"
    if not isinstance(value, dict) or not value:
        return None
    if is_mark(value, "obj"):
        return f"{value['type']}(", [(f"{clean(k)}=", v) for k, v in value["fields"].items()], ")"
    if is_mark(value, "tuple") and value["items"]:
        return "(", [("", v) for v in value["items"]], ")"
    if is_mark(value):
        return None
    return "{", [(f"{clean(k)}: ", v) for k, v in value.items()], "}"
