"""What became of a write that got no further: written again by a later run, or lost. Pure; the ledger's last step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hitl_lab.story import Story
from hitl_lab.tracing import events as ev

if TYPE_CHECKING:
    from hitl_lab.ledger import Row


_BY_HAND = ("update_state", "command", "input")  # no node wrote these, whatever node they are booked under


class Aftermath:
    """Follows the rows that were dropped or discarded through the actions after theirs.

    The same task may write again (a resume), or the same node under another task id (after an update, a new input). It
    is the same work only as long as each `get_state()` in between still lists the node as next: once it does not, the
    node was skipped or its run is over, and a later visit is another story.
    """

    def __init__(self, story: Story, rows: Sequence[Row]) -> None:
        self.place_of = {action.key: i for i, action in enumerate(story.actions)}
        self.reads: list[tuple[int, ev.StateRead]] = [
            (self.place_of[action.key], e)
            for action in story.actions
            for e in action.events
            if isinstance(e, ev.StateRead)
        ]
        self.by_task: dict[tuple[str, str], list[Row]] = {}
        self.by_node: dict[tuple[str | None, str, str], list[Row]] = {}
        for row in rows:
            if row.key is not None and row.via not in _BY_HAND:
                self.by_task.setdefault((row.task_id, row.channel), []).append(row)
                self.by_node.setdefault((row.thread, row.path, row.channel), []).append(row)

    def rewritten_by(self, row: Row) -> str | None:
        """Return the label of the run that wrote it again, None if none did."""
        same = self.by_task.get((row.task_id, row.channel), ()) if row.task_id else ()
        again = [r for r in same if r.wrote_at > row.decided_at and r.action_key == row.action_key]  # a retry
        if not again:
            mine, over = self.place_of[row.action_key], self.over(row)
            later = (
                [*same, *self.by_node.get((row.thread, row.path, row.channel), ())] if row.thread is not None else same
            )
            again = [
                r
                for r in later
                if mine < self.place_of[r.action_key] and (over is None or self.place_of[r.action_key] <= over)
            ]
        return min(again, key=self.order).run if again else None

    def order(self, row: Row) -> tuple[int, int]:
        """Return what rows are ordered by: action, then arrival."""
        return self.place_of[row.action_key], row.wrote_at

    def over(self, row: Row) -> int | None:
        """Return the place of the first action after which get_state() does not list the row's node as next.

        Only from the moment the row was dropped or discarded: before, a finished task is not next because it is done.
        """
        for at, read in self.reads:
            if read.n < row.decided_at or read.thread != row.thread or read.error or row.ns[: len(read.ns)] != read.ns:
                continue
            if _below(row, len(read.ns)) not in read.next:
                return at
        return None

    def is_lost(self, row: Row, has_saver: bool) -> bool:
        """Whether nothing will write it again: its node is over, or there is no saver that could bring it back."""
        return self.over(row) is not None or not has_saver


def _below(row: Row, depth: int) -> str:
    """Return the node at that depth of the row's place: the graph that holds the row's node, or the node itself."""
    inner = [part for part in row.ns[depth:] if not part.isdigit()]
    return inner[0].split(":", 1)[0] if inner else row.node


def settle(story: Story, rows: Iterable[Row], savers: dict[int, bool]) -> None:
    """Set rewritten_by, and the fate "lost", on the rows that were dropped or discarded.

    savers: run -> whether its graph has a checkpointer.
    """
    rows = list(rows)
    aftermath = Aftermath(story, rows)
    for row in rows:
        if row.key is None or row.fate not in ("dropped", "discarded"):
            continue
        row.rewritten_by = aftermath.rewritten_by(row)
        if row.rewritten_by is None and aftermath.is_lost(row, savers.get(row.action_key, False)):
            over = "its node is not among the next tasks" if savers.get(row.action_key) else "there is no checkpointer"
            row.reason = f"{row.fate}: {row.reason}; {over}" if row.reason else ""
            row.fate = "lost"
