"""The HTML player: script, style and data in one file that asks no network and runs under its own strict policy."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any


@cache
def script() -> str:
    """Return the JavaScript module of the views."""
    return files("hitl_lab").joinpath("views/stepper.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    """Return the style sheet of the views."""
    return files("hitl_lab").joinpath("views/stepper.css").read_text(encoding="utf-8")


def embed(document: dict[str, Any]) -> str:
    """Return a document as JSON that is safe inside a <script> element: pure ASCII, no "<", ">" or "&"."""
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def instead_of_widgets() -> bool:
    """Whether views show themselves as HTML players instead of widgets: the environment has HITL_LAB_VIEW=html.

    The documentation's site is built so: a page without a kernel cannot show a widget.
    """
    return os.environ.get("HITL_LAB_VIEW") == "html"


def frame(document: dict[str, Any], *, text: str) -> str:
    """Return the page in an <iframe>, with its text folded below it, to stand in a page of another's style."""
    title = escape(_printable(document["title"]))
    inner = escape(page(document, text=text, framed=True))
    return (
        f'<iframe class="hitl-player" title="{title}" srcdoc="{inner}" loading="lazy" '
        'style="width:100%;height:640px;border:0"></iframe>\n'
        f'<details class="hitl-twin"><summary>The same as text</summary><pre>{escape(_printable(text))}</pre></details>'
    )


def page(document: dict[str, Any], *, text: str = "", framed: bool = False) -> str:
    """Return the whole page for a document of frames, of a comparison, or of a table.

    text: the same as plain text, shown where scripts do not run. framed: without a background and a margin.
    """
    module = script().replace("</script", "<\\/script") + "\nmountPage();\n"
    css = style().replace("</style", "<\\/style")
    policy = f"default-src 'none'; script-src '{_digest(module)}'; style-src '{_digest(css)}'"
    title = escape(_printable(document["title"]))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{css}</style>
</head>
<body class="hl-page{" hl-framed" * framed}">
<main>
<h1 class="hl-offscreen">{title}</h1>
<div id="hitl-lab"><noscript><pre>{escape(_printable(text))}</pre></noscript></div>
</main>
<script type="application/json" id="hitl-lab-document">{embed(document)}</script>
<script type="module">{module}</script>
</body>
</html>
"""


def write(document: dict[str, Any], path: str | os.PathLike[str], *, text: str = "") -> Path:
    """Write the page and return its path."""
    target = Path(path)
    target.write_text(page(document, text=text), encoding="utf-8", newline="\n")
    return target


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode("ascii") for c in text)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
