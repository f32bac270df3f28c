"""What is shipped: the files in git, the wheel, the command line, and how an environment is made."""

import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from hitl_lab import commands
from hitl_lab.cli import main

ROOT = Path(__file__).resolve().parent.parent


# --- the files in git

# Put together from pieces: this file is one of those that are searched.
_FORBIDDEN = {
    "a path of one machine": r"/(?:ro{2}t|hom[e]|User[s]|wor[k]|op[t])/[a-z._-]+/",
    "a user's folder on Windows": r"[A-Z]:\\+User[s]\\",
    "the address of a package index": r"p[y]pi\.org|python[h]osted\.org|np[m]js\.org|anacon[d]a\.org|debia[n]\.org",
    "an option that names an index": r"--(?:extra-)?inde[x]-url|--find-link[s]|trusted-hos[t]",
    "a key": r"\b(?:sk|lsv2|ghp)[-_][A-Za-z0-9]{20,}",
}


def findings(text):
    return [f"{what}: {found[0]}" for what, rule in _FORBIDDEN.items() for found in re.finditer(rule, text)]


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_no_tracked_file_names_a_machine_or_an_index():
    # A bad sample, for the lint that is to find it.
    samples = {"tests/test_notebook_lint.py: a path of one machine: /ho" + "me/ada/"}
    here = {str(ROOT), str(Path.home()), sys.prefix} - {"/", "/root"}
    wrong = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        wrong += [f"{path.relative_to(ROOT)}: {finding}" for finding in findings(text)]
        wrong += [f"{path.relative_to(ROOT)}: {name}" for name in here if name in text]
    wrong = sorted(set(wrong) - samples)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "/ro" + "ot/.cache/pip/x",
        "/ho" + "me/ann/hitl_lab/x",
        "file:///op" + "t/mirror/simple",
        "C:\\Use" + "rs\\ann",
        "https://py" + "pi.org/simple",
        "pip install --ind" + "ex-url x",
        "sk" + "-" + "a" * 30,
    ],
)
def test_the_search_finds_what_it_is_for(text):
    assert findings(f"see {text} there")


def test_no_tracked_file_is_large_or_made_by_a_run():
    names = {path.relative_to(ROOT).as_posix(): path.stat().st_size for path in tracked()}
    assert not [name for name, size in names.items() if size > 1_500_000]
    made = re.compile(r"__pycache__|\.pyc$|\.sqlite|\.ipynb_checkpoints|^my-notebooks/")
    assert not [name for name in names if made.search(name)]


def test_programs_are_executable_and_valid_shell():
    for name in (".ci/run", "scripts/lock.sh", "scripts/postgres.sh"):
        assert os.access(ROOT / name, os.X_OK), name
        subprocess.run(["bash", "-n", ROOT / name], check=True)


# --- the command line


