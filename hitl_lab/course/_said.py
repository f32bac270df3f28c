"""What a check says: lines with a role, once as plain text and once as HTML."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 92


@dataclass(frozen=True)
class Said:
    """One line or paragraph. role: "title", "verdict", "item", "code" (kept as it is), "quiet" or "text"."""

    text: str
    role: str = "text"


def as_text(said: Iterable[Said]) -> str:
    """Return everything as plain text, wrapped; what is stored in a notebook and read by a screen reader."""
    out: list[str] = []
    for one in said:
        if one.role == "code":
            out += [f"    {line}".rstrip() for line in one.text.splitlines()]
        elif one.role == "item":
            out.append(_fill(one.text, "  ", "     "))
        else:
            out.append(_fill(one.text, "", ""))
    return "\n".join(out)


def as_html(said: Iterable[Said]) -> str:
    """Return everything as HTML in the notebook's own colours. Its meaning is in the words, never in colour alone."""
    out = []
    for one in said:
        body = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(one.text, quote=False))
        if one.role == "code":
            body = html.escape(one.text, quote=False)
            style = "overflow-x:auto;padding:.5em;background:var(--jp-layout-color2,#eee);color:inherit"
            out.append(f'<pre tabindex="0" style="{style}">{body}</pre>')
        else:
            out.append(f'<div style="{_STYLES[one.role]}">{body}</div>')
    return f'<div style="line-height:1.45;max-width:56em;color:var(--jp-ui-font-color1,inherit)">{"".join(out)}</div>'


_STYLES = {
    "title": "font-weight:600;margin:.2em 0",
    "verdict": "font-weight:600;margin:.5em 0;border-left:.3em solid var(--jp-brand-color1,#1565c0);padding-left:.6em",
    "item": "margin:.1em 0 .1em 1.2em;white-space:pre-wrap",
    "quiet": "margin:.4em 0;color:var(--jp-ui-font-color1,inherit)",
    "text": "margin:.4em 0",
}


def _fill(text: str, first: str, rest: str) -> str:
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.fill(
        text.strip(),
        WIDTH,
        initial_indent=first + indent,
        subsequent_indent=rest + indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
