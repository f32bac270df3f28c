"""How JupyterLab is started for the course: on this machine only, without asking the network for anything."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_SETTINGS = Path(__file__).parent / "_jupyter"


def command(workspace: Path, *, port: int = 8888, browser: bool | None = None) -> list[str]:
    """The command line that opens JupyterLab in `workspace`.

    Args:
        workspace: the folder to show.
        port: the first port to try on 127.0.0.1; the next free one is taken if it is in use.
        browser: open a browser. Default: only where there is a display.
    """
    if browser is None:
        browser = has_display()
    first = min((path.name for path in workspace.glob("*.ipynb")), default=None)
    options = [
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=50",
        f"--ServerApp.root_dir={workspace}",
        f"--LabApp.default_url=/lab/tree/{first}" if first else "--LabApp.default_url=/lab",
        # JupyterLab's own requests to other hosts: news, updates, extensions.
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
        # A saved view of a widget would be an error message on another day.
        "--ContentsManager.pre_save_hook=hitl_lab.course.saving.drop_views",
        # At WARN the address is what stands on the screen, not at the top of forty lines about extensions.
        "--Application.log_level=WARN",
    ]
    if _can_encrypt():
        # Else each kernel prints a warning that anybody on this machine could read its traffic, which is true.
        options.append("--KernelManager.transport_encryption=auto")
    if not browser:
        options.append("--no-browser")
    if _is_root():
        options.append("--allow-root")
    return [sys.executable, "-m", "jupyterlab", *options]


def environment(inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment JupyterLab and its kernels get.

    Args:
        inherited: what to start from. Default: ``os.environ``.
    """
    result = dict(os.environ if inherited is None else inherited)
    # A "python3" kernel in the user's home, of some other Python, would be found before this environment's own.
    result["JUPYTER_PREFER_ENV_PATH"] = "1"
    # Without news JupyterLab still asks, in a pop-up, whether to show them; only leaving the plug-in out stops that.
    added = [str(_SETTINGS), *filter(None, [result.get("JUPYTER_CONFIG_PATH")])]
    result["JUPYTER_CONFIG_PATH"] = os.pathsep.join(added)
    # A key for a tracing service in the learner's shell must not send the exercises there.
    result["LANGSMITH_TRACING"] = result["LANGCHAIN_TRACING_V2"] = "false"
    return result


def has_display() -> bool:
    """Whether a browser could show itself: always on Windows and macOS, elsewhere with a graphical session."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _can_encrypt() -> bool:
    """Whether this Jupyter can encrypt what it says to its kernels: a newer jupyter_client, libsodium in pyzmq."""
    import zmq
    from jupyter_client.manager import KernelManager

    return "transport_encryption" in KernelManager.class_trait_names() and zmq.has("curve")


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