def test_help_is_quick_and_imports_no_langgraph():
    command = [sys.executable, "-X", "importtime", "-m", "hitl_lab.cli", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    heavy = {"langgraph", "langchain_core", "IPython", "jupyterlab", "ipywidgets", "anywidget", "rich"}
    assert not heavy & {name.split(".")[0] for name in imported}

    # CPU time, the better of two: a machine that others use too stretches the other kind.
    seconds = []
    for _ in range(2):
        before = os.times()
        subprocess.run([sys.executable, "-m", "hitl_lab.cli", "--help"], capture_output=True, check=True)
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(seconds) < 0.5, seconds


def test_every_command_is_listed_with_what_it_does():
    shown = CliRunner().invoke(main, ["--help"]).output
    files = {p.stem for p in Path(commands.__file__).parent.glob("*.py") if not p.stem.startswith("_")}
    assert {"open", "start", "reset", "doctor"} <= files
    for name in files:
        assert re.search(rf"^  {name.replace('_', '-')}\s+\S", shown, re.MULTILINE), name
        assert CliRunner().invoke(main, [name.replace("_", "-"), "--help"]).exit_code == 0


def test_an_unknown_command_says_so():
    result = CliRunner().invoke(main, ["opne"])
    assert result.exit_code == 2
    assert "No such command 'opne'" in result.output
    assert CliRunner().invoke(main, ["_folder"]).exit_code == 2


def test_the_version_is_the_packages():
    assert CliRunner().invoke(main, ["--version"]).output == "hitl-lab, version 0.1.0\n"


# --- the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (path,) = folder.glob("*.whl")
    return path


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_the_notebooks_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"hitl_lab/cli.py", "hitl_lab/commands/open.py", "hitl_lab/course/workspace.py"} <= set(names)
    assert {name.split("/")[0] for name in names} == {"hitl_lab", "hitl_lab-0.1.0.dist-info"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    notebooks = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert notebooks, "the course has no notebooks"
    packed = re.compile(r"hitl_lab/course/_notebooks/([^/]+\.ipynb)")
    assert {found[1] for name in names if (found := packed.fullmatch(name))} == notebooks


@pytest.mark.slow
def test_a_workspace_can_be_made_from_the_wheel_alone(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    # In front of the editable checkout, and run from elsewhere.
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    command = [sys.executable, "-m", "hitl_lab.cli", "start", "mine"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    copied = {path.name for path in (tmp_path / "mine").glob("*.ipynb")}
    assert copied == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")} != set()


# --- making the environment


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    """scripts/bootstrap.py on a project and an environment of its own, with its pip runs written down."""
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "scripts" / "bootstrap.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "requirements.lock").write_text("click==8.1.0\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    environment = tmp_path / "environment"
    environment.mkdir()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", environment)
    monkeypatch.setattr(module, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(module.sys, "argv", ["bootstrap.py"])
    module.runs = []
    monkeypatch.setattr(module, "run", lambda step, *command: module.runs.append([str(part) for part in command[3:]]))
    return module


def installed(module):
    """What main() installs: "lock", "package"."""
    module.runs.clear()
    module.main()
    return ["lock" if "-r" in run else "package" for run in module.runs]


def test_nothing_is_installed_twice(bootstrap, tmp_path):
    assert installed(bootstrap) == ["lock", "package"]
    assert installed(bootstrap) == []
    (tmp_path / "pyproject.toml").write_text("[project] # a new entry point\n")
    assert installed(bootstrap) == ["package"]
    (tmp_path / "requirements.lock").write_text("click==8.2.0\n")
    assert installed(bootstrap) == ["lock", "package"]
    os.utime(tmp_path / "requirements.lock", (2_000_000_000, 2_000_000_000))
    assert installed(bootstrap) == [], "a newer time alone is no change"


def test_an_installation_that_failed_is_tried_again(bootstrap, monkeypatch, capsys):
    working = bootstrap.run

    def fail(step, *command):
        bootstrap.stop(f"{step} failed")

    monkeypatch.setattr(bootstrap, "run", fail)
    with pytest.raises(SystemExit, match=r"installing 1 pinned packages .* failed"):
        bootstrap.main()
    monkeypatch.setattr(bootstrap, "run", working)
    assert installed(bootstrap) == ["lock", "package"]


def test_the_package_is_installed_without_asking_an_index(bootstrap):
    installed(bootstrap)
    assert {"--no-deps", "--no-build-isolation"} <= set(bootstrap.runs[1])


def test_a_broken_environment_is_named_and_not_removed(bootstrap, monkeypatch, tmp_path):
    broken = tmp_path / "environment" / "python"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(bootstrap, "PYTHON", broken)
    with pytest.raises(SystemExit, match="Remove that folder"):
        bootstrap.main()
    assert broken.exists()


def test_personal_pip_settings_do_not_lead_out_of_the_environment(monkeypatch):
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "scripts" / "bootstrap.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("PIP_USER", "PIP_TARGET", "PIP_PREFIX"):
        monkeypatch.setenv(name, "1")
    probe = "from os import environ as e; assert e['PIP_USER'] == '0' and not {'PIP_TARGET', 'PIP_PREFIX'} & set(e)"
    module.run("looking", sys.executable, "-c", probe)
    with pytest.raises(SystemExit, match=r"looking failed \(exit code 3\)"):
        module.run("looking", sys.executable, "-c", "raise SystemExit(3)")


def program(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def make(*arguments):
    return subprocess.run(
        ["make", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")},
    )


def test_make_takes_the_first_python_that_runs(tmp_path):
    # A launcher without its Python, as pyenv leaves them, and a Python without venv, as Debian has it.
    program(tmp_path, "stub", "echo 'command not found' >&2; exit 127")
    good = program(tmp_path, "good", 'case "$1" in -c) exit 0 ;; *) echo "chosen: $0 $1" ;; esac')
    result = make("ready", f"PYTHONS={tmp_path / 'absent'} {tmp_path / 'stub'} {good}", f"VENV={tmp_path / 'none'}")
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"chosen: {good} scripts/bootstrap.py\n"


def test_make_without_a_python_says_what_to_install(tmp_path):
    result = make("lab", f"PYTHONS={tmp_path / 'absent'}", f"VENV={tmp_path / 'none'}")
    assert result.returncode != 0
    assert "needs Python 3.11 or newer" in result.stderr
    assert "apt-get install python3 python3-venv" in result.stderr
    assert "make lab PYTHON=" in result.stderr


def test_make_help_lists_every_target():
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    listed = [line.split()[1] for line in make("help").stdout.splitlines()]
    assert listed == [name for name in phony if name != "ready"]
