"""The instructor's guide: its list of wrong answers is made from the checks, and is up to date."""

from hitl_lab.course import guide
from hitl_lab.course.lesson import load, names
from hitl_lab.course.misconceptions import MISCONCEPTIONS


def test_the_generated_part_is_fresh():
    assert guide.main(["--check"]) == 0


def test_a_stale_guide_is_told(tmp_path, monkeypatch, capsys):
    stale = tmp_path / "instructor.md"
    stale.write_text(guide.GUIDE.read_text(encoding="utf-8").replace("Usual wrong answer", "x", 1), encoding="utf-8")
    monkeypatch.setattr(guide, "GUIDE", stale)
    assert guide.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    guide.main([])
    assert guide.main(["--check"]) == 0


def test_every_misconception_has_something_to_say():
    text = guide.generated()
    assert [m.id for m in MISCONCEPTIONS.values() if m.belief not in text] == []


def test_the_hours_that_notebook_00_names_are_those_of_the_lessons():
    minutes = {name[:2]: load(name).minutes for name in names()}
    core = {"00", "01", "02", "03", "04", "05", "08", "09", "13"}
    assert 210 <= sum(minutes[n] for n in core) <= 245
    assert 105 <= sum(m for n, m in minutes.items() if n not in core) <= 140
