"""A notebook as slides: one HTML page that needs no network, for the wall.

A slide begins at each heading. What gives an answer away (the result of a prediction, its explanation, the runs behind
it) comes only when asked for, with the next key.
"""

from __future__ import annotations

import html
import itertools
import re
import textwrap
from pathlib import Path
from typing import Any

from hitl_lab.errors import HitlLabError


def page(learner: Any, solved: Any, title: str) -> str:
    """Return the slides of a notebook.

    Args:
        learner, solved: the two nbformat notebooks made from one source; the first asks, the second answers.
        title: of the page.
    """
    asked = {_start(c.source): c for c in learner.cells if c.cell_type == "code"}
    deck = _Deck()
    for cell in solved.cells:
        tags = cell.metadata.get("tags", ())
        if cell.cell_type == "markdown":
            for part in _parts(cell.source):
                deck.text(part, later="explain" in tags)
            continue
        if "open_lesson(" in cell.source:
            continue  # it starts the notebook, and shows nothing to a group
        question = asked.get(_start(cell.source))
        if "solution" in tags:
            deck.add(_blocks(cell.source, cell), later=True)
        elif question is not None and _texts(question) != _texts(cell):
            deck.add(_blocks(_without_calls(question.source)))
            waiting = "check.show" in cell.source or "check.recap" in cell.source
            deck.answer([] if waiting else _outputs(question), _outputs(cell))
        else:
            deck.add(_blocks(_without_calls(cell.source), cell))
    sections = "\n".join(deck.slides())
    return _PAGE.replace("{{title}}", html.escape(title)).replace("{{slides}}", sections)


def write(folder: Path, names: list[str], source: Path) -> list[Path]:
    """Write the slides of the notebooks into a folder and return the files.

    Args:
        folder: made if missing.
        names: beginnings of notebook names; empty: all.
        source: the folder with the notebooks and `solved` in it.

    Raises:
        HitlLabError: no notebook begins so.
    """
    import nbformat

    found = [p for p in sorted(source.glob("*.ipynb")) if not names or p.name.startswith(tuple(names))]
    if not found:
        raise HitlLabError(f"No notebook begins with {' or '.join(names) or 'anything'}.")
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    for path in found:
        both = [nbformat.read(p, as_version=4) for p in (path, source / "solved" / path.name)]
        target = folder / f"{path.stem}.html"
        target.write_text(_with_pictures(page(*both, title=path.stem), source), encoding="utf-8")
        out.append(target)
    return out


def _start(source: str) -> str:
    """What a cell is called by in both notebooks: its text up to the answer."""
    last = source.strip().splitlines()[-1] if source.strip() else ""
    return last.split('",')[0].rstrip('")') if last.startswith(("check.predict", "check.order")) else source


# In lines of code at the size of the wall: what fits on one slide below its heading, at 16 to 9.
_ROOM = 20.0
_LINES_OF_CODE = 16
_WIDE = 98


class _Deck:
    """Puts blocks on slides: a slide begins at a heading, and where the next block would not fit."""

    def __init__(self) -> None:
        self._slides: list[list[str]] = []
        self._heading = ""
        self._used = 0.0

    def slides(self) -> list[str]:
        """Return each slide as a section."""
        return [f"<section>{''.join(blocks)}</section>" for blocks in self._slides]

    def text(self, source: str, *, later: bool = False) -> None:
        """Add a piece of Markdown; one that begins with a heading begins a slide."""
        heading, _, rest = source.partition("\n") if source.startswith("#") else ("", "", source)
        if heading or not self._slides:
            self._heading = _markdown(heading) if heading else ""
            self._begin()
        whole = later or "```" in rest
        for piece in [rest] if whole else rest.split("\n\n"):
            if piece.strip():
                self.add([(_markdown(piece), _height(piece))], later=later)

    def add(self, blocks: list[tuple[str, float]], *, later: bool = False) -> None:
        """Add blocks, each with its height in lines. later: shown when asked for."""
        for body, height in blocks:
            self._place(_later(body) if later else body, height)

    def answer(self, question: list[tuple[str, float]], answer: list[tuple[str, float]]) -> None:
        """Add a question and, in its place when asked for, its answer, which says the question again."""
        asked = "".join(body for body, _ in question)
        body = "".join(body for body, _ in answer)
        room = max(sum(height for _, height in blocks) for blocks in (question, answer))
        if asked:
            self._place(f'<div class="asked">{asked}</div>{_later(body)}', room)
        else:
            self._place(_later(body), room)

    def _place(self, body: str, height: float) -> None:
        if self._used and self._used + height > _ROOM:
            self._begin()
        self._slides[-1].append(body)
        self._used += height

    def _begin(self) -> None:
        self._slides.append([self._heading])
        self._used = 0.0


