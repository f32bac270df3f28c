"""Slides for the wall: the question first, the answer with the next key, and no other host."""

import re
from pathlib import Path

import pytest
from _browser import new_page
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
        # A link of the text asks nobody until somebody follows it.
        assert not re.search(r"""(\bsrc|<(?!a\b)[^>]*\bhref)=["'](?!#|data:)""", text), path.name
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


def sections(path):
    return re.findall(r"<section>(.*?)</section>", path.read_text(encoding="utf-8"), re.DOTALL)


def test_every_slide_has_a_heading_and_a_long_section_has_several(tmp_path):
    for path in slides.write(tmp_path, [], FOLDER):
        assert all(re.match(r"<h[1-6]", one) for one in sections(path)), path.name
    headings = [re.search(r'id="([^"]+)"', one)[1] for one in sections(tmp_path / "02_the_broken_node.html")]
    assert len(headings) > len(set(headings))


def test_a_wall_shows_no_imports_and_no_whole_trace(tmp_path):
    for path in slides.write(tmp_path, ["02", "11", "13"], FOLDER):
        text = re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8"))
        assert "from langgraph" not in text, path.name
        assert "open_lesson" not in text
        assert "saver_put_writes" not in text
    text = re.sub(r"<[^>]+>", "", (tmp_path / "13_your_own_graph.html").read_text(encoding="utf-8"))
    assert "HL008 side effect repeated" in text
    assert "Proof:" not in text


def test_a_ledger_too_wide_for_the_wall_keeps_what_matters():
    row = ["W1", "1", "draft → messages", "[AIMessage " + "a" * 60 + "]", "task.writes", "no", "yes", "dropped"]
    names = ["write", "run", "node → channel", "value", "got as far as", "get_state() live", "returned", "fate"]
    widths = [max(len(a), len(b)) for a, b in zip(row, names, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in (names, row)]
    why = "       dropped at langgraph/pregel/_runner.py:600 in PregelRunner.commit"
    title, head, first, second = slides._ledger("\n".join(["Ledger: where", *lines, why])).split("\n")
    assert (title, second) == ("Ledger: where", why)
    assert head.split("  ")[0] == "write"
    assert "returned" not in head
    assert first.startswith("W1     1    draft → messages  [AIMessage aaa")
    assert first.endswith("…  task.writes    dropped")
    assert slides._ledger("Ledger: where\nwrite  run\nW1     1") == "Ledger: where\nwrite  run\nW1     1"


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.xdist_group("browser")
def test_each_slide_fits_the_wall_and_can_be_read_from_the_last_row(chromium, tmp_path):
    measure = """() => { const now = document.querySelector('section.now'), boxes = [...now.querySelectorAll('pre')]
        .filter(b => b.clientWidth);
        return [now.scrollHeight - innerHeight, Math.max(0, ...boxes.map(b => b.scrollWidth - b.clientWidth)),
            Math.min(99, ...boxes.map(b => parseFloat(getComputedStyle(b).fontSize)))]; }"""
    for path in slides.write(tmp_path, ["03", "09", "11"], FOLDER):
        with new_page(chromium, viewport={"width": 1280, "height": 720}) as watched:
            watched.page.goto(path.as_uri())
            at = watched.page.locator("#at")
            seen = []
            while not seen or at.inner_text() != seen[-1]:
                seen.append(at.inner_text())
                too_high, too_wide, smallest = watched.page.evaluate(measure)
                assert too_high <= 1, (path.name, seen[-1])
                assert too_wide <= 20, (path.name, seen[-1])
                # In pixels of a wall 1280 wide: two metres wide, 11 of them are letters of 17 mm.
                assert smallest >= 11, (path.name, seen[-1])
                watched.page.keyboard.press("ArrowRight")
            # An answer stands in the place of its question, and gives it back.
            watched.page.goto(path.as_uri() + "#1")
            watched.page.reload()
            while not watched.page.locator("section.now .asked").count():
                watched.page.keyboard.press("ArrowRight")
            asked = watched.page.locator("section.now .asked").first
            answer = watched.page.locator("section.now .asked + .later").first
            assert (asked.is_visible(), answer.is_visible()) == (True, False)
            watched.page.keyboard.press("ArrowRight")
            assert (asked.is_visible(), answer.is_visible()) == (False, True)
            watched.page.keyboard.press("ArrowLeft")
            assert (asked.is_visible(), answer.is_visible()) == (True, False)
            watched.assert_clean()
