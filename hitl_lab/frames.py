"""Frames: what each step of a trace shows, as plain data; made from story and ledger, and all that a view reads.

A frame is not stored. `frames()` makes one document whose size grows with the events, and `frame_at(document, k)`
(in `hitl_lab.frame_view`; the same in JavaScript in `views/stepper.js`) computes the whole view of step k from it by
index, so that 10,000 events neither weigh 10,000 states nor are read again at each step. The document is described in
`schema/frames.schema.json`.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hitl_lab import frame_view
from hitl_lab._frame_book import Book
from hitl_lab._steady import collector_paused

if TYPE_CHECKING:
    from hitl_lab.trace import Trace
    from hitl_lab.tracing.events import Event

SCHEMA = "hitl_lab.frames"
VERSION = 1

SourceReader = Callable[["Event"], "dict[str, Any] | None"]
"""Gives the installed source at work in an event: {"file", "function", "first", "lines", "deciding"}, or None."""


class FrameList(Sequence[dict[str, Any]]):
    """The frames of a trace: a document, and the view of each step computed when asked for.

    document: JSON-ready. len(): the number of steps. [k]: the frame of step k, from 0.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @cached_property
    def _index(self) -> frame_view.Index:
        return frame_view.Index(self.document)  # a page that is only sent the document needs none

    def __len__(self) -> int:
        return len(self.document["steps"])

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        size = len(self)
        if not -size <= k < size:
            raise IndexError(f"there is no step {k}: the trace has {size}")
        return frame_view.frame_at(self._index, k % size)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[k] for k in range(len(self)))

    def text(self, value: int) -> str:
        """Return the one-line text of a value that a frame names by its number."""
        return self.document["values"][value][0]

    def step_of(self, event: int) -> int:
        """Return the step, from 0, that tells an event by its number in `str(trace)` and in findings, from 1."""
        return bisect_left(self.document["steps"], event - 1)

    def to_json(self) -> str:
        """Return the document as JSON in pure ASCII."""
        return json.dumps(self.document, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def frames(
    trace: Trace,
    *,
    title: str = "",
    source: SourceReader | None = None,
    drawing: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
) -> FrameList:
    """Return the frames of a trace.

    Args:
        trace: also one that is still being recorded: the frames so far.
        title: shown above the steps; default the graph's name.
        source: reads the installed source for the source panel; default None leaves the panel out.
        drawing: lays a graph out, see `hitl_lab.views.graph.drawing`; default None gives a list of nodes.
    """
    with collector_paused():
        document = Book(trace, source=source, drawing=drawing).document()
    document["title"] = title or document["title"]
    return FrameList({"schema": SCHEMA, "version": VERSION, **document})


def schema() -> dict[str, Any]:
    """Return the JSON schema of the document."""
    return json.loads(files("hitl_lab").joinpath("schema/frames.schema.json").read_text(encoding="utf-8"))


GROWING = (
    "runs",
    "spaces",
    "tasks",
    "nodes",
    "graphs",
    "checkpoints",
    "writes",
    "values",
    "sources",
    "events",
    "steps",
)
"""The lists of a document that get longer while a run goes on."""


def patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return what turns document `old` into `new`: for each list the first place that differs and what follows.

    Sent to the browser while a run goes on, so that a step costs what it added; see the contract in `stepper.js`.
    """
    out: dict[str, Any] = {}
    for name in GROWING:
        a, b = old.get(name, []), new.get(name, [])
        keep = 0
        for x, y in zip(a, b, strict=False):
            if x != y:
                break
            keep += 1
        if keep < len(a) or keep < len(b):
            out[name] = {"from": keep, "items": b[keep:]}
    return out
