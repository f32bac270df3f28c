"""A learner's workspace: fresh, updated, reset, and never overwritten."""

import json
import os
import stat

import pytest
from click.testing import CliRunner

from hitl_lab.cli import main
from hitl_lab.course import workspace
from hitl_lab.course.workspace import MANIFEST, WorkspaceError, find, reset, start

ONE, TWO = "01_the_loop.ipynb", "02_the_broken_node.ipynb"


@pytest.fixture
def source(tmp_path):
    """Stands for the kit's notebooks."""
    folder = tmp_path / "kit"
    (folder / "assets").mkdir(parents=True)
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / "src").mkdir()
    (folder / ONE).write_text("one v1")
    (folder / TWO).write_text("two v1")
    (folder / "assets" / "loop.svg").write_text("<svg/>")
    (folder / ".ipynb_checkpoints" / ONE).write_text("left over")
    (folder / "src" / "01_the_loop.py").write_text("# solution")
    return folder


@pytest.fixture
def learner(tmp_path, source):
    """A workspace just made."""
    start(tmp_path / "mine", source=source)
    return tmp_path / "mine"


def contents(folder):
    found = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}
    found.pop(MANIFEST, None)
    return found


def test_a_new_workspace_holds_the_notebooks_and_nothing_else(tmp_path, source):
    report = start(tmp_path / "a" / "b", source=source)
    assert contents(tmp_path / "a" / "b") == {ONE: "one v1", TWO: "two v1", "assets/loop.svg": "<svg/>"}
    assert report.copied == (ONE, TWO, "assets/loop.svg")
    assert (report.updated, report.kept, report.offered, report.notes) == ((), (), (), ())


def test_starting_again_changes_nothing(learner, source):
    before = {p: p.stat().st_mtime_ns for p in learner.rglob("*.ipynb")}
    report = start(learner, source=source)
    assert (report.copied, report.updated, report.kept, report.offered) == ((), (), (), ())
    assert {p: p.stat().st_mtime_ns for p in learner.rglob("*.ipynb")} == before


def test_a_notebook_the_learner_did_not_touch_is_updated(learner, source):
    (source / ONE).write_text("one v2")
    report = start(learner, source=source)
    assert report.updated == (ONE,)
    assert contents(learner)[ONE] == "one v2"


def test_a_changed_notebook_is_kept_and_the_new_version_put_beside_it_once(learner, source):
    (learner / ONE).write_text("one, my work")
    assert start(learner, source=source).kept == (ONE,)
    (source / ONE).write_text("one v2")

    report = start(learner, source=source)
    assert report.offered == ((ONE, "01_the_loop.new.ipynb"),)
    assert "Yours is untouched" in str(report)
    assert contents(learner)[ONE] == "one, my work"
    assert contents(learner)["01_the_loop.new.ipynb"] == "one v2"

    again = start(learner, source=source)
    assert (again.kept, again.offered) == ((ONE,), ())


def test_the_next_version_replaces_an_offer_only_if_the_learner_left_it_alone(learner, source):
    (learner / ONE).write_text("one, my work")
    (source / ONE).write_text("one v2")
    start(learner, source=source)
    (source / ONE).write_text("one v3")
    assert start(learner, source=source).offered == ((ONE, "01_the_loop.new.ipynb"),)
    assert contents(learner)["01_the_loop.new.ipynb"] == "one v3"

    (learner / "01_the_loop.new.ipynb").write_text("went on here")
    (source / ONE).write_text("one v4")
    assert start(learner, source=source).offered == ((ONE, "01_the_loop.new-2.ipynb"),)
    assert contents(learner)["01_the_loop.new.ipynb"] == "went on here"
    assert contents(learner)["01_the_loop.new-2.ipynb"] == "one v4"
    assert contents(learner)[ONE] == "one, my work"


def test_a_deleted_notebook_comes_back(learner, source):
    (learner / TWO).unlink()
    assert start(learner, source=source).copied == (TWO,)
    assert contents(learner)[TWO] == "two v1"


def test_a_notebook_that_leaves_the_kit_stays_with_the_learner(learner, source):
    (source / ONE).unlink()
    start(learner, source=source)
    assert contents(learner)[ONE] == "one v1"


def test_a_file_of_the_learners_own_with_a_notebooks_name_is_not_overwritten(tmp_path, source):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / ONE).write_text("here before the kit")
    report = start(folder, source=source)
    assert report.offered == ((ONE, "01_the_loop.new.ipynb"),)
    assert contents(folder)[ONE] == "here before the kit"


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", '{"format": 99, "files": {}, "offered": {}, "beside": {}}', '{"format": 1, "files": 3}']
)
def test_a_broken_manifest_costs_no_work(learner, source, broken):
    (learner / ONE).write_text("one, my work")
    (source / TWO).write_text("two v2")
    (learner / MANIFEST).write_text(broken)
    report = start(learner, source=source)
    assert contents(learner)[ONE] == "one, my work"
    assert contents(learner)[TWO] == "two v1", "whether the learner changed it can no longer be told"
    assert contents(learner)["02_the_broken_node.new.ipynb"] == "two v2"
    assert "could not be read" in str(report)
    assert (learner / ".hitl-lab.unreadable.json").read_text() == broken


