"""Run a graph in another process: the job, the process, and what that process does.

A fresh interpreter each time, never a fork: a kernel has threads, and LangGraph's own would be cut off in the middle.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hitl_lab.errors import HitlLabError

KILLED = 86
"""Exit code of a child that was killed at its point; no signal and no shell uses it."""


class CannotRunThere(HitlLabError):
    """A graph cannot be run in another process: its factory cannot be imported there, or the process failed."""


class TookTooLong(CannotRunThere):
    """A child process was ended because it did not finish in time."""


@dataclass(frozen=True)
class Job:
    """What a child does: one call of a graph, recorded into a file.

    factory: "module:name" or a scenario's name. saver, place: as for `savers.opened`. input: of the call. method:
    "invoke" or "stream". at: where to die, "" for nowhere.
    """

    factory: str
    saver: str
    place: str
    thread: str
    input: Any
    trace: str
    at: str = ""
    durability: str = "sync"
    rows: bool = False


def spell(factory: Any) -> str:
    """Return how another process finds a graph factory: "module:name", or the name of a scenario.

    Args:
        factory: such a text; or a function (or compiled graph's module attribute) that can be imported.

    Raises:
        CannotRunThere: a lambda, a nested function, or one that lives in a notebook or script only.
    """
    if isinstance(factory, str):
        return factory
    module, name = getattr(factory, "__module__", None), getattr(factory, "__qualname__", None)
    way_out = "Put it into a file beside the notebook (%%writefile my_graph.py) and pass 'my_graph:name'."
    if not module or not name:
        raise CannotRunThere(f"{type(factory).__name__} cannot be found by another process. {way_out}")
    if "<" in name:
        raise CannotRunThere(f"{name} is defined inside a function: another process cannot import it. {way_out}")
    if module == "__main__":
        raise CannotRunThere(f"{name} lives in this notebook or script: another process cannot import it. {way_out}")
    with contextlib.suppress(Exception):
        if find(f"{module}:{name}") is factory:
            return f"{module}:{name}"
    raise CannotRunThere(f"{module}:{name} is not that function when imported. {way_out}")


def find(spelled: str) -> Any:
    """Return the factory, graph or scenario behind a text that `spell` returned.

    Raises CannotRunThere if there is none.
    """
    module, _, name = spelled.partition(":")
    try:
        if not name:
            from hitl_lab import scenarios

            return scenarios.get(module)
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found
    except (ImportError, AttributeError, KeyError) as exc:
        raise CannotRunThere(f"{spelled!r} cannot be found: {exc}") from exc


def build(factory: Any, saver: Any) -> Any:
    """Return the graph on a saver; `factory` is what `find` returned: a function of a saver, a graph, or a scenario."""
    if hasattr(factory, "story") and hasattr(factory, "build"):
        return factory.build(saver)
    if hasattr(factory, "compile"):
        return factory.compile(checkpointer=saver)
    if hasattr(factory, "get_state"):
        return factory.copy({"checkpointer": saver})
    return factory(saver)


_START = "import json, sys; sys.path[:], job = json.load(sys.stdin); from hitl_lab._child import main; main(job)"


def run(job: Job, timeout: float) -> int:
    """Do a job in a child process and return its exit code: 0, or KILLED.

    Args:
        job: what to do.
        timeout: seconds until the child is ended; it never outlives the call, nor an interrupt of the kernel.

    Raises:
        TookTooLong: it did not finish in time.
        CannotRunThere: it ended in another way; the text holds the end of its error output.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # A group of its own, so that what the graph's code started goes with it.
        start_new_session=os.name == "posix",
        env={**os.environ, "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false", "PYTHONFAULTHANDLER": ""},
    )
    # The input may be of the user's own classes: the child needs our import path before it can unpickle it.
    told = json.dumps([sys.path, base64.b64encode(pickle.dumps(job)).decode()])
    try:
        _, errors = child.communicate(told.encode(), timeout=timeout)
    except subprocess.TimeoutExpired:
        text = f"The graph did not finish within {timeout:g} seconds in its process, which was ended."
        raise TookTooLong(text) from None
    finally:
        _end(child)
    if child.returncode not in (0, KILLED):
        lines = errors.decode(errors="replace").strip().splitlines()
        said = "\n".join(lines[-15:]) or "it said nothing"
        raise CannotRunThere(f"The process that ran the graph ended with exit code {child.returncode}:\n{said}")
    return child.returncode


def _end(child: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        child.kill()
    for stream in (child.stdin, child.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    child.wait()


# ---------------------------------------------------------------- in the child


class Point:
    """A place in a run at which its process dies; called with each event. See `hitl_lab.crashes.POINTS`."""

    def __init__(self, at: str) -> None:
        self.kind, _, self.node = at.partition(":")
        self.node_step: tuple[Any, Any] | None = None
        self.checkpoint: str | None = None
        self.put: set[str] = set()

    def __call__(self, event: Any) -> None:
        if self.hit(event):
            os._exit(KILLED)

    def hit(self, event: Any) -> bool:
        """Whether the process dies at this event."""
        kind = event.kind
        if self.kind == "in_node":
            if self.node:
                return kind == "task_started" and event.name == self.node
            return kind == "interrupt_called" and not event.answered
        if self.kind == "after_node":
            return kind == "task_ended" and self.meant(event, event.outcome == "interrupt")
        if self.kind == "commit":
            return kind == "commit" and self.meant(event, event.outcome == "interrupt")
        if self.kind == "put_writes":
            asked = kind == "saver_put_writes" and any(row.channel == "__interrupt__" for row in event.rows)
            return kind == "saver_put_writes" and self.meant(event, asked)
        if self.kind == "put":
            return self.hit_put(event)
        return False

    def meant(self, event: Any, asks: bool) -> bool:
        return event.name == self.node if self.node else asks

    def hit_put(self, event: Any) -> bool:
        if event.kind == "saver_put":
            self.put.add(event.checkpoint)
        elif event.kind == "commit" and event.name == self.node and self.checkpoint is None:
            self.node_step = (event.ns, event.step)
        elif event.kind == "checkpoint" and self.checkpoint is None and (event.ns, event.step) == self.node_step:
            self.checkpoint = event.checkpoint
        # The put runs on a thread of its own and may be told before the checkpoint it saves.
        return bool(self.put) if not self.node else self.checkpoint in self.put


def work(job: Job) -> None:
    """Do a job in this process."""
    from hitl_lab import savers
    from hitl_lab.tracing.recorder import record

    point = Point(job.at)
    config = {"configurable": {"thread_id": job.thread}}
    watch: Callable[[Any], None] | None = point if job.at else None
    with savers.opened(job.saver, job.place) as saver, record(file=job.trace, on_event=watch, rows=job.rows):
        graph = build(find(job.factory), saver)
        if point.kind == "interrupt_chunk":
            for chunk in graph.stream(job.input, config, durability=job.durability, stream_mode="updates"):
                if "__interrupt__" in chunk:
                    os._exit(KILLED)
        else:
            graph.invoke(job.input, config, durability=job.durability)
            if point.kind == "returned":
                os._exit(KILLED)


def main(told: str) -> None:
    """Do the job that `run` told."""
    work(pickle.loads(base64.b64decode(told)))
