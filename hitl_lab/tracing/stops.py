"""Where a stepped run stands, as a sentence, and what `run_to` runs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hitl_lab.trace import Trace
from hitl_lab.tracing import events as ev
from hitl_lab.tracing import seams
from hitl_lab.tracing.gates import PHASES


class Stop:
    """A place where the run stands. Prints as a sentence; attributes of its event can be read from it.

    phase: "tick", "execute", "commit" or "after_tick"; "event" (run_to a kind of event), "paused", "end" or "update".
    event: what happened last. task: name of the task, "" if none. place: the subgraph it is in, "" at the top.
    """

    __slots__ = ("_trace", "event", "phase")

    def __init__(self, phase: str, event: ev.Event | None, trace: Trace) -> None:
        self.phase, self.event, self._trace = phase, event, trace

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.event is None:
            raise AttributeError(name)
        return getattr(self.event, name)

    @property
    def task(self) -> str:
        return getattr(self.event, "name", "")

    @property
    def place(self) -> str:
        return "/".join(p.split(":", 1)[0] for p in getattr(self.event, "ns", ()) if not p.isdigit())

    @property
    def sentence(self) -> str:
        """What just happened, in one or two sentences."""
        if self.event is None:
            return "The recorder stopped before this; the run goes on unrecorded."
        from hitl_lab.sentences import sentence

        return sentence(self.event, self._trace.story)

    def __str__(self) -> str:
        where = f" in {self.place}" if self.place else ""
        return f"[{self.phase}{where}] {self.sentence}"

    __repr__ = __str__


Reached = Callable[[Stop], bool]
Watch = Callable[[ev.Event], bool]


def goal(graph: Any, target: str | Watch | None, node: str | None) -> tuple[Reached, Watch | None]:
    """Return what `run_to(target, node=node)` waits for: whether a stop is it, and an event to stand at, if any.

    Raises ValueError: there is no such phase, node or kind of event.
    """
    if node is None:
        if callable(target):
            return _no_stop, target
        if target in PHASES:
            return (lambda stop: stop.phase == target), None
        if target == "superstep":
            return (lambda stop: stop.phase == "tick"), None
        if target == "dropped":
            return (lambda stop: stop.phase == "commit" and bool(getattr(stop.event, "dropped", ()))), None
    names, all_known = seams.names_of_nodes(graph)
    wanted = target if node is None else node
    if node is None and wanted in ev.KINDS and wanted not in names:
        return _no_stop, (lambda event: event.kind == wanted)
    if wanted in names or (not all_known and isinstance(wanted, str)):
        return (lambda stop: stop.phase == "tick" and _plans(stop.event, wanted)), (lambda event: _calls(event, wanted))
    raise ValueError(
        f"run_to({wanted!r}): no phase ({', '.join(PHASES)}, superstep, dropped), node ({', '.join(sorted(names))}) or "
        f"kind of event ({', '.join(sorted(ev.KINDS))}) is called so."
    )


def _no_stop(stop: Stop) -> bool:  # noqa: ARG001
    return False


def _plans(event: ev.Event | None, name: Any) -> bool:
    return isinstance(event, ev.Ticked) and event.more and any(t.name == name and not t.finished for t in event.tasks)


def _calls(event: ev.Event, name: Any) -> bool:
    return isinstance(event, ev.TaskPushed) and event.info.name == name