def test_reset_gives_a_fresh_copy_and_keeps_every_old_one(learner, source):
    (learner / TWO).write_text("first try")
    fresh, old = reset("02", learner, source=source)
    assert (fresh.read_text(), old.read_text()) == ("two v1", "first try")
    (learner / TWO).write_text("second try")
    _, older = reset("02_the_broken_node.ipynb", learner, source=source)
    assert (old.read_text(), older.read_text()) == ("first try", "second try")
    assert {old.name, older.name} == {"02_the_broken_node.old.ipynb", "02_the_broken_node.old-2.ipynb"}


def test_reset_takes_the_newest_version_and_later_updates_go_on(learner, source):
    (learner / TWO).write_text("my work")
    (source / TWO).write_text("two v2")
    reset("02", learner, source=source)
    assert contents(learner)[TWO] == "two v2"
    (source / TWO).write_text("two v3")
    assert start(learner, source=source).updated == (TWO,)


def test_reset_of_a_fresh_or_missing_notebook_keeps_nothing_beside_it(learner, source):
    assert reset("01", learner, source=source)[1] is None
    (learner / ONE).unlink()
    assert reset("01", learner, source=source)[1] is None
    assert set(contents(learner)) == {ONE, TWO, "assets/loop.svg"}


@pytest.mark.parametrize("wanted", ["99", "", "assets/loop.svg", "../kit/01_the_loop.ipynb/x"])
def test_reset_of_an_unknown_notebook_names_the_known_ones(learner, source, wanted):
    with pytest.raises(WorkspaceError, match=f"There is no notebook .*{ONE}, {TWO}"):
        reset(wanted, learner, source=source)


def test_reset_of_several_names_them(learner, source):
    with pytest.raises(WorkspaceError, match=f"Several notebooks begin with '0'. Choose from: {ONE}, {TWO}"):
        reset("0", learner, source=source)


def test_the_folder_of_the_originals_is_refused(source):
    for folder in (source, source / "assets"):
        with pytest.raises(WorkspaceError, match="holds the originals"):
            start(folder, source=source)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path, source):
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError, match="is a file"):
        start(tmp_path / "file", source=source)
    with pytest.raises(WorkspaceError, match=r"Cannot write in .*: Not a directory"):
        start(tmp_path / "file" / "below", source=source)


def test_a_full_disk_leaves_the_old_notebook_whole(learner, source, monkeypatch):
    (source / ONE).write_text("one v2")
    monkeypatch.setattr(workspace.os, "fdopen", full_disk)
    with pytest.raises(WorkspaceError, match=r"Cannot write in .*: No space left on device"):
        start(learner, source=source)
    assert contents(learner) == {ONE: "one v1", TWO: "two v1", "assets/loop.svg": "<svg/>"}


def full_disk(handle, mode):
    os.close(handle)
    raise OSError(28, "No space left on device")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_copies_can_be_read_by_those_who_may_read_other_files(learner):
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((learner / ONE).stat().st_mode) == 0o666 & ~mask


def test_find_looks_here_above_and_in_the_usual_name(learner, tmp_path):
    assert find(learner) == learner.resolve()
    assert find(learner / "assets") == learner.resolve()
    learner.rename(tmp_path / "my-notebooks")
    assert find(tmp_path) == (tmp_path / "my-notebooks").resolve()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "my-notebooks").rename(tmp_path / "other-name")
    with pytest.raises(WorkspaceError, match="hitl-lab start"):
        find(tmp_path / "elsewhere")


def test_the_manifest_names_no_folder(learner, tmp_path):
    text = (learner / MANIFEST).read_text()
    assert str(tmp_path) not in text
    assert set(json.loads(text)["files"]) == {ONE, TWO, "assets/loop.svg"}


def test_the_commands_start_and_reset(tmp_path, source, monkeypatch):
    monkeypatch.setattr(workspace, "source_folder", lambda: source)
    monkeypatch.chdir(tmp_path)
    started = CliRunner().invoke(main, ["start"])
    assert started.exit_code == 0, started.output
    assert f"Your notebooks are in {(tmp_path / 'my-notebooks').resolve()}" in started.output
    assert "Everything was there already." in CliRunner().invoke(main, ["start"]).output
    (tmp_path / "my-notebooks" / ONE).write_text("mine")
    again = CliRunner().invoke(main, ["reset", "01"])
    assert "What you had is now 01_the_loop.old.ipynb" in again.output


def test_a_mistake_at_the_command_line_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["reset", "01"])
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert "hitl-lab start" in result.output
    assert "Traceback" not in result.output
