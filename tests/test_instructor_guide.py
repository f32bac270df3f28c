"""The instructor's guide: its list of wrong answers is made from the checks, and is up to date."""

from hitl_lab.course import guide
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
