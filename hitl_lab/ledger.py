"""The ledger: one row a write, how far it got, and its fate. Pure: made from a story's events alone.

Fates (see docs/words.md): applied, pending, dropped, discarded, lost, undefined. Flags beside the fate: phantom
(returned by invoke or stream, in no checkpoint) and rewritten by a later run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hitl_lab.aftermath import settle
from hitl_lab.story import Action, Story
from hitl_lab.tracing import events as ev

APPLIED, PENDING, DROPPED = "applied", "pending", "dropped"
DISCARDED, LOST, UNDEFINED, OPEN = "discarded", "lost", "undefined", "open"
SENT_LATE, ENDED_FIRST = "it was sent after its task was committed", "the run ended before its task did"
RESULT = "__return__"  # LangGraph's name for what a @task gave back: its caller gets it, it never is a channel
FATES = (APPLIED, PENDING, DROPPED, DISCARDED, LOST, UNDEFINED)


@dataclass
class Row:
    """One write and how far it got.

    write: W1, W2, ...; "–" for state mutated in place. key: Wrote.write. run: label of the run or update. place:
    namespace as node names. task: T1, ... via, source: how and where it was made. fate: one of FATES, or "open" while
    its task has not ended. handed: "task" or "null task" once put_writes took it. saver: whether the saver's put_writes
    returned for it (None: no saver). checkpoint: the checkpoint it was applied into. saved: whether the saver's put
    returned for that checkpoint or one after it. in_state, returned: whether get_state() and the caller show it (None:
    not seen). phantom: returned, in no checkpoint. rewritten_by: label of the run that wrote it again. where: the
    installed line that dropped it. discarded_by: label of the action that made a checkpoint without it. reason: why
    in a few words. wrote_at, decided_at: event numbers (Event.n).
    """

    write: str
    key: int | None
    run: str
    place: str
    node: str
    task: str
    task_id: str
    step: int | None
    channel: str
    value: Any = None
    via: str = ""
    source: ev.Source | None = None
    thread: str | None = None
    fate: str = OPEN
    handed: str | None = None
    saver: bool | None = None
    checkpoint: str | None = None
    saved: bool = False
    in_state: bool | None = None
    returned: bool | None = None
    phantom: bool = False
    rewritten_by: str | None = None
    where: ev.Source | None = None
    discarded_by: str | None = None
    reason: str = ""
    wrote_at: int = 0
    decided_at: int = 0
    action_key: int = field(default=0, repr=False)
    ns: tuple[str, ...] = field(default=(), repr=False)

    @property
    def label(self) -> str:
        """The fate with its flags, as the text views show it: "dropped · phantom · rewritten by run 2"."""
        parts = [self.fate]
        if self.phantom:
            parts.append("phantom")
        if self.rewritten_by:
            parts.append(f"rewritten by {self.rewritten_by}")
        if self.discarded_by and self.fate in (DISCARDED, LOST):
            parts.append(f"by {self.discarded_by}")
        return " · ".join(parts)

    @property
    def path(self) -> str:
        """The node with its place: "outer/inner"."""
        return f"{self.place}/{self.node}" if self.place else self.node


class Ledger(Sequence[Row]):
    """The rows of all writes to state channels, in story order."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.rows: tuple[Row, ...] = tuple(_Book(story).close())

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def where(self, **wanted: Any) -> tuple[Row, ...]:
        """Return the rows whose fields equal `wanted`, e.g. where(fate="dropped", channel="messages")."""
        return tuple(r for r in self.rows if all(getattr(r, k) == v for k, v in wanted.items()))

    def __str__(self) -> str:
        from hitl_lab.views.text import ledger_text

        return ledger_text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        try:
            from hitl_lab.views.tables import ledger_table
        except ImportError:  # no widgets installed: the text is complete
            return {"text/plain": str(self)}
        return ledger_table(self)._repr_mimebundle_(**kwargs)


