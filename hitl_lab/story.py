"""`Story`: the events of a trace in an order that does not depend on threads, with short names for ids.

Events arrive in the order in which threads happen to run: the saver's `put_writes` returns in the background, parallel
tasks interleave. Readers and stored outputs need one order. Here each superstep is told task by task, as `tick`
listed them; what a saver returns follows what was handed to it; a subgraph is told inside the task that called it.
`Event.n` still holds the order of arrival.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hitl_lab.tracing import events as ev

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}")


@dataclass(frozen=True)
class Action:
    """One call on the timeline: a run (invoke, stream, ...) or an update_state.

    key: Event.run. number: of runs among the runs, of updates among the updates, from 1. events: in story order.
    """

    key: int
    number: int
    is_update: bool
    events: tuple[ev.Event, ...]

    @property
    def started(self) -> ev.Event:
        """The RunStarted or UpdateStarted."""
        return self.events[0]

    @property
    def label(self) -> str:
        """ "run 2" or "update 1"."""
        return f"{'update' if self.is_update else 'run'} {self.number}"

    @property
    def name(self) -> str:
        """The method called, "resume" for a call with Command(resume=...).

        "subgraph" if the trace has only what ran inside a node: a record() in the node itself.
        """
        first = self.events[0]
        if isinstance(first, ev.SubgraphStarted):
            return "subgraph"
        command = getattr(first, "command", None)
        if command and "resume" in command:
            return "resume"
        return getattr(first, "action", "")

    @property
    def thread(self) -> str | None:
        """The thread id, None without one."""
        return getattr(self.events[0], "thread", None)

    @property
    def status(self) -> str:
        """How it ended: "done", "paused", "error", "closed", ..., "running" while it has not."""
        for event in reversed(self.events):
            if isinstance(event, ev.RunEnded):
                return event.status
            if isinstance(event, ev.StateUpdated):
                return "error" if event.error else "done"
            if isinstance(event, ev.SubgraphEnded) and event.ns == self.events[0].ns:
                return event.status
        return "running"


class Story:
    """A trace's events in story order, and the short names of what they mention.

    events: all of them. actions: runs and updates. `name` gives C1 (checkpoints), T1 (tasks), I1 (interrupts);
    `write_name` gives W1, W2, ... to writes of state channels; control writes have none.
    """

    def __init__(self, events: Sequence[ev.Event]) -> None:
        self.actions: tuple[Action, ...] = tuple(_actions(events))
        self.events: tuple[ev.Event, ...] = tuple(event for action in self.actions for event in action.events)
        self._names: dict[str, str] = {}
        self._writes: dict[int, str] = {}
        self.wrote: dict[int, ev.Wrote] = {}
        self.tasks: dict[str, ev.TaskInfo] = {}
        counts = {"C": 0, "T": 0, "I": 0}

        def give(letter: str, id: str | None) -> None:
            if id and id not in self._names:
                counts[letter] += 1
                self._names[id] = f"{letter}{counts[letter]}"

        for event in self.events:
            match event:
                case ev.RunStarted() | ev.SubgraphStarted() | ev.CheckpointCreated() | ev.StateRead():
                    give("C", event.checkpoint)
                case ev.UpdateStarted():
                    give("C", event.before)
                case ev.Ticked():
                    for info in event.tasks:
                        give("T", info.id)
                        self.tasks[info.id] = info
                case ev.TaskPushed():
                    give("T", event.task)
                    self.tasks[event.task] = event.info
                case ev.Wrote():
                    self.wrote[event.write] = event
                    if not event.control:
                        self._writes.setdefault(event.write, f"W{len(self._writes) + 1}")
            for asked in getattr(event, "interrupts", ()):
                give("I", asked.id)
        self._action_of = {action.key: action for action in self.actions}

    def name(self, id: str | None) -> str:
        """Return the short name of a checkpoint, task or interrupt id; "?" if the trace does not know it."""
        return self._names.get(id or "", "?")

    def write_name(self, key: int | None) -> str | None:
        """Return W1, W2, ... for a write of a state channel, None for a control write or one not seen."""
        return self._writes.get(key) if key is not None else None

    def action(self, key: int) -> Action | None:
        """Return the run or update an event belongs to, by `Event.run`."""
        return self._action_of.get(key)

    def stands(self, info: ev.TaskInfo, at: ev.Event) -> str:
        """Return how a task stands when `at` plans it: "planned", or, its saved writes being handed back, "finished";
        "failed" or "cancelled" if its node ended so, after a write, in an earlier run.
        """
        if not info.finished:
            return "planned"
        before = [outcome for n, outcome in self._ends.get(info.id, ()) if n < at.n]
        return {"error": "failed", "cancelled": "cancelled"}.get(before[-1] if before else "", "finished")

    @cached_property
    def _ends(self) -> dict[str, list[tuple[int, str]]]:
        out: dict[str, list[tuple[int, str]]] = {}
        for event in self.events:
            if isinstance(event, ev.TaskEnded):
                out.setdefault(event.task, []).append((event.n, event.outcome))
        return out

    @cached_property
    def runs(self) -> tuple[Action, ...]:
        """The runs, without the updates."""
        return tuple(a for a in self.actions if not a.is_update and a.key)

    @cached_property
    def threads(self) -> dict[str | None, str]:
        """Short texts for thread ids: the id itself if it is short and no uuid, else "thread 1", ..."""
        out: dict[str | None, str] = {}
        for action in self.actions:
            id = action.thread
            if not action.key or id in out:
                continue
            if id is None:
                out[id] = "no thread"
            elif len(id) <= 24 and not _UUID.search(id):
                out[id] = f"thread {id}"
            else:
                out[id] = f"thread #{len(out) + 1}"
        return out

    def runs_of(self, thread: str | None) -> tuple[Action, ...]:
        """Return the runs on a thread."""
        return tuple(a for a in self.runs if a.thread == thread)

    def place(self, ns: Iterable[str]) -> str:
        """Return a namespace as node names, "outer/inner"; "" at the top."""
        if not ns:
            return ""
        return "/".join(part.split(":", 1)[0] for part in ns if not part.isdigit())


def _actions(events: Sequence[ev.Event]) -> Iterable[Action]:
    groups: dict[int, list[ev.Event]] = {}
    last = 0
    for event in events:
        key = event.run
        if key == 0:  # a note: it belongs where it was made
            key = last
        elif isinstance(event, ev.RunStarted | ev.UpdateStarted):
            last = key
        groups.setdefault(key, []).append(event)
    counts = [0, 0]
    for key, group in groups.items():
        update = isinstance(group[0], ev.UpdateStarted)
        if key:
            counts[update] += 1
        yield Action(key, counts[update], update, tuple(group if update else _Order(group).all()))


_BY_TASK = (
    ev.TaskStarted,
    ev.Wrote,
    ev.Retried,
    ev.InterruptCalled,
    ev.SideEffect,
    ev.TaskEnded,
    ev.Committed,
    ev.PutWrites,
    ev.SaverPutWrites,
    ev.TaskPushed,
)
_LAST = (ev.Returned, ev.StateRead, ev.RunEnded, ev.SubgraphEnded)


class _Order:
    """Puts the events of one run into story order."""

    def __init__(self, events: Sequence[ev.Event]) -> None:
        self.given = events
        first = events[0]
        self.exit = isinstance(first, ev.RunStarted) and first.durability == "exit"
        # A graph with a checkpointer of its own has a namespace that does not name the task that called it.
        self.caller = {_joined(e.ns): e.task for e in events if isinstance(e, ev.SubgraphStarted)}

    def all(self) -> list[ev.Event]:
        return self.level((), [(_joined(e.ns), e) for e in self.given])

    def level(self, ns: tuple[str, ...], events: list[tuple[tuple[str, ...], ev.Event]]) -> list[ev.Event]:
        """Order the events of the loop at `ns` and of all below it."""
        depth = len(ns)
        spine: list[ev.Event] = []
        by_task: dict[str, list[ev.Event]] = {}
        below: dict[str, dict[str, list[tuple[tuple[str, ...], ev.Event]]]] = {}
        saved: list[ev.Event] = []
        puts: dict[str, list[ev.Event]] = {}  # by checkpoint: searching all for each took 3 s of 40,000 events
        known = {info.id for _, e in events for info in _planned(e)}
        for at, event in events:
            if len(at) > depth:
                segment = at[depth]
                below.setdefault(self.task_of(at[: depth + 1]), {}).setdefault(segment, []).append((at, event))
            elif isinstance(event, ev.SaverPut):
                puts.setdefault(event.checkpoint, []).append(event)
            elif isinstance(event, ev.SaverPutWrites) and self.exit:
                saved.append(event)
            elif isinstance(event, _BY_TASK) and _owner(event) in known:
                by_task.setdefault(_owner(event), []).append(event)
            else:
                spine.append(event)
        out: list[ev.Event] = []
        for event in _null_rows_in_place(spine):
            if (saved or puts) and isinstance(event, _LAST):
                out += _saved_last(saved, puts, events)
                saved, puts = [], {}
            out.append(event)
            if isinstance(event, ev.Ticked):
                for info in event.tasks:
                    out += self.task(ns, info.id, by_task, below)
            elif isinstance(event, ev.CheckpointCreated) and event.to_saver:
                out += puts.pop(event.checkpoint, [])
        out += _saved_last(saved, puts, events)
        for rest in list(by_task):  # tasks whose tick the trace did not see
            out += self.task(ns, rest, by_task, below)
        for task in list(below):
            out += self.children(ns, below.pop(task))
        return out

    def task_of(self, ns: tuple[str, ...]) -> str:
        """Return the task inside which the loop at `ns` runs."""
        return self.caller.get(ns) or ns[-1].split("|", 1)[0].rsplit(":", 1)[-1]

    def task(self, ns: tuple[str, ...], id: str, by_task: dict, below: dict) -> list[ev.Event]:
        mine: list[ev.Event] = _branches_by_name(by_task.pop(id, []))
        loops: dict[str, list] = below.pop(id, {})
        first = {min(e.n for _, e in group): segment for segment, group in loops.items()}
        out: list[ev.Event] = []
        late: list[ev.Event] = []
        for event in mine:
            while first and min(first) < event.n and not isinstance(event, ev.TaskStarted):
                segment = first.pop(min(first))
                out += self.level((*ns, segment), loops[segment])
            if isinstance(event, ev.SaverPutWrites):
                late.append(event)
                continue
            out.append(event)
            if isinstance(event, ev.TaskPushed):
                out += self.task(ns, event.task, by_task, below)
        for n in sorted(first):
            out += self.level((*ns, first[n]), loops[first[n]])
        return out + late

    def children(self, ns: tuple[str, ...], loops: dict[str, list]) -> list[ev.Event]:
        out: list[ev.Event] = []
        for segment, group in loops.items():
            out += self.level((*ns, segment), group)
        return out


def _branches_by_name(events: list[ev.Event]) -> list[ev.Event]:
    """Sort control writes that follow one another: a StateGraph keeps its edges in a set, whose order is a hash's."""
    out: list[ev.Event] = []
    for control, group in itertools.groupby(events, _is_branch):
        found = list(group)
        out += sorted(found, key=lambda e: (e.channel, e.n)) if control else found  # type: ignore[attr-defined]
    return out


