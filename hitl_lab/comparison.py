"""Several frame lists on one slider: aligned by phase, with the rows at which they differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from hitl_lab.frames import FrameList
from hitl_lab.sentences import plural

SCHEMA = "hitl_lab.comparison"
VERSION = 1

_NAMES = re.compile(r"\b([CTWI])\d+\b")
Row = list[int | None]
Key = tuple[str, str, str, str]


def comparison(lists: Sequence[FrameList], titles: Sequence[str]) -> dict[str, Any]:
    """Return the document of a comparison: {title, panes, rows, differences}.

    rows: for each place on the slider the step of each list, None where a list has no such step. differences:
    [row, what differs in words, the panes it concerns].
    """
    keys = [[_key(frames, k) for k in range(len(frames))] for frames in lists]
    rows: list[Row] = [[k] for k in range(len(lists[0]))]
    at: list[Key] = list(keys[0])
    for mine in keys[1:]:
        rows, at = _merge(rows, at, mine)
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "title": " · ".join(titles),
        "panes": [{"title": title, "document": frames.document} for title, frames in zip(titles, lists, strict=True)],
        "rows": rows,
        "differences": _differences(rows, lists, titles),
    }


def _event(frames: FrameList, k: int) -> tuple[dict[str, Any], dict[str, Any]]:
    document = frames.document
    event = document["events"][document["steps"][k]]
    return event, document["runs"][document["spaces"][event["space"]]["run"]]


def _key(frames: FrameList, k: int) -> Key:
    """What makes two steps the same place: the action, the phase, the kind of event, the node it is about."""
    event, run = _event(frames, k)
    tasks = frames.document["tasks"]
    about = [event["task"]] if "task" in event else [task for task, _ in event.get("states", ())]
    return run["name"], event["phase"], event["kind"], " ".join(tasks[task]["node"] for task in about)


def _merge(rows: list[Row], at: list[Key], mine: list[Key]) -> tuple[list[Row], list[Key]]:
    width = len(rows[0]) if rows else 1
    out: list[Row] = []
    keys: list[Key] = []

    def put(row: Row | None, k: int | None, key: Key) -> None:
        out.append([*(row if row is not None else [None] * width), k])
        keys.append(key)

    for tag, a, b, c, d in SequenceMatcher(None, at, mine, autojunk=False).get_opcodes():
        if tag == "equal":
            for i in range(b - a):
                put(rows[a + i], c + i, at[a + i])
            continue
        # Within what differs, the same phase and kind of event is the same place, whichever node it is about.
        for tag2, e, f, g, h in SequenceMatcher(
            None, [k[:3] for k in at[a:b]], [k[:3] for k in mine[c:d]], autojunk=False
        ).get_opcodes():
            if tag2 == "equal":
                for i in range(f - e):
                    put(rows[a + e + i], c + g + i, at[a + e + i])
                continue
            for i in range(a + e, a + f):
                put(rows[i], None, at[i])
            for k in range(c + g, c + h):
                put(None, k, mine[k])
    return out, keys


def said(frames: FrameList, k: int) -> str:
    """Return the sentence of a step."""
    return _event(frames, k)[0].get("say", "")


def _plain(frames: FrameList, k: int) -> str:
    # C3 in one trace is C4 in the other when it made one checkpoint more: that alone is no difference.
    event, _ = _event(frames, k)
    drops = sorted(m[2] for m in event.get("marks", ()) if m[1] == 0 and m[3] == "drop")
    return _NAMES.sub(r"\1", said(frames, k)) + " ".join(drops)


def _differences(rows: Sequence[Row], lists: Sequence[FrameList], titles: Sequence[str]) -> list[list[Any]]:
    out: list[list[Any]] = []
    missing: frozenset[int] = frozenset()
    for n, row in enumerate(rows):
        there = [i for i, k in enumerate(row) if k is not None]
        absent = frozenset(i for i, k in enumerate(row) if k is None)
        if absent:
            if absent != missing:
                size = _block(rows, n, absent)
                names = ", ".join(titles[i] for i in there)
                first = there[0]
                more = f" (and {size - 1} more)" if size > 1 else ""
                out.append([n, f"Only in {names}{more}: {said(lists[first], row[first])}", there])  # type: ignore[arg-type]
        else:
            told = {i: _plain(lists[i], row[i]) for i in there}  # type: ignore[arg-type]
            if len(set(told.values())) > 1:
                text = " — ".join(f"{titles[i]}: {said(lists[i], row[i])}" for i in there)  # type: ignore[arg-type]
                out.append([n, text, there])
        missing = absent
    return out


def _block(rows: Sequence[Row], n: int, absent: frozenset[int]) -> int:
    size = 0
    while n + size < len(rows) and frozenset(i for i, k in enumerate(rows[n + size]) if k is None) == absent:
        size += 1
    return size


def comparison_text(document: dict[str, Any], lists: Sequence[FrameList]) -> str:
    """Return the whole comparison as text: each place once if all say the same there, else one line a list."""
    titles = [pane["title"] for pane in document["panes"]]
    wide = max(map(len, titles))
    marked = {row: i for i, (row, _, _) in enumerate(document["differences"], 1)}
    places, differing = plural(len(document["rows"]), "place"), plural(len(marked), "difference")
    out = [f"Comparison: {document['title']} · {places}, {differing}"]
    for n, row in enumerate(document["rows"]):
        told = [said(lists[i], k) if k is not None else "–" for i, k in enumerate(row)]
        plain = {_plain(lists[i], k) if k is not None else "–" for i, k in enumerate(row)}
        mark = f"  ≠ {marked[n]}" if n in marked else ""
        if len(plain) == 1:
            out.append(f"{n + 1:>4}  {told[0]}")
        else:
            out += [
                f"{n + 1:>4}{mark}",
                *(f"      {title:<{wide}}  {text}" for title, text in zip(titles, told, strict=True)),
            ]
    return "\n".join(out)