class _Book:
    """Reads the events once, in story order, and keeps the state of each write."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.rows: dict[int, Row] = {}
        self.untracked: set[int] = set()
        # The newest checkpoint of each graph inside, by thread and namespace.
        self.newest: dict[tuple[str | None, tuple[str, ...]], str] = {}
        self.committed_tasks: set[tuple[int, str]] = set()
        self.order: list[Row] = []
        self.pending: dict[str, dict[int, tuple[str, ...]]] = {}  # checkpoint id -> write keys there, with their ns
        self.applied: dict[tuple[int, tuple[str, ...]], list[int]] = {}  # (run, ns) -> keys since its last checkpoint
        self.taken: dict[tuple[int, tuple[str, ...]], set[int]] = {}  # (run, ns) -> keys applied in this run
        self.shown: dict[int, set[int]] = {}  # run -> keys applied only to make the returned value
        self.into: dict[str, list[int]] = {}  # checkpoint id -> keys applied into it
        self.parent: dict[str, str | None] = {}
        self.saved: set[str] = set()
        self.first_rows: dict[tuple[str | None, str, int], int] = {}  # (checkpoint, task, index) -> write key
        self.unsaved: dict[str, str] = {}  # checkpoint id -> what its put raised
        self.planned: dict[str, tuple[str | None, tuple[str, ...]]] = {}  # task id -> checkpoint it starts from, ns
        self.at: dict[tuple[int, tuple[str, ...]], str | None] = {}  # (run, ns) -> its checkpoint now
        # To find rows without a look through all of them at each event.
        self.of_run: dict[int, list[Row]] = {}
        self.of_graph: dict[tuple[int, tuple[str, ...]], list[Row]] = {}  # (run, ns) -> rows that are not settled yet
        self.of_task: dict[tuple[int, str], list[Row]] = {}
        self.waiting: dict[tuple[str | None, tuple[str, ...]], dict[int, Row]] = {}  # (thread, ns) -> pending, or were
        # (ns, checkpoint) -> (checkpoint, key) of what is pending inside a task that was planned there
        self.inside: dict[tuple[tuple[str, ...], str | None], list[tuple[str, int]]] = {}
        self.made_by: dict[str, int] = {}  # checkpoint id -> run
        self.savers: dict[int, bool] = {}
        self.kept: dict[tuple[int, tuple[str, ...]], bool] = {}  # (run, ns) -> whether this graph has a checkpointer
        self.handlers: dict[type, Callable[[Any, Action], None]] = {
            ev.RunStarted: self.started,
            ev.SubgraphStarted: self.started,
            ev.UpdateStarted: self.update_started,
            ev.Ticked: self.ticked,
            ev.TaskPushed: self.pushed,
            ev.Wrote: self.wrote,
            ev.Retried: self.retried,
            ev.TaskEnded: self.task_ended,
            ev.Committed: self.committed,
            ev.PutWrites: self.put_writes,
            ev.SaverPutWrites: self.saver_put_writes,
            ev.Applied: self.was_applied,
            ev.CheckpointCreated: self.checkpoint,
            ev.SaverPut: self.saver_put,
            ev.Returned: self.was_returned,
            ev.StateRead: self.state_read,
            ev.SubgraphEnded: self.ended,
            ev.RunEnded: self.ended,
            ev.StateUpdated: self.updated,
        }
        for action in story.actions:
            for event in action.events:
                handler = self.handlers.get(type(event))
                if handler is not None:
                    handler(event, action)

    # ------------------------------------------------------------ one handler an event

    def started(self, event: Any, action: Action) -> None:
        self.at[event.run, event.ns] = event.checkpoint
        self.savers[event.run] = self.savers.get(event.run, False) or event.saver is not None
        self.kept[event.run, event.ns] = event.saver is not None
        if event.checkpoint:
            self.saved.add(event.checkpoint)  # it was loaded, so its put came back, seen or not

    def update_started(self, event: ev.UpdateStarted, action: Action) -> None:
        self.at[event.run, event.ns] = event.before
        self.savers[event.run] = event.saver is not None

    def ticked(self, event: ev.Ticked, action: Action) -> None:
        key = (event.run, event.ns)
        for info in event.tasks:
            self.planned[info.id] = (self.at.get(key), event.ns)

    def pushed(self, event: ev.TaskPushed, action: Action) -> None:
        self.planned[event.task] = (self.at.get((event.run, event.ns)), event.ns)

    def wrote(self, event: ev.Wrote, action: Action) -> None:
        if event.control:
            return
        story = self.story
        row = Row(
            write=story.write_name(event.write) or "–",
            key=event.write,
            run=action.label,
            place=story.place(event.ns),
            node=event.name or {"input": "input", "command": "Command"}.get(event.via, event.via),
            task=story.name(event.task) if event.task in story.tasks else "",
            task_id=event.task,
            step=event.step,
            channel=event.channel,
            value=event.value,
            via=event.via,
            source=event.source,
            thread=action.thread,
            saver=False if self.savers.get(event.run) and event.via not in ("update_state", "input") else None,
            wrote_at=event.n,
            action_key=event.run,
            ns=event.ns,
        )
        self.rows[event.write] = row
        if event.untracked:
            self.untracked.add(event.write)
        self.enter(row)

    def enter(self, row: Row) -> None:
        self.order.append(row)
        self.of_run.setdefault(row.action_key, []).append(row)
        self.of_graph.setdefault((row.action_key, row.ns), []).append(row)
        self.of_task.setdefault((row.action_key, row.task_id), []).append(row)

    def is_pending(self, row: Row) -> None:
        if row.fate in (DROPPED, DISCARDED, LOST):
            self.of_graph.setdefault((row.action_key, row.ns), []).append(row)
        row.fate = PENDING
        self.waiting.setdefault((row.thread, row.ns), {})[id(row)] = row

    def retried(self, event: ev.Retried, action: Action) -> None:
        why = "a retry of the node" if event.why == "retry" else "the timeout of the node"
        for key in event.cleared:
            self.drop(key, event.n, None, f"{why} emptied task.writes")

    def task_ended(self, event: ev.TaskEnded, action: Action) -> None:
        if not event.mutated:
            return
        written = {r.channel for r in self.of_task.get((event.run, event.task), ())}
        for key in event.mutated:
            channel = key.rstrip("=")
            assigned = key.endswith("=")
            if assigned and channel in written:
                continue  # the node changed its own copy of the state and returned the value too: a write as any other
            self.enter(
                Row(
                    write="–",
                    key=None,
                    run=action.label,
                    place=self.story.place(event.ns),
                    node=event.name,
                    task=self.story.name(event.task),
                    task_id=event.task,
                    step=event.step,
                    channel=channel,
                    via="assigned on the state object" if assigned else "mutated in place",
                    source=self.story.tasks[event.task].source if event.task in self.story.tasks else None,
                    thread=action.thread,
                    fate=UNDEFINED,
                    reason="no write: nothing was handed to LangGraph",
                    wrote_at=event.n,
                    decided_at=event.n,
                    action_key=event.run,
                    ns=event.ns,
                )
            )

    def drop(self, key: int, n: int, where: ev.Source | None, reason: str) -> None:
        row = self.rows.get(key)
        if row is not None:
            row.fate, row.decided_at, row.where, row.reason = DROPPED, n, where, reason

    def committed(self, event: ev.Committed, action: Action) -> None:
        outcome = {
            "interrupt": "the node stopped on interrupt(), and commit handed on only the question",
            "bubble": "the node left with a Command for the parent graph",
        }.get(event.outcome, f"commit did not hand it on (the task ended with: {event.outcome})")
        for key in event.dropped:
            self.drop(key, event.n, event.where, outcome)
        self.committed_tasks.add((event.run, event.task))

    def put_writes(self, event: ev.PutWrites, action: Action) -> None:
        for item in event.rows:
            self.handed(item, event)

    def handed(self, item: ev.Row, event: ev.PutWrites | ev.SaverPutWrites) -> None:
        """A write is among the pending ones of a checkpoint."""
        where = event.checkpoint or self.at.get((event.run, event.ns)) or ""
        row = self.rows.get(item.write) if item.write is not None else None
        if item.write is not None:
            self.pending.setdefault(where, {})[item.write] = event.ns
            for depth, part in enumerate(event.ns):
                self.inside.setdefault((event.ns[:depth], self.caller_at(part)), []).append((where, item.write))
        if row is not None:
            row.handed = "task" if event.task else "null task"
            result = "a task's result: its caller gets it, no channel does" if row.channel == RESULT else ""
            row.decided_at, row.where, row.reason = event.n, None, result
            self.is_pending(row)

    def saver_put_writes(self, event: ev.SaverPutWrites, action: Action) -> None:
        for index, item in enumerate(event.rows):
            row = self.rows.get(item.write) if item.write is not None else None
            if row is not None:
                if row.handed is None and row.fate == OPEN and event.task and not event.error:
                    self.handed(item, event)  # sent after commit, and before the saver looked into `task.writes`
                row.saver = event.error is None
                if event.error:
                    row.reason = f"the saver's put_writes raised {event.error}"
                elif event.ns and row.fate == PENDING:
                    # Savers keep the row they have. At the top get_state() tells; inside a graph nobody reads it back.
                    first = self.first_rows.setdefault((event.checkpoint, event.task, index), item.write)
                    if first != item.write:
                        self.discard(row, event, action, "the checkpointer kept the row it had for this task")

    def was_applied(self, event: ev.Applied, action: Action) -> None:
        if event.where == "_suppress_interrupt":
            self.shown.setdefault(event.run, set()).update(event.writes)
            return
        key = (event.run, event.ns)
        self.applied.setdefault(key, []).extend(event.writes)
        self.taken.setdefault(key, set()).update(event.writes)

    def checkpoint(self, event: ev.CheckpointCreated, action: Action) -> None:
        key = (event.run, event.ns)
        self.parent[event.checkpoint] = event.parent
        self.made_by[event.checkpoint] = event.run
        self.at[key] = event.checkpoint
        for write in self.applied.pop(key, ()):
            self.into.setdefault(event.checkpoint, []).append(write)
            row = self.rows.get(write)
            if row is None:
                continue
            row.fate, row.decided_at, row.where, row.reason = APPLIED, event.n, None, ""
            if row.key in self.untracked:
                row.reason = "its channel is an UntrackedValue: in memory until the run ends, in no checkpoint"
            else:
                row.checkpoint = event.checkpoint
        if event.ns:
            newest = self.newest.get((action.thread, event.ns))
            self.newest[action.thread, event.ns] = event.checkpoint
            if event.parent is None or event.parent != (newest or event.parent):
                self.went_back(event, action)
        if event.parent is None:
            return
        taken = self.taken.get(key, set())
        gone = [w for w in self.pending.pop(event.parent, {}) if w not in taken]
        # Writes inside a subgraph go with the task that called it, once its checkpoint is passed by.
        for there, write in self.inside.pop((event.ns, event.parent), ()):
            if write in self.pending.get(there, {}):
                gone.append(write)
                del self.pending[there][write]
        for write in gone:
            row = self.rows.get(write)
            if row is not None and row.fate == PENDING and row.channel != RESULT:
                self.discard(row, event, action, f"{action.label} ({action.name}) made a checkpoint without it")

    def went_back(self, event: ev.CheckpointCreated, action: Action) -> None:
        """A graph inside began without a checkpoint or at an older one, since its caller went back in time: what is
        pending elsewhere is left behind.

        At the top get_state() tells; inside a graph with a checkpointer of its own nobody reads it back.
        """
        here = self.pending.get(event.parent, {}) if event.parent else {}
        for row in self.waiting.get((action.thread, event.ns), {}).values():
            if row.fate == PENDING and row.channel != RESULT and row.key not in here:
                self.discard(row, event, action, f"{action.label} ({action.name}) made a checkpoint without it")

    def discard(self, row: Row, event: ev.Event, action: Action, reason: str) -> None:
        row.fate, row.decided_at, row.discarded_by, row.reason = DISCARDED, event.n, action.label, reason

    def ended(self, event: ev.SubgraphEnded | ev.RunEnded, action: Action) -> None:
        """Without a checkpointer of its own, what is pending in a graph ends with it."""
        kept = self.kept.get((event.run, event.ns), True)
        mine = self.of_graph.pop((event.run, event.ns), [])
        for row in mine:
            if row.fate == OPEN and row.key is not None:
                self.drop(row.key, event.n, None, self.left_open(row))
            elif row.key in self.untracked and row.fate in (APPLIED, PENDING):
                row.fate, row.decided_at = LOST, event.n
            elif row.fate == PENDING and not kept:
                self.discard(row, event, action, "it was pending in memory only: this graph has no checkpointer")
        if left := [r for r in mine if r.fate == PENDING]:  # a graph may be called again in the same place
            self.of_graph[event.run, event.ns] = left

    def left_open(self, row: Row) -> str:
        """Return why nothing became of a write that nobody dropped."""
        late = (row.action_key, row.task_id) in self.committed_tasks
        return SENT_LATE if late else ENDED_FIRST

    def updated(self, event: ev.StateUpdated, action: Action) -> None:
        for row in self.of_run.get(event.run, ()) if event.error else ():
            if row.fate == OPEN:
                row.fate, row.decided_at, row.reason = LOST, event.n, f"{event.action} raised {event.error}"

    def saver_put(self, event: ev.SaverPut, action: Action) -> None:
        if event.error is None:
            self.saved.add(event.checkpoint)
        else:
            self.unsaved[event.checkpoint] = f"the saver's put raised {event.error}"

    def was_returned(self, event: ev.Returned, action: Action) -> None:
        # What was applied, or only shown, in this run stands in what the caller got, if the caller got values at all.
        if not event.seen:
            return
        for row in self.of_run.get(event.run, ()):
            if row.key is None or row.ns or row.channel == RESULT:
                continue
            shown = row.key in self.shown.get(event.run, ())
            row.returned = shown or row.key in self.taken.get((event.run, ()), ())
            unsaved = (shown and row.fate in (DROPPED, OPEN)) or (row.returned and row.key in self.untracked)
            if unsaved and row.channel in event.phantom:
                row.phantom = True

    def state_read(self, event: ev.StateRead, action: Action) -> None:
        if event.error and event.checkpoint is None:
            return
        stored = {item.write for item in event.pending if item.write is not None}
        unknown = {item.channel for item in event.pending if item.write is None}
        gone = [row for row in self.waiting.pop((event.thread, event.ns), {}).values() if row.fate == PENDING]
        for row in gone:
            if row.channel != RESULT and row.key not in stored and row.channel not in unknown:
                self.discard(row, event, action, f"after {action.label} the checkpointer does not give it back")
            else:
                self.is_pending(row)  # still
        for key in stored:
            back = self.rows.get(key)
            if back is None or back.fate not in (OPEN, DISCARDED, DROPPED) or back.channel == RESULT:
                continue
            if (back.thread, back.ns) == (event.thread, event.ns):
                back.decided_at, back.discarded_by, back.where, back.reason = event.n, None, None, ""
                if back.handed is None:  # sent after commit, and before the saver looked into `task.writes`
                    back.handed, back.saver = "task", True
                self.is_pending(back)
        if event.error:
            return
        mine = [r for r in self.of_run.get(event.run, ()) if r.key is not None and r.channel != RESULT]
        mine = [r for r in mine if r.thread == event.thread and r.ns == event.ns]
        chain = self.chain(event.checkpoint, event.run, {r.checkpoint for r in mine if r.fate == APPLIED})
        planned = set(event.planned)
        for row in mine:
            shown = row.handed == "null task" or row.task_id in planned
            there = row.fate == APPLIED and row.checkpoint in chain
            row.in_state = row.key not in self.untracked and (there or (row.key in stored and shown))

    def chain(self, id: str | None, run: int, wanted: set[str | None]) -> set[str]:
        """Return a checkpoint and those it was made from, as far back as the wanted ones, which this run made."""
        out: set[str] = set()
        left, inside = len(wanted), False
        while id and id not in out and left:
            own = self.made_by.get(id) == run
            if inside and not own:
                break
            inside = inside or own
            out.add(id)
            left -= id in wanted
            id = self.parent.get(id)
        return out

    # ------------------------------------------------------------ at the end

    def close(self) -> list[Row]:
        over = {action.key for action in self.story.actions if action.status != "running"}
        for row in self.order:
            if row.fate == OPEN and row.key is not None and row.action_key in over:
                # A cancelled task may write after its run has ended, and no commit ever sees it.
                self.drop(row.key, row.wrote_at, None, self.left_open(row))
            # LangGraph gives up on the saver when the run breaks off while a sibling still works.
            if row.fate == PENDING and row.saver is False and row.action_key in over and row.channel != RESULT:
                row.fate, row.reason = DISCARDED, row.reason or "the run broke off before the saver was called"
        self.mark_saved()
        self.mark_cut_off()
        settle(self.story, self.order, self.savers)
        for row in self.order:
            row.checkpoint = self.story.name(row.checkpoint) if row.checkpoint else None
        return self.order

    def mark_cut_off(self) -> None:
        """Discard what stood in no saved checkpoint when the next call on the thread came: the process was killed."""
        cut: set[int] = set()
        newest: set[str | None] = set()
        for action in reversed(self.story.actions):
            if action.status == "running" and action.thread in newest:
                cut.add(action.key)
            newest.add(action.thread)
        for row in self.order:
            if row.action_key not in cut or not self.savers.get(row.action_key):
                continue
            lost = row.fate == APPLIED and not row.saved
            if lost or (row.fate == PENDING and row.saver is False):
                row.fate, row.reason = DISCARDED, "its run was cut off before it was saved"

    def caller_at(self, part: str) -> str | None:
        """Return the checkpoint from which the task that a part of a namespace names was planned."""
        return self.planned.get(part.rsplit(":", 1)[-1], (None, ()))[0]

    def mark_saved(self) -> None:
        """A checkpoint counts as saved if its put returned, or that of one made from it (durability "exit")."""
        saved = set(self.saved)
        for id in self.saved:
            at = self.parent.get(id)
            while at is not None and at not in saved:
                saved.add(at)
                at = self.parent.get(at)
        passed = {self.parent.get(id) for id in saved} - {None}  # checkpoints that a saved one was made from
        for row in self.order:
            row.saved = row.checkpoint in saved
            if row.fate != APPLIED or row.saved:
                continue
            if row.checkpoint in self.unsaved:
                row.fate, row.reason = LOST, self.unsaved[row.checkpoint]
            elif row.ns and row.saver and not any(self.caller_at(part) in passed for part in row.ns):
                self.stands_still(row)

    def stands_still(self, row: Row) -> None:
        """A row in a graph whose caller has not ended: if a later run applied it and did not save, it is as before.

        At the top get_state() tells.
        """
        maker = self.story.action(self.made_by.get(row.checkpoint or "", 0))
        if maker is not None and maker.key != row.action_key:
            row.fate, row.checkpoint, row.reason = PENDING, None, f"{maker.label} applied it in memory only"
