"""What all rules read: the story cut into attempts of tasks, who came before whom on a thread, event numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from hitl_lab import answers as told
from hitl_lab.findings import Place
from hitl_lab.ledger import Ledger, Row
from hitl_lab.story import Action, Story
from hitl_lab.tracing import events as ev


@dataclass
class Attempt:
    """One run of one task's node, from TaskStarted to TaskEnded; a resume makes another attempt of the same task.

    settled: its writes were handed on as those of a finished task.
    """

    action: Action
    task: str
    name: str
    ns: tuple[str, ...]
    path: str
    step: int | None
    started: ev.TaskStarted
    asked: list[ev.InterruptCalled] = field(default_factory=list)
    effects: list[ev.SideEffect] = field(default_factory=list)
    retries: list[ev.Retried] = field(default_factory=list)
    wrote: list[ev.Wrote] = field(default_factory=list)
    ended: ev.TaskEnded | None = None
    committed: ev.Committed | None = None

    @property
    def outcome(self) -> str:
        """As TaskEnded.outcome, "running" if it has not ended."""
        return self.ended.outcome if self.ended is not None else "running"


class Case:
    """A trace made ready for the rules.

    attempts: in story order. decided_by: write key to the Committed or Retried event that dropped it.
    """

    def __init__(self, story: Story, ledger: Ledger) -> None:
        self.story, self.ledger = story, ledger
        self._number = {event.n: i for i, event in enumerate(story.events, 1)}
        self.attempts: list[Attempt] = []
        self.decided_by: dict[int, ev.Committed | ev.Retried] = {}
        self._attempts: dict[int, list[Attempt]] = {}
        for action in story.actions:
            self._read(action)
        self.attempt_of = {(a.action.key, a.task): a for a in self.attempts}

    def _read(self, action: Action) -> None:
        open_: dict[str, Attempt] = {}
        for event in action.events:
            if isinstance(event, ev.TaskStarted):
                place = self.story.place(event.ns)
                path = f"{place}/{event.name}" if place else event.name
                made = Attempt(action, event.task, event.name, event.ns, path, event.step, event)
                open_[event.task] = made
                self.attempts.append(made)
                self._attempts.setdefault(action.key, []).append(made)
                continue
            if isinstance(event, ev.Committed):
                self.decided_by.update(dict.fromkeys(event.dropped, event))
            elif isinstance(event, ev.Retried):
                self.decided_by.update(dict.fromkeys(event.cleared, event))
            attempt = open_.get(getattr(event, "task", ""))
            if attempt is None:
                continue
            match event:
                case ev.InterruptCalled():
                    attempt.asked.append(event)
                case ev.SideEffect():
                    attempt.effects.append(event)
                case ev.Retried():
                    attempt.retries.append(event)
                case ev.Wrote():
                    attempt.wrote.append(event)
                case ev.TaskEnded():
                    attempt.ended = event
                case ev.Committed():
                    attempt.committed = event

    def numbers(self, *events: ev.Event | int | None) -> tuple[int, ...]:
        """Return the numbers that the text view gives to events (or to their Event.n), sorted, each once."""
        ns = (e if isinstance(e, int) else e.n for e in events if e is not None)
        return tuple(sorted({self._number[n] for n in ns if n in self._number}))

    @cached_property
    def answers(self) -> tuple[told.Answer, ...]:
        """What became of each answer."""
        return told.answers(self.story)

    @cached_property
    def by_thread(self) -> dict[str | None, list[Action]]:
        """The runs and updates on each thread, in order."""
        out: dict[str | None, list[Action]] = {}
        for action in self.story.actions:
            if action.key:
                out.setdefault(action.thread, []).append(action)
        return out

    @cached_property
    def _place(self) -> dict[int, int]:
        return {action.key: i for mine in self.by_thread.values() for i, action in enumerate(mine)}

    @cached_property
    def by_label(self) -> dict[str, Action]:
        """The runs and updates by "run 2" or "update 1"."""
        return {action.label: action for action in reversed(self.story.actions)}

    @cached_property
    def rows_of(self) -> dict[int, list[Row]]:
        """The ledger's rows by Event.run."""
        out: dict[int, list[Row]] = {}
        for row in self.ledger:
            out.setdefault(row.action_key, []).append(row)
        return out

    @cached_property
    def paused_inside(self) -> dict[tuple[int, str], list[ev.SubgraphEnded]]:
        """The graphs that paused inside a task, by Event.run and task."""
        out: dict[tuple[int, str], list[ev.SubgraphEnded]] = {}
        for event in self.story.events:
            if isinstance(event, ev.SubgraphEnded) and event.status == "paused":
                out.setdefault((event.run, event.task), []).append(event)
        return out

    def attempts_of(self, action: Action) -> list[Attempt]:
        """Return the attempts in one run, in story order."""
        return self._attempts.get(action.key, [])

    def before(self, action: Action) -> Action | None:
        """Return the run or update before this one on its thread, None if the trace saw none."""
        at = self._place[action.key]
        return self.by_thread[action.thread][at - 1] if at else None

    def upto_next_run(self, action: Action) -> list[Action]:
        """Return the updates that follow on its thread and the run after them; [] if no run follows."""
        mine = self.by_thread[action.thread]
        at = self._place[action.key] + 1
        end = next((i for i in range(at, len(mine)) if not mine[i].is_update), -1)
        return mine[at : end + 1]

    def read(self, action: Action | None) -> ev.StateRead | None:
        """Return what get_state() read at the end of an action, at the top; None if that was not seen."""
        if action is None:
            return None
        found = [e for e in action.events if isinstance(e, ev.StateRead) and not e.ns and not e.error]
        return found[-1] if found else None

    def pause(self, action: Action | None) -> ev.Paused | None:
        """Return the pause a run ended with, at the top."""
        if action is None or action.status != "paused":
            return None
        found = [e for e in action.events if isinstance(e, ev.Paused) and not e.ns]
        return found[-1] if found else None

    def where(self, path: str, channel: str = "") -> str:
        """Return "node" or "node → channel"."""
        return f"{path} → {channel}" if channel else path

    def stop_of(self, attempt: Attempt | None) -> Place | None:
        """Return the user's line at which an attempt stopped on interrupt()."""
        if attempt is None:
            return None
        for call in reversed(attempt.asked):
            if not call.answered and call.source is not None:
                return Place("interrupt()", call.source)
        if attempt.ended is not None and attempt.outcome == "interrupt" and attempt.ended.source is not None:
            return Place("interrupt()", attempt.ended.source)
        return None

    def call_of(self, action: Action) -> Place | None:
        """Return the user's line that called invoke, stream or update_state."""
        source = getattr(action.started, "source", None)
        if source is None or source.file.endswith("hitl_lab/running.py"):  # the command line called, not the user
            return None
        return Place(getattr(action.started, "action", "call"), source)

    def predecessors(self, path: str) -> tuple[str, ...]:
        """Return the nodes with an edge to a node, "START" for the entry; () if the trace does not tell the graph."""
        return tuple(self._edges_to.get(path.replace("/", ":"), ()))

    def new_node(self, path: str, name: str) -> str:
        """Return a name for a new node beside a node: the given one, or with a number if the graph has that already."""
        place = path.replace("/", ":").rpartition(":")
        there = "".join(place[:2])
        names = itertools.chain([name], (f"{name}_{n}" for n in itertools.count(2)))
        return next(free for free in names if f"{there}{free}" not in self._nodes)

    @cached_property
    def _nodes(self) -> set[str]:
        return {key for e in self.story.events for key in (getattr(e, "shape", None) or {}).get("nodes", ())}

    @cached_property
    def _edges_to(self) -> dict[str, dict[str, None]]:
        out: dict[str, dict[str, None]] = {}
        for event in self.story.events:
            shape = getattr(event, "shape", None) or {}
            for edge in shape.get("edges", ()):
                name = edge[0].rsplit(":", 1)[-1]
                out.setdefault(edge[1], {})["START" if name == "__start__" else name] = None
        return out


def places(*found: Place | None) -> tuple[Place, ...]:
    """Return the places that are known, each once."""
    return tuple(dict.fromkeys(p for p in found if p is not None))


def write_names(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return W1, W2, ... of rows."""
    return tuple(dict.fromkeys(r.write for r in rows if r.key is not None))


def once(parts: Iterable[str | None]) -> tuple[str, ...]:
    """Return the texts that are there, each once, in order."""
    return tuple(dict.fromkeys(p for p in parts if p))
