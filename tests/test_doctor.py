"""The doctor: sees what is wrong, and the command it gives is the one that mends it."""

import shlex
import socket
import sys
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

import hitl_lab
from hitl_lab.cli import main
from hitl_lab.course import doctor
from hitl_lab.course.doctor import Check


def mended_by_pip(check):
    """The packages the given command would install, once it is sure that it runs this Python's pip."""
    program, *rest = shlex.split(check.mend)
    assert program == sys.executable
    assert rest[:3] == ["-m", "pip", "install"]
    return rest[3:]


def stand_in(folder, name, script):
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.slow
def test_a_good_installation_passes_every_check(tmp_path):
    result = CliRunner().invoke(main, ["doctor", str(tmp_path)])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[-1] == "All is well."
    names = [line.removeprefix("ok").strip().split(":")[0] for line in lines[:-1]]
    assert names == ["Python", "packages", "recording", "kernel", "widgets", "Graphviz", "folder", "port"]


def test_the_command_fails_when_a_check_fails(monkeypatch):
    checks = [Check("Python", True, "3.13"), Check("port", False, "none is free", "hitl-lab open --port 9")]
    monkeypatch.setattr(doctor, "examine", lambda *_, **__: iter(checks))
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "ok    Python: 3.13",
        "FAIL  port: none is free",
        "      mend it: hitl-lab open --port 9",
        "1 to mend.",
    ]


def test_an_old_python():
    check = doctor.check_python((3, 10, 13))
    assert not check.passed
    assert "3.11 or newer" in check.found
    assert doctor.check_python((3, 11, 0)).passed


@pytest.mark.parametrize("version", ["0.6.11", "1.3.0", "2.0"])
def test_langgraph_outside_the_range(version):
    check = doctor.check_packages(lambda name: version if name == "langgraph" else metadata.version(name))
    assert not check.passed
    assert check.found == f"langgraph {version}"
    assert mended_by_pip(check) == ["langgraph<1.3,>=1.0"]


def test_missing_packages_are_all_named_at_once():
    def installed(name):
        if name in ("anywidget", "jupyterlab"):
            raise metadata.PackageNotFoundError(name)
        return metadata.version(name)

    check = doctor.check_packages(installed)
    assert check.found == "anywidget missing, jupyterlab missing"
    assert [spec.split(">")[0] for spec in mended_by_pip(check)] == ["anywidget", "jupyterlab"]


def test_what_only_developers_need_is_not_asked_of_learners():
    asked = []
    doctor.check_packages(lambda name: asked.append(name) or "1.2.24")
    assert "jupyterlab" in asked
    assert not {"pytest", "playwright", "sphinx"} & set(asked)


def test_a_langgraph_that_cannot_be_recorded():
    def refuse():
        raise hitl_lab.UnsupportedLangGraph("langgraph 1.2.99 has no PregelRunner.commit")

    check = doctor.check_recorder(refuse)
    assert check.found == "langgraph 1.2.99 has no PregelRunner.commit"
    assert mended_by_pip(check) == ["langgraph<1.3,>=1.0"]


def test_a_kernel_of_another_python(tmp_path, monkeypatch):
    kernel = tmp_path / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(
        '{"argv": ["/somewhere/else/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],'
        ' "display_name": "Python 3", "language": "python"}'
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    check = doctor.check_kernel()
    assert not check.passed
    assert "another Python: /somewhere/else/bin/python" in check.found
    assert shlex.split(check.mend) == [sys.executable, "-m", "ipykernel", "install", "--sys-prefix"]


def test_a_kernel_that_dies(tmp_path, monkeypatch):
    kernel = tmp_path / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(
        '{"argv": ["python", "-c", "raise SystemExit(3)"], "display_name": "Python 3", "language": "python"}'
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    check = doctor.check_kernel(timeout=20)
    assert not check.passed
    assert "does not start" in check.found


def test_widgets_without_their_extension(tmp_path, monkeypatch):
    monkeypatch.setattr("jupyter_core.paths.jupyter_path", lambda *parts: [str(tmp_path)])
    check = doctor.check_widgets()
    assert not check.passed
    assert mended_by_pip(check)[-2:] == ["jupyterlab_widgets", "anywidget"]

    (tmp_path / "anywidget").mkdir()
    (tmp_path / "anywidget" / "package.json").write_text("{}")
    assert mended_by_pip(doctor.check_widgets())[-1:] == ["jupyterlab_widgets"]


def test_no_graphviz():
    check = doctor.check_graphviz(())
    assert not check.passed
    assert mended_by_pip(check) == ["graphviz-pure"]


def test_a_graphviz_that_is_there_and_does_not_draw(tmp_path):
    fails = stand_in(tmp_path, "dot", "echo 'There is no layout engine support' >&2; exit 1")
    silent = stand_in(tmp_path, "silent", "exit 0")
    absent = str(tmp_path / "absent")
    for program in (fails, silent, absent):
        assert not doctor.check_graphviz((program,)).passed
    draws = stand_in(tmp_path, "other-dot", "echo '<svg></svg>'")
    assert doctor.check_graphviz((fails, draws)) == Check("Graphviz", True, "other-dot draws")


def test_the_wheels_graphviz_serves_where_there_is_no_dot(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [Path(program).stem for program in doctor.graphviz_programs()] == ["graphviz-pure"]
    assert doctor.check_graphviz().passed


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    assert doctor.check_folder(tmp_path / "not" / "yet").passed
    assert list(tmp_path.iterdir()) == []

    (tmp_path / "file").write_text("")
    assert "is a file" in doctor.check_folder(tmp_path / "file").found

    def read_only(dir):  # noqa: A002 - tempfile's own name for it
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(doctor.tempfile, "NamedTemporaryFile", read_only)
    check = doctor.check_folder(tmp_path)
    assert not check.passed
    assert "Read-only file system" in check.found
    assert check.mend.startswith("hitl-lab start ")


def test_busy_ports():
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        check = doctor.check_port(port, tries=1)
        assert not check.passed
        assert f"no free port from {port} to {port}" in check.found
        offered = int(check.mend.removeprefix("hitl-lab open --port "))
        assert doctor.check_port(offered, tries=1).passed
        assert doctor.check_port(port, tries=30).passed


def test_in_a_notebook_only_names_are_told(tmp_path):
    """The first cell of the course is stored with its output, which must be the same on every machine."""
    told = [str(line) for line in doctor.in_a_notebook(tmp_path)]
    assert told == ["ok    Python", "ok    packages", "ok    recording", "ok    widgets", "ok    folder"]
    (tmp_path / "file").write_text("")
    assert "mend it: hitl-lab start" in [str(line) for line in doctor.in_a_notebook(tmp_path / "file")][-1]
