"""What the seams need of LangGraph, checked by name before anything is swapped, and what it calls its channels."""

from __future__ import annotations

import functools
import importlib
import platform
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hitl_lab.errors import NotAGraph, UnsupportedLangGraph

SUPPORTED = ((1, 0, 0), (1, 3))
RANGE = "langgraph >= 1.0.0, < 1.3"

_NEEDED: dict[str, tuple[str, ...]] = {
    "langgraph.pregel.main": (
        "SyncPregelLoop", "AsyncPregelLoop", "PregelRunner", "apply_writes",
        "Pregel.bulk_update_state", "Pregel.abulk_update_state", "Pregel.get_state", "Pregel.aget_state",
    ),
    "langgraph.pregel._loop": (
        "apply_writes", "PregelLoop.tick", "PregelLoop.after_tick", "PregelLoop.put_writes", "PregelLoop._first",
        "PregelLoop._put_checkpoint", "PregelLoop._suppress_interrupt", "PregelLoop.accept_push",
        "SyncPregelLoop._checkpointer_put_after_previous", "AsyncPregelLoop._checkpointer_put_after_previous",
    ),
    "langgraph.pregel._runner": ("PregelRunner.commit", "run_with_retry", "arun_with_retry"),
    "langgraph._internal._constants": (
        "CONF", "CONFIG_KEY_SEND", "CONFIG_KEY_SCRATCHPAD", "CONFIG_KEY_TASK_ID", "CONFIG_KEY_CHECKPOINT_NS",
        "CONFIG_KEY_CHECKPOINT_ID", "CONFIG_KEY_THREAD_ID", "CONFIG_KEY_CHECKPOINTER", "INTERRUPT", "RESUME",
        "ERROR", "NO_WRITES", "RETURN", "NULL_TASK_ID", "TASKS", "NS_SEP",
    ),
    "langgraph.pregel.protocol": ("StreamProtocol",),
    "langgraph.pregel._write": ("ChannelWrite.do_write",),
    "langgraph.channels.untracked_value": ("UntrackedValue",),
    "langgraph.errors": ("GraphInterrupt", "GraphBubbleUp"),
    "langgraph.types": ("Command", "interrupt"),
}  # fmt: skip


def check() -> None:
    """Make sure that the installed LangGraph is one the seams fit.

    Raises UnsupportedLangGraph naming the installed version, the supported range and what is missing.
    """
    try:
        installed = _installed(version)
    except PackageNotFoundError:
        raise UnsupportedLangGraph(f"LangGraph is not installed. Install {RANGE}.") from None
    numbers = tuple(int(part) for part in installed.split(".")[:3] if part.isdigit())
    if not SUPPORTED[0] <= numbers < SUPPORTED[1]:
        raise UnsupportedLangGraph(
            f"LangGraph {installed} is installed; hitl_lab can record {RANGE}. Install a version in that range, "
            "or a newer hitl_lab."
        )
    missing = list(_missing())
    if missing:
        raise UnsupportedLangGraph(
            f"LangGraph {installed} is installed, in the supported range ({RANGE}), but lacks {', '.join(missing)}. "
            "It may be patched: reinstall it, or take the patch off before recording."
        )


@functools.cache
def _installed(find: Callable[[str], str]) -> str:
    # Reading the package's metadata twice at each record() took 0.4 ms.
    return find("langgraph")


def _missing() -> Iterator[str]:
    for module_name, names in _NEEDED.items():
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            yield module_name
            continue
        for name in names:
            found: Any = module
            for part in name.split("."):
                found = getattr(found, part, _GONE)
                if found is _GONE:
                    yield f"{module_name}.{name}"
                    break


_GONE = object()

check()  # a missing name is told by name here, before the classes below trip over it

from langgraph._internal import _constants as K  # noqa: E402
from langgraph.channels.untracked_value import UntrackedValue  # noqa: E402
from langgraph.errors import GraphBubbleUp, GraphInterrupt  # noqa: E402
from langgraph.pregel import _loop as L  # noqa: E402
from langgraph.pregel import _runner as R  # noqa: E402
from langgraph.pregel import main as M  # noqa: E402
from langgraph.pregel._write import ChannelWrite  # noqa: E402
from langgraph.pregel.protocol import StreamProtocol  # noqa: E402
from langgraph.types import Command, interrupt  # noqa: E402

CONF, SEND, PAD = K.CONF, K.CONFIG_KEY_SEND, K.CONFIG_KEY_SCRATCHPAD
SPECIAL = frozenset(
    {K.INTERRUPT, K.RESUME, K.ERROR, K.NO_WRITES, getattr(K, "ERROR_SOURCE_NODE", "__error_source_node__"), "__input__"}
)
local = threading.local()

FUNCTIONS: dict[str, Any] = {
    "tick": L.PregelLoop.tick,
    "task_started": R.run_with_retry,
    "interrupt_called": interrupt,
    "commit": R.PregelRunner.commit,
    "put_writes": L.PregelLoop.put_writes,
    "after_tick": L.PregelLoop.after_tick,
    "_first": L.PregelLoop._first,
    "_suppress_interrupt": L.PregelLoop._suppress_interrupt,
    "checkpoint": L.PregelLoop._put_checkpoint,
    "update_state": M.Pregel.bulk_update_state,
}
"""The installed functions at work, by the kind of event (or the `where` of Applied) they cause; for views that show
their source."""


def is_control(channel: str) -> bool:
    """Whether a channel carries control flow rather than state: branch, join, Send, and the start trigger."""
    return channel.startswith(("branch:to:", "join:")) or channel in (K.TASKS, "__start__")


KNOWN: dict[str, Any] = {
    "special": SPECIAL,
    "is_control": is_control,
    "null_task": K.NULL_TASK_ID,
    "result": K.RETURN,
}


def facts() -> dict[str, Any]:
    """Return what the header of a trace says of the installation."""
    return {"langgraph": _installed(version), "python": platform.python_version()}


def require_graph(graph: Any, where: str) -> None:
    """Raise NotAGraph unless `graph` is a compiled LangGraph graph (a Pregel)."""
    if isinstance(graph, M.Pregel):
        return
    hint = "Call .compile() on it first." if hasattr(graph, "compile") else "Give the result of builder.compile()."
    raise NotAGraph(f"{where} needs a compiled LangGraph graph, not {type(graph).__name__}. {hint}")


__all__ = [
    "CONF",
    "FUNCTIONS",
    "KNOWN",
    "PAD",
    "RANGE",
    "SEND",
    "SPECIAL",
    "SUPPORTED",
    "ChannelWrite",
    "Command",
    "GraphBubbleUp",
    "GraphInterrupt",
    "K",
    "L",
    "M",
    "R",
    "StreamProtocol",
    "UntrackedValue",
    "check",
    "facts",
    "interrupt",
    "is_control",
    "local",
    "require_graph",
]
