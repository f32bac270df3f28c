"""Checks of an installation: each one passes, or says the exact command that mends it."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

MINIMUM_PYTHON = (3, 11)
_PACKAGE = "hitl_lab"
# The extra `lab` is what the notebooks need; the others are for people who work on the kit itself.
_EXTRAS = ("", "lab")


@dataclass(frozen=True)
class Check:
    """One line of the report.

    name: what was looked at. passed: whether it is well. found: what is there, or what is wrong.
    mend: the command that mends it; empty if `passed`.
    """

    name: str
    passed: bool
    found: str
    mend: str = ""

    def __str__(self) -> str:
        line = f"{'ok  ' if self.passed else 'FAIL'}  {self.name}: {self.found}"
        return line if self.passed else f"{line}\n      mend it: {self.mend}"


def examine(workspace: Path, *, port: int = 8888) -> Iterator[Check]:
    """Run every check, in the order to read them.

    Args:
        workspace: the folder the notebooks are, or will be, in.
        port: the first port JupyterLab will try on 127.0.0.1.
    """
    checks: tuple[Callable[[], Check], ...] = (
        check_python,
        check_packages,
        check_recorder,
        check_kernel,
        check_widgets,
        check_graphviz,
        lambda: check_folder(workspace),
        lambda: check_port(port),
    )
    for check in checks:
        yield check()


def in_a_notebook(folder: Path | None = None) -> Iterator[Check | str]:
    """Run the checks that tell whether a notebook of the course will work, and name those that pass.

    Only names, for the versions and folders of a machine would be stored with the notebook.

    Args:
        folder: where the notebook is. Default: the current one.
    """
    for look in (check_python, check_packages, check_recorder, check_widgets, lambda: check_folder(folder or Path())):
        found = look()
        yield f"ok    {found.name}" if found.passed else found


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Python is 3.11 or newer."""
    text = ".".join(map(str, version))
    if version >= MINIMUM_PYTHON:
        return Check("Python", True, text)
    needed = ".".join(map(str, MINIMUM_PYTHON))
    return Check("Python", False, f"{text}, and {needed} or newer is needed", f"make lab PYTHON=python{needed}")


def check_packages(installed: Callable[[str], str] = metadata.version) -> Check:
    """Every package hitl_lab and its notebooks need is there, in a version they work with.

    Args:
        installed: gives the version of a package, or raises PackageNotFoundError.
    """
    wrong, asked = [], []
    for requirement in _requirements():
        try:
            version = installed(requirement.name)
        except metadata.PackageNotFoundError:
            version = None
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} {version or 'missing'}")
            asked.append(f"{requirement.name}{requirement.specifier}")
    if wrong:
        return Check("packages", False, ", ".join(wrong), _pip(*asked))
    return Check("packages", True, f"langgraph {installed('langgraph')}, and all others in range")


def check_recorder(load: Callable[[], object] | None = None) -> Check:
    """The installed LangGraph has what a recording needs.

    Args:
        load: what to try; raises HitlLabError if recording cannot work. Default: an empty recording.
    """
    from hitl_lab.errors import HitlLabError

    try:
        (load or _record_nothing)()
    except HitlLabError as error:
        range_ = next(str(r) for r in _requirements() if r.name == "langgraph")
        return Check("recording", False, str(error).replace("\n", " "), _pip(range_))
    return Check("recording", True, "this LangGraph can be recorded")


def check_kernel(timeout: float = 60) -> Check:
    """The kernel "python3" is this Python, starts, and can import hitl_lab.

    Args:
        timeout: seconds the kernel may take to start.
    """
    mend = _run("-m", "ipykernel", "install", "--sys-prefix")
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
        from jupyter_client.manager import start_new_kernel
    except ImportError as error:
        return Check("kernel", False, f"{error.name} is missing", _pip("hitl_lab[lab]"))
    try:
        program = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        return Check("kernel", False, 'Jupyter knows no kernel "python3"', mend)
    # jupyter_client replaces a bare "python" by the Python it runs in; anything else is started as it stands.
    bare = {"python", f"python{sys.version_info[0]}", "python{}.{}".format(*sys.version_info)}
    # Compared by folder and not resolved: a virtual environment's python is a link to the one it was made from.
    if program not in bare and Path(program).parent != Path(sys.executable).parent:
        return Check("kernel", False, f'the kernel "python3" is another Python: {program}', mend)
    try:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        manager, client = start_new_kernel(startup_timeout=timeout, kernel_name="python3", **quiet)
    except (RuntimeError, OSError) as error:
        return Check("kernel", False, f'the kernel "python3" does not start: {error}', mend)
    try:
        reply = client.execute_interactive("import hitl_lab", timeout=timeout, output_hook=lambda _: None)
    except TimeoutError:
        return Check("kernel", False, 'the kernel "python3" does not answer', mend)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    if reply["content"]["status"] != "ok":
        return Check("kernel", False, f"it cannot import hitl_lab: {reply['content'].get('evalue')}", _pip(_PACKAGE))
    return Check("kernel", True, "python3 starts and imports hitl_lab")


