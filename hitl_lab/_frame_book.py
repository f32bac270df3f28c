"""Writes the document that frames are computed from: one pass over a story, tables of what recurs, words in place.

All wording of the views is made here, so that the browser only looks things up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from hitl_lab import differences as diffs
from hitl_lab import values as val
from hitl_lab._frame_nodes import NodeStates
from hitl_lab.sentences import sentence
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import clean, show

if TYPE_CHECKING:
    from hitl_lab.ledger import Row
    from hitl_lab.trace import Trace

COLUMNS = ("task.writes", "put_writes", "saver", "checkpoint", "get_state() live", "returned", "after resume")
STATUS = 0  # a mark's column 0 is the write's status; 1 and up are COLUMNS
SHORT = 110

PHASES = {
    ev.Ticked: "tick",
    ev.TaskPushed: "execute",
    ev.TaskStarted: "execute",
    ev.Wrote: "execute",
    ev.Retried: "execute",
    ev.InterruptCalled: "execute",
    ev.SideEffect: "execute",
    ev.TaskEnded: "execute",
    ev.Committed: "commit",
    ev.PutWrites: "commit",
    ev.SaverPutWrites: "commit",
    ev.CheckpointCreated: "after_tick",
    ev.SaverPut: "after_tick",
    ev.Paused: "exit",
    ev.Returned: "exit",
    ev.StateRead: "exit",
    ev.RunEnded: "exit",
    ev.SubgraphEnded: "exit",
    ev.RunStarted: "input",
    ev.SubgraphStarted: "input",
}
_OF_TASK = (ev.TaskStarted, ev.Wrote, ev.TaskEnded, ev.Committed, ev.PutWrites, ev.SaverPutWrites)
_OWNED = (*_OF_TASK, ev.InterruptCalled, ev.SideEffect, ev.Retried)
_STARTS = (ev.RunStarted, ev.UpdateStarted)
_APPLIED_IN = {"after_tick": "after_tick", "_first": "input", "_suppress_interrupt": "exit"}


class Book:
    """One document in the making; `document()` gives it.

    source, drawing: see `hitl_lab.frames.frames`.
    """

    def __init__(self, trace: Trace, *, source: Callable | None = None, drawing: Callable | None = None) -> None:
        self.trace, self.story, self.ledger = trace, trace.story, trace.ledger
        self.read_source = source
        self.runs: list[dict[str, Any]] = []
        self.spaces: list[dict[str, Any]] = []
        self.tasks: list[dict[str, Any]] = []
        self.checkpoints: list[dict[str, Any]] = []
        self.writes: list[dict[str, Any]] = []
        self.values: list[list[str]] = []
        self.sources: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.steps: list[int] = []
        self.nodes = NodeStates(drawing)
        self._of = Counter(action.is_update for action in self.story.actions if action.key)
        self._value_of: dict[str, int] = {}
        self._value_by_id: dict[int, int] = {}
        self._kept: list[Any] = []  # holds what _value_by_id knows by identity
        self._run_of: dict[int, int] = {}
        self._space_of: dict[tuple[int, tuple[str, ...]], int] = {}
        self._task_of: dict[tuple[int, str], int] = {}
        self._unplanned: set[int] = set()
        self._point_of: dict[str, int] = {}
        self._write_of: dict[int, int] = {}
        self._source_of: dict[Any, int] = {}
        self._source_by_id: dict[int, int] = {}
        self._cleaned: dict[Any, str] = {}
        names = (made.kind for made in ev.KINDS.values())
        self._handlers = {name: made for name in names if (made := getattr(self, f"on_{name}", None)) is not None}
        self._at: dict[tuple[int, tuple[str, ...]], str | None] = {}
        self._channels: dict[int, dict[str, Any]] = {}
        self._stood: dict[str, dict[str, Any]] = {}
        self._state: dict[str | None, dict[str, Any]] = {}
        self._applied: dict[tuple[int, tuple[str, ...]], list[int]] = {}
        self._returned: dict[int, ev.Returned] = {}
        self._rows: dict[int, Row] = {r.key: r for r in self.ledger if r.key is not None}
        self._rows_of: dict[int, list[Row]] = {}
        self._mutated: dict[int, list[Row]] = {}
        self._discarded: dict[int, list[Row]] = {}
        self._rewritten: dict[tuple[str, str, str], list[Row]] = {}
        self._last_read = {e.thread: e.n for e in self.story.events if isinstance(e, ev.StateRead)}
        self._lost: dict[str | None, list[Row]] = {}
        for row in self.ledger:
            self._sort(row)

    def _sort(self, row: Row) -> None:
        if row.key is None:
            self._mutated.setdefault(row.wrote_at, []).append(row)
            return
        self._rows_of.setdefault(row.action_key, []).append(row)
        if row.discarded_by:
            self._discarded.setdefault(row.decided_at, []).append(row)
        if row.rewritten_by:
            self._rewritten.setdefault((row.rewritten_by, row.path, row.channel), []).append(row)
        if row.fate == "lost":
            self._lost.setdefault(row.thread, []).append(row)

    def document(self) -> dict[str, Any]:
        """Return the document without its header."""
        for event in self.story.events:
            self.add(event)
        if self.events and (not self.steps or self.steps[-1] != len(self.events) - 1):
            self.steps.append(len(self.events) - 1)
            self.events[-1].setdefault("say", sentence(self.story.events[-1], self.story))
        name = next((g["name"] for g in self.nodes.graphs if g["name"] not in ("", "LangGraph")), "")
        return {
            "title": name or "Trace",
            "facts": {str(k): str(v) for k, v in self.trace.facts.items()},
            "columns": list(COLUMNS),
            "runs": self.runs,
            "spaces": self.spaces,
            "tasks": self.tasks,
            "graphs": self.nodes.graphs,
            "nodes": self.nodes.table,
            "checkpoints": self.checkpoints,
            "writes": self.writes,
            "values": self.values,
            "sources": self.sources,
            "events": self.events,
            "steps": self.steps,
        }

    # ------------------------------------------------------------ tables

    def value(self, snapshot: Any) -> int:
        """Return the number of a value's text in the table."""
        known = self._value_by_id.get(id(snapshot))
        if known is not None:
            return known
        short = show(snapshot, SHORT)
        full = diffs.pretty(snapshot) if short.endswith("…") or len(short) > 60 else short
        number = self._value_of.get(full)
        if number is None:
            number = self._value_of[full] = len(self.values)
            self.values.append([short] if full == short else [short, full])
        self._value_by_id[id(snapshot)] = number
        self._kept.append(snapshot)
        return number

    def channel_value(self, snapshot: Any) -> Any:
        """A list by its items, so that a list that grows costs what was added; -n stands for n items left out."""
        if not isinstance(snapshot, list):
            return self.value(snapshot)
        return [-v["n"] if val.is_mark(v, "more") else self.value(v) for v in snapshot]

    def loaded(self, snapshots: Any) -> dict[str, Any]:
        return {clean(k): self.channel_value(v) for k, v in snapshots.items()}

    def lines(self, lines: Iterable[diffs.Line]) -> list[list[Any]]:
        return [
            [line.path, self.value(line.before) if line.had else -1, self.value(line.after) if line.has else -1]
            for line in lines
        ]

    def space(self, event: ev.Event) -> int:
        key = (event.run, event.ns)
        if key not in self._space_of:
            self._space_of[key] = len(self.spaces)
            self.spaces.append({"run": self._run_of.get(event.run, 0), "path": self.story.place(event.ns)})
        return self._space_of[key]

    def task(self, event: ev.Event, id: str, info: ev.TaskInfo | None = None, name: str = "") -> int:
        key = (event.run, id)
        if key not in self._task_of:
            info = info or self.story.tasks.get(id)
            known = id in self.story.tasks
            entry: dict[str, Any] = {
                "name": self.story.name(id) if known else "",
                "node": clean(info.name if info else name),
                "path": self.story.place(event.ns),
            }
            if info is not None and info.hidden:
                entry["hidden"] = True
            self._task_of[key] = len(self.tasks)
            self.tasks.append(entry)
        return self._task_of[key]

    def point(self, event: ev.Event, id: str, **told: Any) -> int:
        """Return the number of a checkpoint, entering it if it is new."""
        if id not in self._point_of:
            self._point_of[id] = len(self.checkpoints)
            action = self.story.action(event.run)
            thread = self.story.threads.get(action.thread if action else None, "")
            space = self.space(event)
            self.checkpoints.append({"name": self.story.name(id), "thread": thread, "space": space, **told})
        return self._point_of[id]

    # ------------------------------------------------------------ events

    def add(self, event: ev.Event) -> None:
        """Enter one event."""
        out: dict[str, Any] = {"kind": event.kind, "phase": self.phase(event)}
        if isinstance(event, _STARTS):
            self.begin(event)
        out["space"] = self.space(event)
        if event.step is not None:
            out["superstep"] = event.step
        task = getattr(event, "task", "")
        if task and isinstance(event, _OWNED):
            out["task"] = self.task(event, task, name=getattr(event, "name", "") or getattr(event, "via", ""))
        place = getattr(event, "source", None)
        if isinstance(place, ev.Source) and place.line:
            out["place"] = self.cleaned(place)
        handler = self._handlers.get(event.kind)
        if handler is not None:
            handler(event, out)
        self.nodes.see(event, self.story, out)
        quiet = self.quiet(event, out)
        if not quiet:
            out["say"] = sentence(event, self.story)
            self.steps.append(len(self.events))
        if self.read_source is not None and not quiet and (found := self.read_source(event)) is not None:
            number = self._source_by_id.get(id(found))
            out["source"] = number if number is not None else self.source(found)
        self.events.append(out)

    def source(self, found: dict[str, Any]) -> int:
        """Return the number of an installed source in the table."""
        key = (found["file"], found["function"], tuple(found["deciding"]))
        if key not in self._source_of:
            self._source_of[key] = len(self.sources)
            self.sources.append(found)
        self._source_by_id[id(found)] = self._source_of[key]
        self._kept.append(found)
        return self._source_of[key]

    def cleaned(self, name: Any) -> str:
        """Return a name or a place of the user's code as it may be shown; they come again and again."""
        known = self._cleaned.get(name)
        if known is None:
            known = self._cleaned[name] = clean(str(name))
        return known

    def phase(self, event: ev.Event) -> str:
        if isinstance(event, ev.Applied):
            return _APPLIED_IN.get(event.where, "update_state")
        action = self.story.action(event.run)
        if action is not None and action.is_update:
            return "update_state"
        if isinstance(event, (ev.PutWrites, ev.SaverPutWrites)) and not event.task:
            return "input"
        if event.step == -1 and isinstance(event, (ev.CheckpointCreated, ev.SaverPut)):
            return "input"
        return PHASES.get(type(event), "")

    def quiet(self, event: ev.Event, out: dict[str, Any]) -> bool:
        """Whether an event is told together with the next: LangGraph's own tasks, control writes, plain ends."""
        if "task" in out and self.tasks[out["task"]].get("hidden") and isinstance(event, _OF_TASK):
            return True
        match event:
            case ev.Wrote():
                return event.control or event.via in ("update_state", "loaded", "reapplied")
            case ev.TaskEnded():
                return not event.mutated and event.outcome in ("finished", "interrupt")
            case ev.Applied():
                return event.where != "_suppress_interrupt" and not event.writes and not event.changes
            case ev.SubgraphEnded():
                return event.status == "done"
        return False

    def mark(
        self, out: dict[str, Any], key: int | None, column: int, text: str, tone: str = "", reason: str = ""
    ) -> None:
        number = self._write_of.get(key) if key is not None else None
        if number is None or (column != STATUS and self.writes[number].get("control")):
            return
        out.setdefault("marks", []).append([number, column, text, tone, *([reason] if reason else [])])

    def begin(self, event: ev.RunStarted | ev.UpdateStarted) -> None:
        action = self.story.action(event.run)
        assert action is not None
        self._run_of[event.run] = len(self.runs)
        self.runs.append(
            {
                "label": action.label,
                "of": self._of[action.is_update],
                "name": action.name,
                "update": action.is_update,
                "thread": self.story.threads.get(action.thread, ""),
                "saver": event.saver,
                "durability": getattr(event, "durability", ""),
                "graph": self.nodes.graph(event),
                "status": action.status,
                "first": len(self.events),
                "last": len(self.events) + len(action.events) - 1,
            }
        )

    def load(self, event: ev.Event, out: dict[str, Any], snapshots: dict[str, Any]) -> None:
        space = self.space(event)
        self._channels[space] = dict(snapshots)
        out["load"] = self.loaded(snapshots)

    def on_run_started(self, event: ev.RunStarted | ev.SubgraphStarted, out: dict[str, Any]) -> None:
        self.load(event, out, event.values)
        out["scene"] = [] if isinstance(event, ev.RunStarted) else self.callers(event)
        self._at[event.run, event.ns] = event.checkpoint
        if event.checkpoint:
            new = event.checkpoint not in self._point_of
            number = self.point(event, event.checkpoint, source="made before the trace began")
            out |= {"checkpoint": number, "saved": number} if new else {"loaded": number}

    on_subgraph_started = on_run_started

    def on_update_started(self, event: ev.UpdateStarted, out: dict[str, Any]) -> None:
        # As the checkpoint has them: get_state() would show the writes of finished siblings as applied.
        self.load(event, out, self._stood.get(event.before or "", self._state.get(event.thread, {})))
        out["scene"] = []
        self._at[event.run, event.ns] = event.before
        if event.before and event.before not in self._point_of:
            number = self.point(event, event.before, source="made before the trace began")
            out |= {"checkpoint": number, "saved": number}
            out["rows"] = [self.row_batch(event, "", event.pending, number, saver=True)]

    def callers(self, event: ev.Event) -> list[int]:
        ids = [part.rsplit(":", 1)[-1] for part in event.ns if not part.isdigit()]
        return [self._task_of[event.run, id] for id in ids if (event.run, id) in self._task_of]

    def on_tick(self, event: ev.Ticked, out: dict[str, Any]) -> None:
        mine = [self.task(event, info.id, info) for info in event.tasks]
        out["scene"] = [*self.callers(event), *mine]
        out["states"] = [
            [n, self.story.stands(info, event)] for n, info in zip(mine, event.tasks, strict=True)
        ]

    def on_task_pushed(self, event: ev.TaskPushed, out: dict[str, Any]) -> None:
        number = self.task(event, event.task, event.info)
        out["scene_add"] = number
        out["states"] = [[number, "planned"]]

    def on_task_started(self, event: ev.TaskStarted, out: dict[str, Any]) -> None:
        again = self.nodes.again(event, self.story)
        out["states"] = [[out["task"], "re-running" if again else "running"]]

    def on_task_ended(self, event: ev.TaskEnded, out: dict[str, Any]) -> None:
        word = {"interrupt": "paused", "bubble": "finished", "error": "failed"}.get(event.outcome, event.outcome)
        out["states"] = [[out["task"], word]]
        for row in self._mutated.get(event.n, ()):
            number = len(self.writes)
            self.writes.append(self.entry("–", out["task"], event, row.channel, row.via))
            out.setdefault("mutated", []).append(number)
            out.setdefault("marks", []).append([number, STATUS, "undefined", "wait", row.reason])
            out["marks"].append([number, 1, "no: it is no write", "wait"])

    def entry(self, name: str, task: int, event: ev.Event, channel: str, via: str) -> dict[str, Any]:
        run = self._run_of.get(event.run, 0)
        return {"name": name, "task": task, "run": run, "channel": self.cleaned(channel), "via": via}

    def on_wrote(self, event: ev.Wrote, out: dict[str, Any]) -> None:
        number = self._write_of[event.write] = len(self.writes)
        name = self.story.write_name(event.write) or ""
        entry = self.entry(name, out.get("task", -1), event, event.channel, event.via)
        entry["value"] = self.value(event.value)
        if event.control:
            entry["control"] = True
        if "place" in out and event.via != "branch":
            entry["place"] = out["place"]
        self.writes.append(entry)
        out["wrote"] = number
        if "task" in out and event.task not in self.story.tasks and out["task"] not in self._unplanned:
            self._unplanned.add(out["task"])
            out["scene_add"] = out["task"]  # a null task or an update: no tick planned it
        self.mark(out, event.write, STATUS, "written")
        self.mark(out, event.write, 1, "–" if event.via in ("input", "update_state", "command") else "yes")
        row = self._rows.get(event.write)
        if row is not None:
            for old in self._rewritten.get((row.run, row.path, row.channel), ()):
                self.mark(out, old.key, 7, f"written again by {row.run}")

    def on_retried(self, event: ev.Retried, out: dict[str, Any]) -> None:
        for key in event.cleared:
            self.mark(out, key, STATUS, "dropped", "drop", "a retry of the node emptied task.writes")
            self.mark(out, key, 1, "emptied by a retry", "drop")

    def on_commit(self, event: ev.Committed, out: dict[str, Any]) -> None:
        for row in event.handed:
            self.mark(out, row.write, STATUS, "handed over", "keep")
        for key in event.dropped:
            row = self._rows.get(key)
            reason = "commit() built a new list without it"
            if row is not None and row.reason:
                reason = row.reason.removeprefix("dropped: ").split("; its node is not", 1)[0]
            self.mark(out, key, STATUS, "dropped", "drop", reason)
            for column, text in ((2, "no · dropped by commit"), (3, "no"), (4, "no")):
                self.mark(out, key, column, text, "drop")

    def row_batch(self, event: Any, task: str, rows: Iterable[ev.Row], number: int, *, saver: bool) -> dict[str, Any]:
        told = []
        for row in rows:
            write = self._write_of.get(row.write, -1) if row.write is not None else -1
            told.append([self.cleaned(row.channel), write, -1 if write >= 0 else self.value(row.value)])
        owner = self._task_of.get((event.run, task), -1) if task else -1
        return {"checkpoint": number, "task": owner, "saver": saver, "rows": told}

    def on_put_writes(self, event: ev.PutWrites, out: dict[str, Any]) -> None:
        at = event.checkpoint or self._at.get((event.run, event.ns))
        if at:
            number = self.point(event, at, source="made before the trace began")
            out["rows"] = [self.row_batch(event, event.task, event.rows, number, saver=False)]
        for row in event.rows:
            self.mark(out, row.write, STATUS, "pending", "wait")
            self.mark(out, row.write, 2, "yes", "keep")

    def on_saver_put_writes(self, event: ev.SaverPutWrites, out: dict[str, Any]) -> None:
        at = event.checkpoint or self._at.get((event.run, event.ns))
        if event.error or not at:
            return
        number = self.point(event, at, source="made before the trace began")
        out["rows"] = [self.row_batch(event, event.task, event.rows, number, saver=True)]
        for row in event.rows:
            self.mark(out, row.write, 3, "yes", "keep")

    def on_applied(self, event: ev.Applied, out: dict[str, Any]) -> None:
        space = self.space(event)
        now = self._channels.setdefault(space, {})
        only = event.where == "_suppress_interrupt"
        lines: list[diffs.Line] = []
        for channel, delta in event.changes.items():
            name = clean(channel)
            lines += _change_lines(name, now.get(channel), channel in now, delta)
            if not only:
                now[channel] = val.apply_change(now.get(channel), delta)
        out["diff"] = self.lines(lines[: 2 * diffs.LINES_LIMIT])
        if only:
            out["only_returned"] = True
            return
        out["change"] = {clean(k): self.delta(d) for k, d in event.changes.items()}
        self._applied.setdefault((event.run, event.ns), []).extend(event.writes)
        for key in event.writes:
            self.mark(out, key, STATUS, "applied", "keep")

    def delta(self, delta: dict[str, Any]) -> dict[str, Any]:
        if "set" in delta:
            return {"set": self.channel_value(delta["set"])}
        out: dict[str, Any] = {}
        if "items" in delta:
            out["items"] = {k: self.value(v) for k, v in delta["items"].items()}
        if "append" in delta:
            out["append"] = self.channel_value(delta["append"])
        return out

    def on_checkpoint(self, event: ev.CheckpointCreated, out: dict[str, Any]) -> None:
        number = self.point(event, event.checkpoint, source=event.source, superstep=event.step)
        out["checkpoint"] = number
        self._at[event.run, event.ns] = event.checkpoint
        self._stood[event.checkpoint] = dict(self._channels.get(self.space(event), {}))
        name = self.checkpoints[number]["name"]
        for key in self._applied.pop((event.run, event.ns), ()):
            self.mark(out, key, 4, name, "keep")
        for row in self._discarded.get(event.n, ()):
            reason = row.reason.removeprefix("discarded: ").split("; its node is not", 1)[0]
            self.mark(out, row.key, STATUS, "discarded", "drop", reason)
            self.mark(out, row.key, 4, "no · discarded", "drop")

    def on_saver_put(self, event: ev.SaverPut, out: dict[str, Any]) -> None:
        if event.error is None:
            out["saved"] = self.point(event, event.checkpoint, source="made before the trace began")

    def on_returned(self, event: ev.Returned, out: dict[str, Any]) -> None:
        self._returned[event.run] = event
        if not event.seen:
            return
        plain = isinstance(event.values, dict) and not val.is_mark(event.values)
        told = event.values if plain else {"return value": event.values}
        out["returned"] = {"call": f"{event.action}()", "values": self.loaded(told)}
        for row in self._rows_of.get(event.run, ()):
            if row.phantom:
                self.mark(out, row.key, 6, "yes · phantom", "ghost")
            elif row.returned is not None:
                self.mark(out, row.key, 6, "yes" if row.returned else "no")

    def on_state_read(self, event: ev.StateRead, out: dict[str, Any]) -> None:
        if event.error:
            return
        self._state[event.thread] = event.values
        told: dict[str, Any] = {"values": self.loaded(event.values), "next": [clean(n) for n in event.next]}
        given = self._returned.get(event.run)
        if given is not None and given.seen and isinstance(given.values, dict) and not val.is_mark(given.values):
            lines: list[diffs.Line] = []
            for channel in [*given.values, *(c for c in event.values if c not in given.values)]:
                lines += _returned_lines(clean(channel), channel, given.values, event.values)
            told["lines"] = self.lines(lines[: 2 * diffs.LINES_LIMIT])
            told["phantom"] = [clean(c) for c in given.phantom]
        out["read"] = told
        for row in self._rows_of.get(event.run, ()):
            if row.in_state is not None:
                self.mark(out, row.key, 5, "yes" if row.in_state else "no", "keep" if row.in_state else "drop")
        if self._last_read.get(event.thread) == event.n:
            for row in self._lost.get(event.thread, ()):
                self.mark(out, row.key, STATUS, "lost", "drop", row.reason)


