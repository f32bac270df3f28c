"""The state of each node of a graph along a story: idle, planned, running, re-running, paused, finished, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hitl_lab.story import Story
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import clean

# A node with several tasks (Send) shows the state that matters most.
_SEEN = frozenset({
    ev.RunStarted, ev.UpdateStarted, ev.Ticked, ev.TaskPushed, ev.TaskStarted, ev.TaskEnded, ev.Paused,
    ev.StateUpdated, ev.RunEnded,
})  # fmt: skip
_RANK = ("re-running", "running", "paused", "failed", "planned", "cancelled", "finished")


class NodeStates:
    """Tables of graphs and nodes; `see` puts the changes an event makes into it, as [node, state]."""

    def __init__(self, drawing: Callable | None) -> None:
        self.drawing = drawing
        self.graphs: list[dict[str, Any]] = []
        self.table: list[dict[str, Any]] = []
        self.shapes: dict[str, dict[str, Any]] = {}
        self._graph_of: dict[str, int] = {}
        self._node_of: dict[tuple[int, str], int] = {}
        self._known: dict[tuple[int, tuple[str, ...], str], int] = {}  # (graph, ns, name) -> node
        self._now: dict[int, str] = {}
        self._tasks: dict[int, dict[str, str]] = {}
        self._runs: dict[int, int] = {}
        self._started: set[str] = set()
        self._stopped: set[int] = set()  # nodes that were paused when tick planned them

    def graph(self, event: Any) -> int:
        """Return the number of the graph a run or an update is on."""
        shape = getattr(event, "shape", None) or {}
        key = shape.get("key") or event.graph
        if "nodes" in shape:
            self.shapes[key] = shape
        if key not in self._graph_of:
            number = self._graph_of[key] = len(self.graphs)
            shape = self.shapes.get(key, {})
            entry: dict[str, Any] = {
                "name": clean(event.graph),
                "nodes": [clean(n) for n in shape.get("nodes", ())],
                "edges": [[clean(e[0]), clean(e[1]), *e[2:]] for e in shape.get("edges", ())],
            }
            if self.drawing is not None and shape:
                entry |= self.drawing(entry) or {}
            self.graphs.append(entry)
            for node in entry["nodes"]:
                self.node(number, node)
        return self._graph_of[key]

    def node(self, graph: int, key: str) -> int:
        if (graph, key) not in self._node_of:
            self._node_of[graph, key] = len(self.table)
            self.table.append({"graph": graph, "key": key, "label": key.rsplit(":", 1)[-1]})
        return self._node_of[graph, key]

    def see(self, event: ev.Event, story: Story, out: dict[str, Any]) -> None:
        """Put the changes of node states that `event` makes into `out`."""
        known = story.tasks.get(getattr(event, "task", ""))
        if known is not None and known.hidden and event.ns:
            return
        if type(event) not in _SEEN:
            return
        match event:
            case ev.RunStarted() | ev.UpdateStarted():
                graph = self._runs[event.run] = self.graph(event)
                if isinstance(event, ev.RunStarted):
                    self.reset(graph, out)
            case ev.Ticked():
                fresh: set[int] = set()
                for info in event.tasks:
                    if info.hidden and event.ns:
                        continue  # a subgraph's own __start__ is in no drawing
                    number = self.of(event, info.name, story)
                    if number not in fresh:
                        fresh.add(number)
                        self._stopped = self._stopped - {number} | (
                            {number} if self._now.get(number) == "paused" else set()
                        )
                        self._tasks[number] = {}
                    self.set(number, info.id, story.stands(info, event), out)
            case ev.TaskPushed():
                self.set(self.of(event, event.info.name, story), event.task, "planned", out)
            case ev.TaskStarted():
                again = self.again(event, story)
                self._started.add(event.task)
                self.set(self.of(event, event.name, story), event.task, "re-running" if again else "running", out)
            case ev.TaskEnded():
                word = {"interrupt": "paused", "error": "failed", "cancelled": "cancelled"}.get(
                    event.outcome, "finished"
                )
                self.set(self.of(event, event.name, story), event.task, word, out)
            case ev.Paused() if event.reason == "interrupt_before":
                for name in event.nodes:
                    self.put(self.of(event, name, story), "paused", out)
            case ev.StateUpdated():
                for name in event.nodes:
                    number = self.of(event, name, story)
                    if self._now.get(number) == "paused":
                        self.put(number, "skipped", out)
            case ev.RunEnded() if event.status == "done":
                graph = self._runs.get(event.run, 0)
                for number, state in list(self._now.items()):
                    if self.table[number]["graph"] == graph and state == "paused":
                        self.put(number, "skipped", out)
                if (graph, "__end__") in self._node_of:
                    self.put(self._node_of[graph, "__end__"], "finished", out)

    def again(self, event: ev.TaskStarted, story: Story) -> bool:
        """Whether a task runs a second time: the same task, or after an update the node that had paused."""
        return event.task in self._started or self.of(event, event.name, story) in self._stopped

    def of(self, event: ev.Event, name: str, story: Story) -> int:
        graph = self._runs.get(event.run, 0)
        known = self._known.get((graph, event.ns, name))
        if known is None:
            place = story.place(event.ns).replace("/", ":")
            known = self.node(graph, clean(f"{place}:{name}" if place else name))
            self._known[graph, event.ns, name] = known
        return known

    def set(self, number: int, task: str, state: str, out: dict[str, Any]) -> None:
        tasks = self._tasks.setdefault(number, {})
        tasks[task] = state
        self.put(number, min(tasks.values(), key=_RANK.index), out)

    def put(self, number: int, state: str, out: dict[str, Any]) -> None:
        if self._now.get(number, "idle") != state:
            self._now[number] = state
            out.setdefault("nodes", []).append([number, state])

    def reset(self, graph: int, out: dict[str, Any]) -> None:
        for number, state in list(self._now.items()):
            if self.table[number]["graph"] == graph and state not in ("paused", "skipped", "idle"):
                self._tasks.pop(number, None)
                self.put(number, "idle", out)
