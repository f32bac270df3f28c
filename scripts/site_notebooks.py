"""The course as pages to read: the learner's notebook, with the runs of the solved one behind each prediction.

A page has no kernel. So a prediction is a small form that answers after the commit, a run that a notebook would show
after the prediction is folded, and an exercise has its solution in a fold below it.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

import jupytext
import nbformat
from build_notebooks import build
from nbformat.v4 import new_markdown_cell, new_output

from hitl_lab.course import _judge as judge
from hitl_lab.course._said import as_html
from hitl_lab.course.lesson import Lesson, LessonError, Prediction, letter, load
from hitl_lab.course.misconceptions import MISCONCEPTIONS
from hitl_lab.course.variants import LEARNER, SOLVED, variant

_CALL = re.compile(r'check\.(predict|order|show)\(\s*"([^"\n]+)"')


def reader(source: Path) -> str:
    """Run the solved variant of a source with HITL_LAB_VIEW=html and return the notebook of the page."""
    solved = nbformat.reads(build(source, SOLVED), as_version=4)
    learner = variant(jupytext.read(source), LEARNER)
    try:
        lesson = load(source.stem)
    except LessonError:
        lesson = None
    ran = [cell for cell in solved.cells if cell.cell_type == "code"]
    cells = []
    for cell, which in _both(source, learner):
        if cell.cell_type != "code":
            cells.append(cell)
            continue
        if which == "stub":
            cells.append(_without_output(cell))
            continue
        run = ran.pop(0)
        cell.outputs = run.outputs
        if which == "solution":
            cells.append(new_markdown_cell("A solution, and what the check says to it:"))
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-cell"]
            cell.metadata["mystnb"] = {"code_prompt_show": "Try it yourself first, then open"}
            cells.append(cell)
            continue
        for kind, name in _CALL.findall(cell.source):
            _fold(cell, kind, name, lesson)
        cells.append(cell)
    out = nbformat.v4.new_notebook(cells=cells, metadata=solved.metadata)
    return nbformat.writes(out)


def _both(source: Path, learner):
    """Each cell of the source with its part: the learner's, or the solution of a stub."""
    theirs = iter(learner.cells)
    for cell in jupytext.read(source).cells:
        tags = cell.metadata.get("tags", [])
        if "solution" in tags:
            yield cell, "solution"
        else:
            yield next(theirs), "stub" if "stub" in tags else "learner"


def _without_output(cell):
    cell.outputs = []
    return cell


def _fold(cell, kind: str, name: str, lesson: Lesson | None) -> None:
    if kind == "show" or lesson is None:
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), "hide-output"]
        return
    text = "\n".join(output.get("data", {}).get("text/plain", output.get("text", "")) for output in cell.outputs)
    if kind == "predict":
        body = _form(lesson.find("prediction", name), text)
    else:
        blocks = as_html(judge.blocks(lesson.find("ordering", name))[:-1])
        body = f'{blocks}<details class="hitl-twin"><summary>An order that works, run</summary>{_pre(text)}</details>'
    cell.outputs = [new_output("display_data", {"text/html": body, "text/plain": name})]


def _form(question: Prediction, text: str) -> str:
    """A prediction to commit, and behind it what the run did: `text` is what the check said to the right choice."""
    verdict = re.search(r"^Right: ([A-Z])\.$", text, re.MULTILINE)
    if verdict is None:
        raise SystemExit(f"The solved notebook does not answer {question.name!r} rightly:\n{text}")
    right = verdict[1]
    said = text[verdict.end() :].strip().removeprefix("What the run did:\n")
    choices = "".join(
        f'<label><input type="radio" name="{html.escape(question.name)}" value="{letter(i)}" '
        f'data-verdict="{html.escape(_verdict(letter(i), right, choice.believes))}">'
        f"<span>{letter(i)}&nbsp; {_code(choice.text)}</span></label>"
        for i, choice in enumerate(question.choices)
    )
    return (
        f'<div class="hitl-ask"><fieldset><legend>{_code(question.question)}</legend>{choices}</fieldset>'
        '<button type="button" disabled hidden>Commit</button>'
        '<p class="hitl-verdict" role="status" hidden></p>'
        f"<details><summary>What the run did</summary>{_pre(said)}</details></div>"
    )


def _verdict(chosen: str, right: str, believes: str | None) -> str:
    if chosen == right:
        return f"Right: {chosen}."
    known = MISCONCEPTIONS.get(believes) if believes else None
    return f"Not so: LangGraph did {right}." + (f" “{known.belief}”: {known.truth}" if known else "")


def _code(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _pre(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"
