"""The stepper as a Jupyter widget: a frames document sent once, a position that Python reads and sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from hitl_lab.frames import patch
from hitl_lab.views import html
from hitl_lab.views.plain import trace_frames

if TYPE_CHECKING:
    from hitl_lab.trace import Trace


def _bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")


class View(anywidget.AnyWidget):
    """A widget that shows one document, and is its text twin wherever widgets are not shown.

    document: JSON as bytes, sent once and never touched by the page. twin: what text/plain holds.
    """

    _esm = html.script()
    _css = html.style()
    document = traitlets.Bytes().tag(sync=True)

    def __init__(self, document: dict[str, Any], text: str, **traits: Any) -> None:
        self._plain = document
        self._text = text
        super().__init__(document=_bytes(document), **traits)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        # ipywidgets would tell addresses and the document; stored outputs need the same text each time.
        return self._text

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        if html.instead_of_widgets():
            return {"text/plain": self._text, "text/html": html.frame(self._plain, text=self._text)}
        bundle = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = self._text  # whole: ipywidgets cuts it after 110 characters
        return bundle


class Stepper(View):
    """Steps through a trace: forward, back, to the next dropped write. Steps on without a kernel.

    Args:
        trace: what to show; also one that is still being recorded, see `update`.
        title: default the graph's name.
        source: show the installed LangGraph's source; default True.
        position: the step shown first, from 1.

    position is a trait: read it, set it, or link two steppers: `traitlets.link((a, "position"), (b, "position"))`.
    """

    position = traitlets.Int(1).tag(sync=True)
    controls = traitlets.List().tag(sync=True)

    def __init__(self, trace: Trace, *, title: str = "", source: bool = True, position: int = 1) -> None:
        self._trace, self._title, self._source = trace, title, source
        self._on_control: Callable[[str], None] | None = None
        self.frames = trace_frames(trace, title=title, source=source)
        super().__init__(self.frames.document, str(trace), position=position)
        self.on_msg(self._told)

    @traitlets.validate("position")
    def _bounded(self, proposal: Any) -> int:
        return min(max(1, proposal["value"]), max(1, len(self.frames)))

    @property
    def frame(self) -> dict[str, Any]:
        """The frame shown now, as plain data."""
        return self.frames[self.position - 1]

    def update(self) -> None:
        """Take in what the trace has recorded since: the page is sent what is new; a view on the last step follows."""
        before = self._plain
        self.frames = trace_frames(self._trace, title=self._title, source=self._source)
        self._plain, self._text = self.frames.document, str(self._trace)
        change = patch(before, self._plain)
        if not change:
            return
        # Kept for pages that open later, but not sent: the pages that are open get the patch.
        self._trait_values["document"] = _bytes(self._plain)
        self.send({"type": "append", "patch": change})

    def on_control(self, callback: Callable[[str], None] | None) -> None:
        """Call `callback(name)` when a button of `controls` is clicked; what it raises is told beside the buttons."""
        self._on_control = callback

    def status(self, text: str) -> None:
        """Show a line of text beside the controls."""
        self.send({"type": "status", "text": text})

    def _told(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if not isinstance(content, dict) or content.get("type") != "control" or self._on_control is None:
            return
        try:
            self._on_control(str(content.get("name")))
        except Exception as exc:  # noqa: BLE001 - an exception in a widget's callback is shown nowhere else
            self.status(f"{type(exc).__name__}: {exc}")

    def to_html(self, path: Any) -> Any:
        """Write the same as one self-contained HTML file; return its path."""
        return html.write(self._plain, path, text=self._text)
