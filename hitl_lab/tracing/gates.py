"""Gates: places where the threads of a recorded run wait until the learner lets them go on.

The run itself lives in a background thread (`hitl_lab.tracing.worker`). The seams call `stand` after each phase, from
whatever thread the phase ended in; the learner's thread calls `advance`, which opens one gate and waits until the run
stands at the next. docs/design/live-executor.md says why it is built so.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hitl_lab.errors import ExecutorError
from hitl_lab.tracing import events as ev

PHASES = ("tick", "execute", "commit", "after_tick")
"""Where a run stands, in the order of a superstep: after `tick`; after a node's function; after `commit` of its task;
after `after_tick`."""

SAVER_SECONDS = 1.0

_EVENT_OF = {"tick": ev.Ticked, "execute": ev.TaskEnded, "commit": ev.Committed, "after_tick": ev.CheckpointCreated}


class LetGo(BaseException):
    """Ends the threads of a run that the learner left. No Exception: a node's `except Exception` must not catch it.

    It is raised only once the checkpointer is cut off, so that LangGraph's answer to it (an error write) is not saved.
    """


class Strand:
    """One line of work that moves by itself: the top loop (id ""), or a task with the loops inside it."""

    __slots__ = ("arrived", "children", "gates", "id", "label", "name", "over", "parent", "pushed", "room")

    def __init__(self, id: str, name: str, label: str, parent: Strand | None) -> None:
        self.id, self.name, self.label, self.parent = id, name, label, parent
        self.children: list[Strand] = []
        self.gates: list[Gate] = []
        self.over = self.arrived = self.pushed = False
        self.room: int | None = None

    @property
    def path(self) -> str:
        """Labels from the top, "sub/inner"; "" for the top loop."""
        above = self.parent.path if self.parent is not None else ""
        return f"{above}/{self.label}" if above else self.label

    def below(self) -> Iterable[Strand]:
        """All live strands under this one."""
        for child in self.children:
            yield child
            yield from child.below()


class Gate:
    """One place where a thread or coroutine waits. silent: no stop for the learner (a task that is ready to begin)."""

    __slots__ = ("event", "future", "ns", "open", "phase", "reported", "silent", "strand", "thread", "watched")

    def __init__(self, phase: str, strand: Strand, ns: tuple[str, ...], event: ev.Event | None) -> None:
        self.phase, self.strand, self.ns, self.event = phase, strand, ns, event
        self.silent = phase == "ready"
        self.reported = self.open = self.watched = False
        self.future: asyncio.Future[None] | None = None
        self.thread = threading.current_thread()


class Gates:
    """The gates of one executor. Everything is guarded by one condition; nothing blocks while it is held.

    moved: the condition, notified whenever something arrives, opens or ends. gone: the executor was let go.
    patience: seconds after which another parallel task is let in, for the one that moves may wait for it.
    threads: threads that stood here, so that the end of the interpreter need not wait for them.
    """

    def __init__(self, patience: float = 5.0) -> None:
        self.patience = patience
        self.moved = threading.Condition()
        self.gone = False
        self.free = True
        self.threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self.loops: list[Any] = []
        self.watch: Callable[[ev.Event], bool] | None = None
        self.watched: Gate | None = None
        self.choose: Callable[[Sequence[Strand]], Strand] = lambda strands: strands[0]
        self._last: dict[tuple[str, Any], ev.Event] = {}
        # What was handed to the saver and has not come back, by what it is of.
        self._owed: dict[tuple[str, str | None], int] = {}
        self.reset()

    def reset(self) -> None:
        """Forget the strands of the last run."""
        self.top = Strand("", "", "", None)
        self.strands: dict[str, Strand] = {"": self.top}
        self._last.clear()
        self._owed.clear()

    # ------------------------------------------------------------ called by the seams, in the run's own threads

    def on_event(self, event: ev.Event) -> None:
        """Remember the event that a stop will show; stand here if the learner waits for just this one."""
        match event:
            case ev.Ticked() | ev.CheckpointCreated():
                self._last[event.kind, event.ns] = event
            case ev.TaskEnded() | ev.Committed():
                self._last[event.kind, event.task] = event
            case ev.PutWrites(rows=rows, to_saver=True) if rows:
                self._owe(event.task, event.checkpoint, 1)
            case ev.SaverPutWrites():
                self._owe(event.task, event.checkpoint, -1)
            case ev.SaverPut():
                self._owe("", event.checkpoint, -1)
        if isinstance(event, ev.CheckpointCreated) and event.to_saver:
            self._owe("", event.checkpoint, 1)
        watch = self.watch
        if watch is None or self.free or self.gone or not watch(event):
            return
        strand = self.strands.get(getattr(event, "task", "")) or self.top
        gate = Gate("event", strand, event.ns, event)
        gate.watched = True
        with self.moved:
            if self.gone or self.watched is not None:
                return
            self.watch, self.watched = None, gate
            self.threads.add(gate.thread)
            self.moved.notify_all()
            while not (gate.open or self.gone):
                self.moved.wait()

    def _owe(self, task: str, checkpoint: str | None, change: int) -> None:
        with self.moved:
            # The saver may come back before the loop has told what it handed over: a debt may be negative for a moment.
            left = self._owed[task, checkpoint] = self._owed.get((task, checkpoint), 0) + change
            if not left:
                del self._owed[task, checkpoint]
            self.moved.notify_all()

    def loop_began(self, loop: Any) -> None:
        with self.moved:
            self.loops.append(loop)

    def loop_left(self, loop: Any) -> None:
        with self.moved:
            self.loops = [kept for kept in self.loops if kept is not loop]

    def check(self) -> None:
        """End this thread here if the executor was let go."""
        if self.gone:
            raise LetGo

    def batch(self, loop_of: str, tasks: Iterable[tuple[str, str]], room: int | None) -> None:
        """The loop of a strand hands these tasks (id, name) to its runner. room: how many can run at once."""
        with self.moved:
            parent = self.strands.get(loop_of) or self.top
            tasks = list(tasks)
            names = [name for _, name in tasks]
            for i, (id, name) in enumerate(tasks):
                label = name if names.count(name) == 1 else f"{name}[{names[:i].count(name)}]"
                self._add(id, name, label, parent)
            parent.room = room
            self.moved.notify_all()

    def pushed(self, parent: str, id: str, name: str) -> None:
        """A task was added in the middle of a superstep, under the strand `parent`."""
        with self.moved:
            above = self.strands.get(parent) or self.top
            known = self.strands.get(id)
            if known is None or known.over:
                again = sum(s.name == name for s in above.below())
                self._add(id, name, f"{name}[{again}]" if again else name, above).pushed = True
            self.moved.notify_all()

    def _add(self, id: str, name: str, label: str, parent: Strand) -> Strand:
        strand = self.strands[id] = Strand(id, name, label, parent)
        parent.children.append(strand)
        return strand

    def _arrive(self, phase: str, id: str, ns: tuple[str, ...]) -> Gate:
        strand = self.strands.get(id) or self._add(id, id, id, self.top)
        if strand.over:
            strand.over = False
            if strand.parent is not None:
                strand.parent.children.append(strand)
        kind = _EVENT_OF.get(phase)
        key = ns if phase in ("tick", "after_tick") else id
        gate = Gate(phase, strand, ns, self._last.get((kind.kind, key)) if kind else None)
        strand.arrived = True
        strand.gates.append(gate)
        self.threads.add(gate.thread)
        self.moved.notify_all()
        return gate

    def stand(self, phase: str, id: str, ns: tuple[str, ...], *, leaving: bool = False) -> None:
        """Wait here until the gate is opened. leaving: go on when let go, for code that must clean up."""
        with self.moved:
            if not (self.gone or self.free):
                gate = self._arrive(phase, id, ns)
                while not (gate.open or self.gone):
                    self.moved.wait()
            if self.gone and not leaving:
                raise LetGo

    async def astand(self, phase: str, id: str, ns: tuple[str, ...], *, leaving: bool = False) -> None:
        """The same for a coroutine: the event loop goes on."""
        gate = self.post(phase, id, ns)
        if gate is not None:
            await self._wait_for(gate)
        if self.gone and not leaving:
            raise LetGo

    def post(self, phase: str, id: str, ns: tuple[str, ...]) -> Gate | None:
        """Put up a gate at which nobody waits yet (commit of an async task); `hold` waits for it."""
        with self.moved:
            if self.gone or self.free:
                return None
            gate = self._arrive(phase, id, ns)
            gate.future = asyncio.get_running_loop().create_future()
            return gate

    async def hold(self, id: str) -> None:
        """Wait until the commits of all tasks under a strand were looked at."""
        strand = self.strands.get(id) or self.top
        while not self.gone:
            with self.moved:
                gate = next((g for c in strand.children for g in c.gates if g.phase == "commit"), None)
            if gate is None:
                return
            await self._wait_for(gate)
        raise LetGo

    async def _wait_for(self, gate: Gate) -> None:
        assert gate.future is not None
        try:
            await gate.future
        except asyncio.CancelledError:
            with self.moved:
                self._open(gate, wake=False)
            raise

    # ------------------------------------------------------------ called by the learner's thread

    def begin(self) -> None:
        """A run is about to start: its gates are closed."""
        with self.moved:
            self.reset()
            self.free = False

    def end(self) -> None:
        """The run is over: whatever still arrives passes."""
        with self.moved:
            self.free = True
            self.watch = None
            for gate in self._standing():
                self._open(gate)
            self.loops.clear()
            self.moved.notify_all()

    def let_go(self) -> None:
        """End the run's threads wherever they stand. Takes no lock but its own: the garbage collector calls it."""
        with self.moved:
            self.gone = True
            for gate in self._standing():
                self._open(gate)
            self.moved.notify_all()

    def _standing(self) -> list[Gate]:
        found = [gate for strand in list(self.strands.values()) for gate in list(strand.gates)]
        return [*found, self.watched] if self.watched is not None else found

    def _open(self, gate: Gate, wake: bool = True) -> None:
        gate.open = True
        if gate is self.watched:
            self.watched = None
        strand = gate.strand
        if gate in strand.gates:
            strand.gates.remove(gate)
        if gate.phase == "commit":
            self._end_of(strand)
        if gate.future is not None and wake:
            future = gate.future
            try:
                future.get_loop().call_soon_threadsafe(lambda: future.done() or future.set_result(None))
            except RuntimeError:  # its event loop is closed
                pass
        self.moved.notify_all()

    def _end_of(self, strand: Strand) -> None:
        strand.over = True
        above = strand.parent
        if above is not None and strand in above.children:
            above.children.remove(strand)
            # A @task may outlive the function that called it.
            for child in strand.children:
                child.parent = above
            above.children += strand.children
            strand.children = []

    def advance(self, over: Callable[[], bool], task: str | None = None) -> Gate | None:
        """Move one strand to its next stop and return its gate; None if the run is over.

        Raises ExecutorError if no live task is called `task`, or it cannot begin yet.
        """
        with self.moved:
            strand = self._named(task) if task is not None else self._leaf(self.top)
            wanted = task if strand is None else None
            strand = strand or self._leaf(self.top)
            while not over():
                if self.gone:
                    return None
                if (at := self.watched) is not None:
                    if not at.reported:
                        at.reported = True
                        return at
                    self._open(at)
                elif strand.children:
                    strand = (self._named(wanted) if wanted else None) or self._leaf(strand)
                    wanted = None
                elif strand.over or self._passed_over(strand):
                    strand = self._leaf(self.top)
                elif not strand.gates:
                    if not self.moved.wait(self.patience):
                        strand = self._other_than(strand)
                elif (gate := strand.gates[0]).reported or gate.silent:
                    self._open(gate)
                else:
                    gate.reported = True
                    # The saver works in threads of its own, with durability "sync" too: what is looked at here must not
                    # depend on who is faster. A saver that takes longer is left alone.
                    self.moved.wait_for(lambda: self.gone or not self._owed, SAVER_SECONDS)
                    return gate
            return None

    def _other_than(self, strand: Strand) -> Strand:
        """Return another live strand that stands, else the same."""
        standing = [s for s in self.top.below() if s.gates and not s.children and s is not strand]
        return next((s for s in standing if not (s.gates[0].silent or s.gates[0].reported)), (standing or [strand])[0])

    def _leaf(self, strand: Strand) -> Strand:
        while strand.children:
            strand = self.choose(strand.children[: strand.room])
        return strand

    def _passed_over(self, strand: Strand) -> bool:
        """Whether a strand will not arrive any more: the loop above it went on without it."""
        if strand.gates or strand.parent is None:
            return False
        above: Strand | None = strand.parent
        while above is not None:
            if any(not (g.reported or g.silent or (strand.pushed and g.phase == "execute")) for g in above.gates):
                self._end_of(strand)
                return True
            above = above.parent
        return False

    def _named(self, task: str) -> Strand | None:
        """Return the leaf under the live task of that name; None if a tick still has to bring its tasks out."""
        live = list(self.top.below())
        found = [s for s in live if task in (s.label, s.path)] or [s for s in live if s.name == task]
        if not found:
            names = [s.path for s in live]
            at = self._leaf(self.top).gates
            event = at[0].event if at and at[0].phase == "tick" else None
            if isinstance(event, ev.Ticked):
                planned = [info.name for info in event.tasks if not info.finished]
                if task.partition("[")[0] in planned:
                    return None
                names = planned
            raise ExecutorError(
                f"No task called {task!r} can move now. "
                + (
                    f"These can: {', '.join(names)}."
                    if names
                    else "No task is open: step() without a task moves the loop."
                )
            )
        strand = found[0]
        above = strand.parent
        # Tasks begin in the order of tick, as threads come free.
        room = above.room if above is not None and not strand.arrived else None
        if room is not None and above.children.index(strand) >= room:
            raise ExecutorError(
                f"Task {task!r} cannot begin yet: {room} tasks run at once here. Move one of "
                f"{', '.join(s.path for s in above.children[:room])} first."
            )
        return self._leaf(strand)
