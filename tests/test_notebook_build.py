"""Learner's and solved notebook from one source: what each holds, and that the committed ones are fresh."""

import re
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest

from hitl_lab.course.variants import LEARNER, SOLVED, variant

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "notebooks" / "src").glob("*.py"))
SOURCE = """# %% [markdown]
# # Title
# ![a picture](assets/a.svg)

# %%
check.predict("saved", "C", run=pause)

# %%
check.order("wire", "B A")

# %% [markdown] tags=["explain"]
# **Fact.** It is so.

# %% tags=["stub"]
raise NotImplementedError

# %% tags=["solution"]
answer = 42
"""


def cells(which):
    return variant(jupytext.reads(SOURCE, fmt="py:percent"), which).cells


def test_the_learner_gets_no_answer():
    source = "\n".join(cell.source for cell in cells(LEARNER))
    assert 'check.predict("saved", run=pause)' in source
    assert 'check.order("wire")' in source
    assert "NotImplementedError" in source
    assert "42" not in source
    assert "<details><summary>Open this after your prediction</summary>\n\n**Fact.**" in source


def test_the_solved_one_has_them():
    source = "\n".join(cell.source for cell in cells(SOLVED))
    assert 'check.predict("saved", "C", run=pause)' in source
    assert 'check.order("wire", "B A")' in source
    assert "NotImplementedError" not in source
    assert "42" in source
    assert "<details>" not in source
    assert "](../assets/a.svg)" in source


def test_both_are_slides():
    kinds = [cell.metadata.slideshow.slide_type for cell in cells(SOLVED)]
    assert kinds == ["slide", "-", "-", "fragment", "-"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_no_learner_is_given_a_letter(path):
    for cell in variant(jupytext.read(path), LEARNER).cells:
        # Prose may show how a letter is written.
        assert cell.cell_type != "code" or not re.search(r'check\.(predict|order)\(\s*"\w+",\s*"', cell.source)


@pytest.mark.parametrize("which", [LEARNER, SOLVED])
@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_the_committed_notebook_has_the_cells_of_its_source(path, which):
    folder = ROOT / "notebooks" / ("" if which == LEARNER else "solved")
    committed = nbformat.read(folder / f"{path.stem}.ipynb", as_version=4)
    fresh = variant(jupytext.read(path), which)
    assert [(c.cell_type, c.source) for c in committed.cells] == [(c.cell_type, c.source) for c in fresh.cells]


@pytest.mark.slow
def test_a_fresh_build_is_the_same_to_the_byte():
    build = [sys.executable, "scripts/build_notebooks.py", "--check", "03"]
    result = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False, timeout=250)
    assert result.returncode == 0, result.stderr
