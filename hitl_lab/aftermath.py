"""What became of a write that got no further: written again by a later run, or lost. Pure; the ledger's last step."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
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
        self.reads: dict[str | None, list[tuple[int, ev.StateRead]]] = {}  # thread -> (place, read)
        for place, action in enumerate(story.actions):
            for e in action.events:
                if isinstance(e, ev.StateRead) and not e.error:
                    self.reads.setdefault(e.thread, []).append((place, e))
        self._sorted = {
            thread: all(a[1].n < b[1].n for a, b in pairwise(reads)) for thread, reads in self.reads.items()
        }
        self._over: dict[tuple[str | None, tuple[str, ...], str], tuple[int, int]] = {}
        self.attempts: dict[tuple[int, str, str], list[Row]] = {}  # (run, task, channel) -> rows in order
        # The first row of each action, in the order of actions.
        self.by_task: dict[tuple[str, str], list[Row]] = {}
        self.by_node: dict[tuple[str | None, str, str], list[Row]] = {}
        for row in rows:
            if row.key is not None and row.via not in _BY_HAND:
                self.attempts.setdefault((row.action_key, row.task_id, row.channel), []).append(row)
                _add_first(self.by_task.setdefault((row.task_id, row.channel), []), row)
                _add_first(self.by_node.setdefault((row.thread, row.path, row.channel), []), row)

    def rewritten_by(self, row: Row) -> str | None:
        """Return the label of the run that wrote it again, None if none did."""
        if row.task_id:
            mine = self.attempts.get((row.action_key, row.task_id, row.channel), ())
            if bisect_right(mine, row.decided_at, key=lambda r: r.wrote_at) < len(mine):
                return row.run  # a retry
        place = self.place_of[row.action_key]
        later: list[Row] = []
        for rows in (
            self.by_task.get((row.task_id, row.channel), ()) if row.task_id else (),
            self.by_node.get((row.thread, row.path, row.channel), ()) if row.thread is not None else (),
        ):
            at = bisect_right(rows, place, key=lambda r: self.place_of[r.action_key])
            later += rows[at : at + 1]
        if not later:
            return None
        first, over = min(later, key=self.order), self.over(row)
        return first.run if over is None or self.place_of[first.action_key] <= over else None

    def order(self, row: Row) -> tuple[int, int]:
        """Return what rows are ordered by: action, then arrival."""
        return self.place_of[row.action_key], row.wrote_at

    def over(self, row: Row) -> int | None:
        """Return the place of the first action after which get_state() does not list the row's node as next.

        Only from the moment the row was dropped or discarded: before, a finished task is not next because it is done.
        """
        reads = self.reads.get(row.thread)
        if reads is None:
            return None
        ordered = self._sorted[row.thread]
        first = bisect_left(reads, row.decided_at, key=lambda r: r[1].n) if ordered else 0
        key = (row.thread, row.ns, row.node)
        known = self._over.get(key)
        if known is not None and ordered and known[0] <= first <= known[1]:
            return reads[known[1]][0] if known[1] < len(reads) else None
        at = first
        while at < len(reads):
            read = reads[at][1]
            mine = read.n >= row.decided_at and row.ns[: len(read.ns)] == read.ns
            if mine and _below(row, len(read.ns)) not in read.next:
                break
            at += 1
        self._over[key] = (first, at)
        return reads[at][0] if at < len(reads) else None

    def is_lost(self, row: Row, has_saver: bool) -> bool:
        """Whether nothing will write it again: its node is over, or there is no saver that could bring it back."""
        return self.over(row) is not None or not has_saver


def _add_first(rows: list[Row], row: Row) -> None:
    if not rows or rows[-1].action_key != row.action_key:
        rows.append(row)
    elif row.wrote_at < rows[-1].wrote_at:
        rows[-1] = row


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
