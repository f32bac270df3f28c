"""`compare`: traces side by side under one slider, one difference at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets

from hitl_lab.comparison import comparison, comparison_text
from hitl_lab.views import html
from hitl_lab.views.plain import TextView, trace_frames

try:
    from hitl_lab.views.stepper import View
except ImportError:  # no widgets installed: the text is complete
    View = TextView

if TYPE_CHECKING:
    from hitl_lab.trace import Trace


class Comparison(View):
    """Steppers side by side; see `compare`. position is a trait: the place on the slider, from 1."""

    position = traitlets.Int(1).tag(sync=True)
    controls = traitlets.List().tag(sync=True)

    def __init__(self, traces: Sequence[Trace], titles: Sequence[str]) -> None:
        # Without the installed source: it is the same for all, and each trace's own stepper shows it.
        self.frames = tuple(trace_frames(t, title=name, source=False) for t, name in zip(traces, titles, strict=True))
        document = comparison(self.frames, titles)
        self.rows: list[list[int | None]] = document["rows"]
        self.differences: list[list[Any]] = document["differences"]
        super().__init__(document, comparison_text(document, self.frames))

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the comparison as one self-contained HTML file; return its path."""
        return html.write(self._plain, path, text=self._text)


def compare(a: Trace, b: Trace, *more: Trace, titles: Sequence[str] = ()) -> Comparison:
    """Show traces side by side, aligned by phase, on one slider that jumps from difference to difference.

    Args:
        a, b, more: the traces, such as the broken node's and each fix's.
        titles: one a trace; default "A", "B", ...

    Raises:
        ValueError: as many titles as traces are needed.
    """
    traces = (a, b, *more)
    names = [str(t) for t in titles] or [chr(ord("A") + i) for i in range(len(traces))]
    if len(names) != len(traces):
        raise ValueError(f"compare() was given {len(traces)} traces and {len(names)} titles: give one title a trace.")
    return Comparison(traces, names)