def check_widgets() -> Check:
    """JupyterLab has the two extensions that show widgets."""
    wanted = {"@jupyter-widgets/jupyterlab-manager": "jupyterlab_widgets", "anywidget": "anywidget"}
    try:
        from jupyter_core.paths import jupyter_path
    except ImportError:
        return Check("widgets", False, "jupyter_core is missing", _pip("hitl_lab[lab]"))
    folders = [Path(folder) for folder in jupyter_path("labextensions")]
    missing = [
        package
        for extension, package in wanted.items()
        if not any((folder / extension / "package.json").is_file() for folder in folders)
    ]
    if missing:
        found = f"no JupyterLab extension of {', '.join(missing)}"
        return Check("widgets", False, found, _pip("--force-reinstall", "--no-deps", *missing))
    return Check("widgets", True, "JupyterLab shows ipywidgets and anywidget")


def check_graphviz(candidates: tuple[str, ...] | None = None) -> Check:
    """A Graphviz program draws a small graph: ``dot`` on PATH, or the one in the wheel graphviz-pure.

    Args:
        candidates: the programs to try, in order. Default: both.
    """
    trouble = "no dot on PATH and no graphviz-pure"
    for program in graphviz_programs() if candidates is None else candidates:
        try:
            drawn = subprocess.run(
                [program, "-Tsvg"], input=b"digraph { a -> b }", capture_output=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            trouble = f"{program} does not run: {error}"
            continue
        if drawn.returncode == 0 and b"<svg" in drawn.stdout:
            return Check("Graphviz", True, f"{Path(program).name} draws")
        trouble = f"{program} draws nothing (exit code {drawn.returncode})"
    return Check("Graphviz", False, trouble, _pip("graphviz-pure"))


def graphviz_programs() -> tuple[str, ...]:
    """Paths of the Graphviz programs to be found here: ``dot`` on PATH first, then the wheel's."""
    scripts = sysconfig.get_path("scripts")
    found = (shutil.which("dot"), shutil.which("graphviz-pure", path=scripts), shutil.which("graphviz-pure"))
    return tuple(dict.fromkeys(program for program in found if program))


def check_folder(folder: Path) -> Check:
    """Files can be made and deleted in `folder`, or in the nearest folder above it that exists."""
    folder = folder.expanduser().resolve()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    elsewhere = "hitl-lab start ~/hitl-lab-notebooks"
    if not existing.is_dir():
        return Check("folder", False, f"{existing} is a file, not a folder", elsewhere)
    try:
        with tempfile.NamedTemporaryFile(dir=existing) as probe:
            probe.write(b"x" * 4096)
            probe.flush()
    except OSError as error:
        return Check("folder", False, f"cannot write in {existing}: {error.strerror or error}", elsewhere)
    return Check("folder", True, f"{folder} can be written")


def check_port(port: int = 8888, tries: int = 51) -> Check:
    """127.0.0.1 has a free port where JupyterLab looks for one.

    Args:
        port: the first port.
        tries: how many ports from there on; JupyterLab is started with 50 retries.
    """
    last = min(port + tries - 1, 65535)
    for candidate in range(port, last + 1):
        with socket.socket() as probe:
            if os.name != "nt":
                # As JupyterLab's own socket: a port in TIME_WAIT is free to it. On Windows it would share a busy one.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", candidate))
            except OSError:
                continue
            return Check("port", True, f"127.0.0.1:{candidate} is free")
    mend = f"hitl-lab open --port {_other_port()}"
    return Check("port", False, f"127.0.0.1 has no free port from {port} to {last}", mend)


def _requirements() -> Iterator[Requirement]:
    for line in metadata.requires(_PACKAGE) or ():
        requirement = Requirement(line)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in _EXTRAS):
            yield requirement


def _record_nothing() -> None:
    import hitl_lab

    with hitl_lab.record():
        pass


def _other_port() -> int:
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return probe.getsockname()[1]
    except OSError:
        return 0


def _pip(*arguments: str) -> str:
    return _run("-m", "pip", "install", *arguments)


def _run(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.list2cmdline(command) if os.name == "nt" else shlex.join(command)