def _parts(source: str) -> list[str]:
    """Return a Markdown text cut before each of its headings."""
    parts: list[list[str]] = [[]]
    fenced = False
    for line in source.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            parts.append([])
        parts[-1].append(line)
    return ["\n".join(part).strip() for part in parts if "".join(part).strip()]


def _height(source: str) -> float:
    """How many lines of code a piece of text is as high as."""
    paragraphs = [p for p in source.split("\n\n") if p.strip()]
    return sum(0.7 + 1.4 * sum(1 + len(line) // 85 for line in _unwrapped(p)) for p in paragraphs)


def _unwrapped(paragraph: str) -> list[str]:
    if paragraph.startswith("!["):
        return [""] * 9  # a picture
    lines = paragraph.splitlines()
    listed = any(line.lstrip().startswith(("- ", "|", "```")) for line in lines)
    return lines if listed else [" ".join(lines)]


def _later(body: str) -> str:
    return f'<div class="later" hidden>{body}</div>'


def _markdown(source: str) -> str:
    from nbconvert.filters import markdown2html

    return markdown2html(source)


def _without_calls(source: str) -> str:
    """Leave out what only drives the notebook: the imports, and the call of the check at the end."""
    import ast

    lines = source.splitlines()
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic, or a top-level await: shown as it is
        return source
    for node in tree.body:
        called = ast.unparse(node) if isinstance(node, ast.Expr) else ""
        if isinstance(node, (ast.Import, ast.ImportFrom)) or called.startswith(("check.", "check")):
            for i in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[i] = ""
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n")


def _blocks(source: str, cell: Any = None) -> list[tuple[str, float]]:
    """Return code, in pieces that fit on a slide, and the outputs of its cell."""
    pieces: list[str] = []
    for piece in [p for p in source.split("\n\n\n") if p.strip()]:
        if pieces and pieces[-1].count("\n") + piece.count("\n") + 4 <= _LINES_OF_CODE:
            pieces[-1] += "\n\n\n" + piece
        else:
            pieces.append(piece)
    blocks = [(_code(piece), piece.count("\n") + 2.2) for piece in pieces]
    return blocks + (_outputs(cell) if cell is not None else [])


def _code(source: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return highlight(source, PythonLexer(), HtmlFormatter(nowrap=False, noclasses=True, style="tango"))


def _texts(cell: Any) -> list[str]:
    return [str(o.get("text") or o.get("data", {}).get("text/plain", "")) for o in cell.outputs]


def _outputs(cell: Any) -> list[tuple[str, float]]:
    texts = [_for_the_wall(text.rstrip("\n")) for text in _texts(cell) if text.strip()]
    return [(f'<pre class="out" tabindex="0">{html.escape(text)}</pre>', text.count("\n") + 2.2) for text in texts]


def _for_the_wall(text: str) -> str:
    """Leave out what a group cannot read from a wall: every step of a trace, and the small print of findings."""
    lines = text.split("\n")
    ledger = text.find("\nLedger: ")
    if text.startswith("Trace: ") and ledger >= 0:
        return f"{lines[0]}\n(Step through it in the notebook.)\n\n{_ledger(text[ledger + 1 :])}"
    if text.startswith("Ledger: "):
        return _ledger(text)
    if text.startswith("Findings: ") and any(line.startswith("  Why: ") for line in lines):
        kept = [line for line in lines if not line.startswith(("  Proof: ", "  Do: ", "      |"))]
        wrapped = [textwrap.fill(line, 96, subsequent_indent="       ") for line in kept]
        return "\n".join([*wrapped, "(What to do about it: in the notebook.)"])
    if text.startswith("Comparison: "):
        return "\n".join(
            [lines[0], "(Move its slider in the notebook. The first differences:)", "", *_differences(lines)]
        )
    return text


def _ledger(text: str) -> str:
    """A ledger that is wider than the wall, without two columns and with its values cut."""
    title, head, *rows = text.split("\n")
    if max(map(len, (head, *rows))) <= _WIDE:
        return text
    begins = [found.start() for found in re.finditer(r"(?<=  )\S|^\S", head)]
    labels = [head[a:b].strip() for a, b in zip(begins, [*begins[1:], None], strict=True)]
    kept = [i for i, label in enumerate(labels) if not label.startswith(("get_state()", "returned"))]
    cells = [
        [(row[a:b] if b else row[a:]).strip() for a, b in zip(begins, [*begins[1:], None], strict=True)]
        for row in (head, *rows)
    ]
    most = {"value": 34, "node → channel": 30}
    table = [[_cut(line[i], most.get(labels[i], _WIDE)) for i in kept] for line in cells]
    whole = [row.startswith(" ") or not row for row in (head, *rows)]  # says more about the row above it
    widths = [max(len(line[i]) for line, more in zip(table, whole, strict=True) if not more) for i in range(len(kept))]
    out = [title]
    for line, more, row in zip(table, whole, (head, *rows), strict=True):
        out.append(
            _cut(row, _WIDE) if more else "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
        )
    return "\n".join(out)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _differences(lines: list[str]) -> list[str]:
    """The first differences of a comparison, as many as fit, each of their lines cut to the width of the wall."""
    found: list[str] = []
    for i, line in enumerate(lines):
        if "≠" in line:
            sides = itertools.takewhile(lambda side: side.startswith("      "), lines[i + 1 :])
            found += [line, *[_cut(side, _WIDE) for side in sides]]
    return found[:15]


def _with_pictures(text: str, source: Path) -> str:
    import base64

    for picture in source.glob("assets/*.svg"):
        data = base64.b64encode(picture.read_bytes()).decode()
        for name in (f"../assets/{picture.name}", f"assets/{picture.name}"):
            text = text.replace(f'src="{name}"', f'src="data:image/svg+xml;base64,{data}"')
    return text


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{title}}</title>
<style>
:root { color-scheme: light dark; --bg: #fff; --fg: #1b1f24; --box: #f3f5f7; --line: #1f4e79; }
@media (prefers-color-scheme: dark) { :root { --bg: #16191d; --fg: #e8eaed; --box: #23272d; --line: #8ab4f8; } }
/* Sizes follow the width of the wall, so that the last row reads what the first one reads. */
html { font-size: clamp(16px, 1.8vw, 48px); }
body { margin: 0; background: var(--bg); color: var(--fg); font: 1.1rem/1.4 system-ui, sans-serif; }
section { display: none; box-sizing: border-box; min-height: 100vh; padding: 2vh 5vw 8vh; }
section.now { display: block; }
h1, h2 { border-bottom: .1em solid var(--line); padding-bottom: .1em; margin: .3em 0 .5em; font-size: 1.7rem; }
p, ul, ol { margin: .5em 0; }
.highlight, pre.out { border-radius: .4em; padding: .4em .8em; overflow-x: auto; margin: .5em 0; }
.highlight, .highlight pre, pre.out { font-size: .85rem; line-height: 1.32; }
.highlight { background: #f3f5f7 !important; color: #1b1f24; } .highlight pre { margin: 0; font-size: inherit; }
pre.out { background: var(--box); border-left: .25em solid var(--line); white-space: pre; }
img { width: 75vw; max-width: 100%; max-height: 42vh; object-fit: contain; object-position: left; }
a { color: var(--line); } .anchor-link { display: none; }
nav { position: fixed; bottom: 0; right: 0; left: 0; padding: .2em 1em; background: var(--bg); text-align: right; }
nav, nav button { font-size: .8rem; } nav button { margin-left: .5em; }
@media print { html { font-size: 11px; } section { display: block; break-after: page; }
  .later { display: block !important; } nav { display: none; } }
</style></head><body>
<main>
{{slides}}
</main>
<nav aria-label="Slides"><span id="at" role="status"></span>
<button id="back">Back</button><button id="next">Next</button></nav>
<script>
const slides = [...document.querySelectorAll("section")];
let at = Math.min(Number(location.hash.slice(1)) || 1, slides.length) - 1;
function show() {
  slides.forEach((s, i) => s.classList.toggle("now", i === at));
  // An answer says its question again: it stands in the question's place.
  for (const asked of slides[at].querySelectorAll(".asked")) asked.hidden = !asked.nextElementSibling.hidden;
  fit();
  const left = slides[at].querySelectorAll(".later[hidden]").length;
  document.getElementById("at").textContent = `${at + 1} of ${slides.length}` + (left ? `, ${left} more to show` : "");
  history.replaceState(null, "", "#" + (at + 1));
}
// What is too wide or too high is made smaller rather than cut off, down to a size that can still be read.
const LEAST = 0.5;
function fit() {
  const boxes = [...slides[at].querySelectorAll(".highlight, pre.out")].filter(box => box.clientWidth);
  const sizes = new Map();
  for (const box of boxes) {
    box.style.fontSize = "";
    const inside = box.querySelector("pre") || box;
    const wide = Math.max(box.scrollWidth / box.clientWidth, inside.scrollWidth / inside.clientWidth);
    sizes.set(box, Math.max(wide > 1 ? 0.98 * 0.85 / wide : 0.85, LEAST));
  }
  for (let smaller = 1; ; smaller -= 0.05) {
    for (const [box, size] of sizes) box.style.fontSize = Math.max(size * smaller, LEAST) + "rem";
    if (slides[at].scrollHeight <= innerHeight || smaller < 0.6) return;
  }
}
function next() {
  const hidden = slides[at].querySelector(".later[hidden]");
  if (hidden) { hidden.hidden = false; show(); hidden.scrollIntoView({ block: "nearest" }); return; }
  if (at + 1 < slides.length) {
    at += 1; scrollTo(0, 0);
    // A slide of nothing but what is held back shows its first piece: no key for an empty slide.
    const blocks = [...slides[at].children].filter(b => !/^H[1-6]$/.test(b.tagName));
    if (blocks.length && blocks.every(b => b.classList.contains("later") && b.hidden)) blocks[0].hidden = false;
  }
  show();
}
function back() {
  const shown = slides[at].querySelectorAll(".later:not([hidden])");
  if (shown.length) shown[shown.length - 1].hidden = true;
  else if (at > 0) { at -= 1; scrollTo(0, 0); }
  show();
}
addEventListener("resize", fit);
document.getElementById("next").onclick = next;
document.getElementById("back").onclick = back;
addEventListener("keydown", e => {
  if (e.altKey || e.ctrlKey || e.metaKey) return;
  if (["ArrowRight", "PageDown"].includes(e.key)) { e.preventDefault(); next(); }
  if (["ArrowLeft", "PageUp"].includes(e.key)) { e.preventDefault(); back(); }
});
show();
</script></body></html>
"""
