"""What a view is where no widgets are installed: its text. And the frames of a trace, which every view shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import traitlets

from hitl_lab.frames import FrameList, frames
from hitl_lab.views import graph

if TYPE_CHECKING:
    from hitl_lab.trace import Trace


def trace_frames(trace: Trace, *, title: str = "", source: bool = True) -> FrameList:
    """Return the frames of a trace with the graph laid out and, with `source`, the installed source of each step."""
    from hitl_lab.tracing.installed_source import read

    return frames(trace, title=title, source=read if source else None, drawing=graph.drawing)


class TextView(traitlets.HasTraits):
    """Stands for a widget of hitl_lab: the same document and traits, shown as text.

    document: what the widget would show. text: what text/plain holds.
    """

    def __init__(self, document: dict[str, Any], text: str, **traits: Any) -> None:
        self._plain = document
        self._text = text
        super().__init__(**traits)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text