def _is_branch(event: ev.Event) -> bool:
    return isinstance(event, ev.Wrote) and event.control and event.via == "branch"


def _planned(event: ev.Event) -> Iterable[ev.TaskInfo]:
    if isinstance(event, ev.Ticked):
        return event.tasks
    return (event.info,) if isinstance(event, ev.TaskPushed) else ()


def _owner(event: ev.Event) -> str:
    # A pushed task is told where its parent called it.
    return event.parent if isinstance(event, ev.TaskPushed) else event.task  # type: ignore[attr-defined]


def _joined(ns: Iterable[str]) -> tuple[str, ...]:
    """Join a call counter ("1", for the second graph a task calls) to the segment it counts."""
    out: list[str] = []
    for part in ns:
        if part.isdigit() and out:
            out[-1] += "|" + part
        else:
            out.append(part)
    return tuple(out)


def _null_rows_in_place(spine: list[ev.Event]) -> list[ev.Event]:
    """Move what the saver returned for the null task behind the PutWrites it answers."""
    late = [e for e in spine if isinstance(e, ev.SaverPutWrites)]
    if not late:
        return spine
    out: list[ev.Event] = []
    for event in spine:
        if isinstance(event, ev.SaverPutWrites):
            continue
        out.append(event)
        if isinstance(event, ev.PutWrites) and late:
            out.append(late.pop(0))
    at = next((i for i, e in enumerate(out) if isinstance(e, _LAST)), len(out))
    return out[:at] + late + out[at:]


def _saved_last(
    saved: list[ev.Event], puts: dict[str, list[ev.Event]], events: list[tuple[tuple[str, ...], ev.Event]]
) -> list[ev.Event]:
    if not (saved or puts):
        return []
    order = {id: i for i, id in enumerate(info.id for _, e in events for info in _planned(e))}
    made = {e.checkpoint: i for i, (_, e) in enumerate(events) if isinstance(e, ev.CheckpointCreated)}

    def key(event: ev.Event) -> tuple[int, int]:
        if isinstance(event, ev.SaverPut):
            return 0, made.get(event.checkpoint, -1)
        return 1, order.get(event.task, -1)  # type: ignore[attr-defined]

    return sorted([*saved, *(event for some in puts.values() for event in some)], key=key)
