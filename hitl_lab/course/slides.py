"""A notebook as slides: one HTML page that needs no network, for the wall.

A slide begins at each heading. What gives an answer away (the result of a prediction, its explanation, the runs behind
it) comes only when asked for, with the next key.
"""

from __future__ import annotations

import html
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
    slides: list[str] = []
    for cell in solved.cells:
        if cell.cell_type == "markdown":
            if cell.source.startswith("#") or not slides:
                slides.append("")
            body = _markdown(cell.source)
            slides[-1] += _later(body) if "explain" in cell.metadata.get("tags", ()) else body
            continue
        question = asked.get(_start(cell.source))
        tags = cell.metadata.get("tags", ())
        if "solution" in tags:
            slides[-1] += _later(_code(cell.source) + _outputs(cell))
        elif question is not None and _outputs(question) != _outputs(cell):
            slides[-1] += _code(question.source)
            if "check.show" not in cell.source and "check.recap" not in cell.source:
                slides[-1] += _outputs(question)
            slides[-1] += _later(_outputs(cell))
        else:
            slides[-1] += _code(cell.source) + _outputs(cell)
    sections = "\n".join(f"<section>{one}</section>" for one in slides)
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


def _later(body: str) -> str:
    return f'<div class="later" hidden>{body}</div>'


def _markdown(source: str) -> str:
    from nbconvert.filters import markdown2html

    return markdown2html(source)


def _code(source: str) -> str:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return highlight(source, PythonLexer(), HtmlFormatter(nowrap=False, noclasses=True, style="tango"))


def _outputs(cell: Any) -> str:
    texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs]
    return "".join(f'<pre class="out" tabindex="0">{html.escape(t)}</pre>' for t in texts if t)


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
body { margin: 0; background: var(--bg); color: var(--fg); font: 1.35rem/1.5 system-ui, sans-serif; }
section { display: none; box-sizing: border-box; min-height: 100vh; padding: 3vh 6vw 9vh; }
section.now { display: block; }
h1, h2 { border-bottom: .15em solid var(--line); padding-bottom: .15em; }
.highlight, pre.out { border-radius: .4em; padding: .5em .8em; overflow-x: auto; font-size: .95rem; line-height: 1.35; }
.highlight { background: #f3f5f7 !important; color: #1b1f24; } .highlight pre { margin: 0; }
pre.out { background: var(--box); border-left: .25em solid var(--line); white-space: pre; max-height: 60vh; }
img { max-width: 100%; } a { color: var(--line); } .anchor-link { display: none; }
nav { position: fixed; bottom: 0; right: 0; left: 0; padding: .4em 1em; background: var(--bg); text-align: right; }
nav button { font: inherit; font-size: 1rem; margin-left: .5em; }
@media print { section { display: block; break-after: page; } .later { display: block !important; } }
@media print { nav { display: none; } }
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
  const left = slides[at].querySelectorAll(".later[hidden]").length;
  document.getElementById("at").textContent = `${at + 1} of ${slides.length}` + (left ? `, ${left} more to show` : "");
  history.replaceState(null, "", "#" + (at + 1));
}
function next() {
  const hidden = slides[at].querySelector(".later[hidden]");
  if (hidden) { hidden.hidden = false; hidden.scrollIntoView({ block: "nearest" }); }
  else if (at + 1 < slides.length) { at += 1; scrollTo(0, 0); }
  show();
}
function back() {
  const shown = slides[at].querySelectorAll(".later:not([hidden])");
  if (shown.length) shown[shown.length - 1].hidden = true;
  else if (at > 0) { at -= 1; scrollTo(0, 0); }
  show();
}
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
