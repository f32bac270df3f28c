"""Slides for the wall: the question first, the answer with the next key, and no other host."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from hitl_lab.cli import main
from hitl_lab.course import slides
from hitl_lab.errors import HitlLabError

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"


def test_each_notebook_becomes_one_page_that_asks_no_host(tmp_path):
    made = slides.write(tmp_path / "new", [], FOLDER)
    assert [p.stem for p in made] == [p.stem for p in sorted(FOLDER.glob("*.ipynb"))]
    for path in made:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"""(src|href)=["'](?!#|data:)""", text), path.name
        assert "<section>" in text


def test_answers_are_held_back(tmp_path):
    (path,) = slides.write(tmp_path, ["02"], FOLDER)
    shown = re.sub(r'<div class="later" hidden>.*?</div>', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert "What became of the write?" in " ".join(shown.split())
    assert "your choice" not in shown
    assert "Why:" not in shown
    assert "Not yet: commit" not in shown


def test_the_command(tmp_path):
    result = CliRunner().invoke(main, ["slides", str(tmp_path), "02"])
    assert result.exit_code == 0
    assert (tmp_path / "02_the_broken_node.html").is_file()
    with pytest.raises(HitlLabError, match="No notebook begins with 77"):
        slides.write(tmp_path, ["77"], FOLDER)