def _change_lines(name: str, before: Any, known: bool, delta: dict[str, Any]) -> list[diffs.Line]:
    if "set" in delta:
        return diffs.differences(name, before, delta["set"]) if known else [diffs.added(name, delta["set"])]
    items = before if isinstance(before, list) else []
    gap = next((v["n"] - 1 for v in items if val.is_mark(v, "more")), 0)
    size = delta.get("len", len(items) + gap) - len(delta.get("append", ()))
    out: list[diffs.Line] = []
    for key, value in delta.get("items", {}).items():
        at = int(key) if int(key) < len(items) - len(items) // 2 or not gap else int(key) - gap
        old = items[at] if 0 <= at < len(items) else None
        out += (
            diffs.differences(f"{name}[{key}]", old, value)
            if old is not None
            else [diffs.added(f"{name}[{key}]", value)]
        )
    out += [diffs.added(f"{name}[{size + i}]", v) for i, v in enumerate(delta.get("append", ()))]
    return out


def _returned_lines(name: str, channel: str, given: dict[str, Any], read: dict[str, Any]) -> list[diffs.Line]:
    if channel not in read:
        return [diffs.Line(name, given[channel], None, has=False)]
    if channel not in given:
        return [diffs.added(name, read[channel])]
    return diffs.differences(name, given[channel], read[channel])
