"""`frame_at`: the whole view of one step, from a frames document. The same computation as `viewAt` in `stepper.js`.

A change here is a change there: the tests hold the two against each other at every step of every scenario.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

TASKS_SHOWN = 8
WRITES_SHOWN = 40
POINTS_SHOWN = 6
ROWS_SHOWN = 40
LEDGER_SHOWN = 10
LIST_LIMIT = 60  # items of a list value that are kept, as hitl_lab.values.ITEMS_LIMIT


class Index:
    """What a document says, arranged for looking up by position; made once, in one pass."""

    def __init__(self, doc: dict[str, Any]) -> None:
        self.doc = doc
        self.marks: list[list[tuple[int, list[Any]]]] = [[] for _ in doc["writes"]]
        self.written: list[int] = []  # state writes in order; and the events that made them
        self.written_at: list[int] = []
        self.made_at = [0] * len(doc["writes"])
        self.bad: list[int] = []  # writes that got a "drop" status, with the event
        self.bad_at: list[int] = []
        self.scenes: dict[int, list[tuple[int, bool, Any]]] = {}
        self.task_writes: list[list[int]] = [[] for _ in doc["tasks"]]
        self.task_states: list[list[tuple[int, str]]] = [[] for _ in doc["tasks"]]
        self.node_states: list[list[tuple[int, str]]] = [[] for _ in doc["nodes"]]
        self.points: dict[str, list[int]] = {}
        self.points_at: dict[str, list[int]] = {}
        self.heads: dict[tuple[str, str], list[int]] = {}  # checkpoints by thread and namespace
        self.point_made: dict[int, int] = {}
        self.point_saved: dict[int, int] = {}
        self.batches: dict[int, list[tuple[int, dict[str, Any]]]] = {}
        self.channels: dict[int, list[tuple[int, str, dict[str, Any]]]] = {}
        self.returned: dict[int, list[int]] = {}
        self.reads: dict[int, list[int]] = {}
        self.graph_nodes: list[list[int]] = [[] for _ in doc["graphs"]]
        for number, node in enumerate(doc["nodes"]):
            self.graph_nodes[node["graph"]].append(number)
        for n, event in enumerate(doc["events"]):
            self._enter(n, event)

    def _enter(self, n: int, event: dict[str, Any]) -> None:
        doc, space = self.doc, event["space"]
        run = doc["spaces"][space]["run"]
        made = [event["wrote"]] if "wrote" in event else event.get("mutated", [])
        for write in made:
            entry = doc["writes"][write]
            self.made_at[write] = n
            if entry["task"] >= 0:
                self.task_writes[entry["task"]].append(write)
            if not entry.get("control"):
                self.written.append(write)
                self.written_at.append(n)
        for mark in event.get("marks", ()):
            self.marks[mark[0]].append((n, mark))
            if mark[1] == 0 and mark[3] == "drop":
                self.bad.append(mark[0])
                self.bad_at.append(n)
        if "scene" in event:
            self.scenes.setdefault(space, []).append((n, False, event["scene"]))
        if "scene_add" in event:
            self.scenes.setdefault(space, []).append((n, True, event["scene_add"]))
        for task, state in event.get("states", ()):
            self.task_states[task].append((n, state))
        for node, state in event.get("nodes", ()):
            self.node_states[node].append((n, state))
        if "checkpoint" in event:
            thread = doc["checkpoints"][event["checkpoint"]]["thread"]
            self.points.setdefault(thread, []).append(event["checkpoint"])
            self.points_at.setdefault(thread, []).append(n)
            self.point_made[event["checkpoint"]] = n
            path = doc["spaces"][doc["checkpoints"][event["checkpoint"]]["space"]]["path"]
            self.heads.setdefault((thread, path), []).append(event["checkpoint"])
        if "saved" in event:
            self.point_saved.setdefault(event["saved"], n)
        for batch in event.get("rows", ()):
            self.batches.setdefault(batch["checkpoint"], []).append((n, batch))
        if "load" in event:
            self.channels.setdefault(space, []).append((n, "load", event["load"]))
        if "change" in event:
            self.channels.setdefault(space, []).append((n, "change", event["change"]))
        if "returned" in event:
            self.returned.setdefault(run, []).append(n)
        if "read" in event:
            self.reads.setdefault(run, []).append(n)


def frame_at(index: Index, k: int) -> dict[str, Any]:
    """Return the frame of step `k`, from 0: plain data; values by their number in the document."""
    doc = index.doc
    n = doc["steps"][k]
    since = doc["steps"][k - 1] + 1 if k else 0
    event = doc["events"][n]
    space = doc["spaces"][event["space"]]
    run = doc["runs"][space["run"]]
    tasks, more = _tasks(index, event, n, since)
    return {
        "position": k + 1,
        "of": len(doc["steps"]),
        "events": [since + 1, n + 1],  # as str(trace) and the findings number them
        "kind": event["kind"],
        "phase": event["phase"],
        "superstep": event.get("superstep"),
        "run": space["run"],
        "status": run["status"] if n >= run["last"] else "running",
        "path": space["path"],
        "task": event.get("task"),
        "say": event.get("say", ""),
        "place": event.get("place", ""),
        "tasks": tasks,
        "more_tasks": more,
        "persisted": _persisted(index, event, run, tasks, n, since),
        "channels": _channels(index, event, n),
        "diff": event.get("diff", []),
        "only_returned": event.get("only_returned", False),
        "returned": _returned(index, space["run"], n),
        "nodes": _nodes(index, run["graph"], n),
        "source": event.get("source"),
        "ledger": _ledger(index, n, since),
    }


def dropped_steps(index: Index) -> list[int]:
    """Return the steps at which a write was dropped, discarded or lost, from 0."""
    out: list[int] = []
    for n in index.bad_at:
        k = bisect_right(index.doc["steps"], n - 1)
        if k < len(index.doc["steps"]) and (not out or out[-1] != k):
            out.append(k)
    return out


def _last(pairs: list[tuple[int, Any]], n: int, default: Any) -> Any:
    i = bisect_right(pairs, n, key=lambda p: p[0])
    return pairs[i - 1][1] if i else default


def _cells(index: Index, write: int, n: int) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for at, mark in index.marks[write]:
        if at > n:
            break
        found[mark[1]] = mark[2:]
    return found


def _tasks(index: Index, event: dict[str, Any], n: int, since: int) -> tuple[list[dict[str, Any]], int]:
    entries = index.scenes.get(event["space"], [])
    i = bisect_right(entries, n, key=lambda e: e[0])
    scene: list[int] = []
    for _, add, tasks in reversed(entries[:i]):
        if not add:
            scene = [*tasks, *reversed(scene)]
            break
        scene.append(tasks)
    else:
        scene.reverse()
    current = event.get("task")
    if len(scene) > TASKS_SHOWN and current in scene:  # the task at work first, the others in their order
        scene = [current, *(t for t in scene if t != current)]
    shown = [_task(index, task, n, since) for task in scene[:TASKS_SHOWN]]
    return shown, max(0, len(scene) - TASKS_SHOWN)


def _task(index: Index, task: int, n: int, since: int) -> dict[str, Any]:
    writes = [w for w in index.task_writes[task] if index.made_at[w] <= n]
    told = []
    for write in writes[-WRITES_SHOWN:]:
        status = _cells(index, write, n).get(0, ["written", ""])
        new = index.made_at[write] >= since or any(since <= at <= n and m[1] == 0 for at, m in index.marks[write])
        told.append(
            {
                "write": write,
                "status": status[0],
                "tone": status[1],
                "reason": status[2] if len(status) > 2 else "",
                "new": new,
            }
        )
    state = _last(index.task_states[task], n, "")
    return {"task": task, "state": state, "writes": told, "more": max(0, len(writes) - WRITES_SHOWN)}


def _persisted(
    index: Index, event: dict[str, Any], run: dict[str, Any], tasks: list[dict[str, Any]], n: int, since: int
) -> dict[str, Any]:
    points = index.points.get(run["thread"], [])
    count = bisect_right(index.points_at.get(run["thread"], []), n)
    shown = points[max(0, count - POINTS_SHOWN) : count][::-1]
    path = index.doc["spaces"][event["space"]]["path"].split("/")
    for depth in range(len(path), -1, -1):  # the head of each graph at work, even if it is an older one
        heads_there = index.heads.get((run["thread"], "/".join(path[:depth])), [])
        known = bisect_right(heads_there, n, key=lambda p: index.point_made[p])
        if known and heads_there[known - 1] not in shown:
            shown.append(heads_there[known - 1])
    absent: dict[str, list[int]] = {}
    for task in tasks:
        gone = [w["write"] for w in task["writes"] if w["tone"] == "drop"]
        path = index.doc["tasks"][task["task"]]["path"]
        absent.setdefault(path, []).extend(w for w in gone if not index.doc["writes"][w].get("control"))
    told, heads = [], set()
    for point in shown:
        entry = _point(index, point, n, since)
        path = index.doc["spaces"][index.doc["checkpoints"][point]["space"]]["path"]
        entry["head"] = path not in heads
        if entry["head"]:
            heads.add(path)
            entry["absent"] = absent.get(path, [])
        told.append(entry)
    return {"saver": run["saver"], "thread": run["thread"], "checkpoints": told, "older": count - len(told)}


def _point(index: Index, point: int, n: int, since: int) -> dict[str, Any]:
    made = index.point_made[point]
    saved = index.point_saved.get(point)
    rows: dict[Any, dict[str, Any]] = {}
    for at, batch in index.batches.get(point, ()):
        if at > n:
            break
        for place, (channel, write, value) in enumerate(batch["rows"]):
            # As the savers do it: a special row ("__interrupt__") replaces the older one, a regular row stays.
            special = channel[:2] == "__" and write < 0
            key = (batch["task"], channel if special else f"{channel}#{write}" if write >= 0 else f"{channel}@{place}")
            row = rows.get(key)
            if row is None or (special and row["value"] != value):
                rows[key] = {"task": batch["task"], "channel": channel, "write": write, "value": value,
                             "saved": batch["saver"], "new": at >= since}  # fmt: skip
            elif batch["saver"] and not row["saved"]:
                row["saved"] = True
                row["new"] = at >= since
    told = list(rows.values())
    values = _values(index, index.doc["checkpoints"][point]["space"], made)
    return {
        "checkpoint": point,
        "saved": saved is not None and saved <= n,
        "new": made >= since or (saved is not None and since <= saved <= n),
        "values": values,
        "rows": told[-ROWS_SHOWN:],
        "more": max(0, len(told) - ROWS_SHOWN),
        "absent": [],
    }


def apply(before: Any, delta: dict[str, Any]) -> Any:
    """Return a channel value after a change; the twin of `hitl_lab.values.apply_change` on numbers of values."""
    if "set" in delta:
        return delta["set"]
    items = list(before) if isinstance(before, list) else []
    gap = next((i for i, v in enumerate(items) if v < 0), -1)
    missing = -items[gap] - 1 if gap >= 0 else 0
    for key, value in delta.get("items", {}).items():
        i = int(key)
        if gap >= 0 and gap <= i <= gap + missing:
            continue
        at = i if gap < 0 or i < gap else i - missing
        if 0 <= at < len(items):
            items[at] = value
    items += delta.get("append", [])
    if len(items) <= LIST_LIMIT + 1:
        return items
    gap = next((i for i, v in enumerate(items) if v < 0), -1)
    half = LIST_LIMIT // 2
    inner = len(items) - 2 * half
    n = inner - 1 - items[gap] if half <= gap < len(items) - half else inner
    return [*items[:half], -n, *items[len(items) - half :]]


def _values(index: Index, space: int, n: int) -> dict[str, Any]:
    entries = index.channels.get(space, [])
    count = bisect_right(entries, n, key=lambda e: e[0])
    start = count
    while start > 0 and entries[start - 1][1] != "load":
        start -= 1
    out = dict(entries[start - 1][2]) if start else {}
    for _, _, changes in entries[start:count]:
        for channel, delta in changes.items():
            out[channel] = apply(out.get(channel), delta)
    return out


def _channels(index: Index, event: dict[str, Any], n: int) -> list[dict[str, Any]]:
    changed = event.get("change", {})
    values = _values(index, event["space"], n)
    return [{"name": name, "value": value, "changed": name in changed} for name, value in values.items()]


def _returned(index: Index, run: int, n: int) -> dict[str, Any] | None:
    events = index.doc["events"]
    given = [at for at in index.returned.get(run, ()) if at <= n]
    read = [at for at in index.reads.get(run, ()) if at <= n]
    if not given and not read:
        return None
    return {
        "returned": events[given[-1]]["returned"] if given else None,
        "read": events[read[-1]]["read"] if read else None,
    }


def _nodes(index: Index, graph: int, n: int) -> list[list[Any]]:
    out = []
    for node in index.graph_nodes[graph]:
        known = index.node_states[node]
        drawn = index.doc["nodes"][node]["key"] in index.doc["graphs"][graph]["nodes"]
        if drawn or (known and known[0][0] <= n):
            out.append([node, _last(known, n, "idle")])
    return out


def _ledger(index: Index, n: int, since: int) -> dict[str, Any]:
    count = bisect_right(index.written_at, n)
    recent = index.written[max(0, count - LEDGER_SHOWN) : count]
    bad = index.bad[: bisect_right(index.bad_at, n)][-LEDGER_SHOWN:]
    shown = sorted({*recent, *(w for w in bad if not index.doc["writes"][w].get("control"))})
    rows = []
    for write in shown:
        cells = _cells(index, write, n)
        new = any(since <= at <= n for at, _ in index.marks[write])
        rows.append(
            {
                "write": write,
                "cells": [cells.get(c, ["", ""])[:2] for c in range(len(index.doc["columns"]) + 1)],
                "new": new,
            }
        )
    return {"rows": rows, "more": max(0, count - len(rows))}
