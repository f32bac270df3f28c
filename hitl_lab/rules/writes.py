"""Rules over ledger rows: dropped, phantom, discarded, failed attempts, mutated in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hitl_lab.findings import LOSS, NOTE, RISK, Advice, Finding, Place
from hitl_lab.ledger import APPLIED, DISCARDED, DROPPED, ENDED_FIRST, LOST, SENT_LATE, UNDEFINED, Row
from hitl_lab.rules import _advice
from hitl_lab.rules._case import Attempt, Case, once, places, write_names
from hitl_lab.sentences import code, listed
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import clean


def _groups(rows: Iterator[Row], key: Callable[[Row], Any]) -> list[list[Row]]:
    out: dict[Any, list[Row]] = {}
    for row in rows:
        out.setdefault(key(row), []).append(row)
    return list(out.values())


def _by_line(row: Row) -> Any:
    return row.path, row.channel, row.source, row.fate == LOST


def _it(rows: list[Row]) -> str:
    names = write_names(rows)
    shown = listed(names) if len(names) < 5 else f"{len(names)} writes"
    return f"{shown} {code(rows[0].channel)}"


def _source(what: str, source: ev.Source | None) -> Place | None:
    return Place(what, source) if source is not None else None


def _how_source(row: Row) -> Place | None:
    # A returned write has no line of its own: it is told by its node.
    return _source("write" if row.via == "send" else "node", row.source)


def _later(rows: list[Row]) -> str:
    again = once(r.rewritten_by for r in rows)
    if rows[0].fate == LOST:
        return "Its node is not among the next tasks: nothing makes it again."
    if again:
        return f"{code(rows[0].node)} made it again in {listed(again)}; until then no checkpoint held it."
    return "It was not made again in this trace."


def dropped(case: Case) -> Iterator[Finding]:
    """HL001: in task.writes, but commit handed only the question on."""

    def at_pause(row: Row) -> bool:
        by = case.decided_by.get(row.key) if row.key is not None else None
        lost = row.fate == DROPPED or (row.fate == LOST and row.discarded_by is None)
        return lost and isinstance(by, ev.Committed) and by.outcome == "interrupt"

    for rows in _groups((r for r in case.ledger if at_pause(r)), _by_line):
        row = rows[0]
        by = case.decided_by[row.key]
        attempt = case.attempt_of.get((row.action_key, row.task_id))
        routed = row.via == "return"  # the node had returned: its conditional edge asked
        stop = "its conditional edge called interrupt()" if routed else "the node stopped on interrupt()"
        advice = _advice.router_out(case, row.path) if routed else _advice.split(case, row.path, row.channel)
        made = "returned by the node" if routed else "made before it"
        yield Finding(
            "HL001",
            LOSS if row.fate == LOST else RISK,
            case.where(row.path, row.channel),
            f"`commit` handed only `__interrupt__` of {code(row.node)} to `put_writes`, because {stop}: "
            f"{_it(rows)}, {made}, {'was' if len(rows) == 1 else 'were'} dropped.",
            advice,
            effect=_later(rows),
            runs=once(r.run for r in rows),
            events=case.numbers(*(r.wrote_at for r in rows), *(r.decided_at for r in rows)),
            writes=write_names(rows),
            places=places(_how_source(row), case.stop_of(attempt), _source("LangGraph", getattr(by, "where", None))),
            channel=row.channel,
        )


def phantom(case: Case) -> Iterator[Finding]:
    """HL002: the caller got it, no checkpoint has it."""
    for rows in _groups((r for r in case.ledger if r.phantom), lambda r: (r.path, r.channel)):
        row = rows[0]
        keys = {r.action_key for r in rows}
        seen = [
            e
            for a in case.story.actions
            if a.key in keys
            for e in a.events
            if not e.ns and ((isinstance(e, ev.Returned) and row.channel in e.phantom) or isinstance(e, ev.StateRead))
        ]
        name = next((e.action for e in seen if isinstance(e, ev.Returned)), "invoke")
        sketch = f'saved = graph.get_state(config).values["{row.channel}"]   # what a resume will find'
        yield Finding(
            "HL002",
            RISK,
            case.where(row.path, row.channel),
            f"{code('_suppress_interrupt')} applied {code('task.writes')} once more to make the last values, so "
            f"{code(name + '()')} returned {_it(rows)}, which no checkpoint holds.",
            Advice(
                "While paused, show and store what get_state() reads, not what invoke() or the last values chunk "
                "returned; the write itself is kept by the advice of HL001.",
                "",
                sketch,
            ),
            effect=f"get_state() does not have it: a screen fed from the return shows {code(row.channel)} as saved.",
            runs=once(r.run for r in rows),
            events=case.numbers(*(r.wrote_at for r in rows), *seen),
            writes=write_names(rows),
            places=places(_how_source(row)),
            channel=row.channel,
        )


def discarded(case: Case) -> Iterator[Finding]:
    """HL003: it was pending, and a later action made a checkpoint without it."""

    def gone(row: Row) -> bool:
        if not_stored(row):
            return False
        return row.fate == DISCARDED or (row.fate == LOST and row.discarded_by is not None)

    for rows in _groups((r for r in case.ledger if gone(r)), lambda r: (*_by_line(r), r.discarded_by)):
        row = rows[0]
        action = case.by_label.get(row.discarded_by or "")
        start: Any = action.started if action is not None else None
        if action is None:
            did = row.reason or "a later read of the checkpointer does not give it back"
            advice = Advice("Look at what happened on this thread between the two reads: another process may use it.")
        elif action.is_update:
            did = f"{start.action}() made a checkpoint that no pending write goes into"
            advice = _advice.update_with_answer(_first_key(start.values))
        elif getattr(start, "addressed", False):
            did = "the run went on from a checkpoint the caller named, as a record, without its pending writes"
            advice = Advice("To go on where the thread stands, give the thread id alone, without a checkpoint_id.")
        elif start.input is not None:
            did = f"{start.action}() with a new input started over from START"
            advice = _resume_instead(row.node)
        else:
            did = f"{action.label} ({action.name}) made a checkpoint without it"
            advice = Advice("Resume the paused thread with Command(resume=...) before anything else is done to it.")
        yield Finding(
            "HL003",
            LOSS if row.fate == LOST else RISK,
            case.where(row.path, row.channel),
            f"{_it(rows)} of the finished {code(row.node)} {'was' if len(rows) == 1 else 'were'} pending, and {did}: "
            "it is discarded.",
            advice,
            effect=_later(rows),
            runs=once([*(r.run for r in rows), row.discarded_by]),
            events=case.numbers(*(r.wrote_at for r in rows), *(r.decided_at for r in rows), start),
            writes=write_names(rows),
            places=places(_how_source(row), case.call_of(action) if action is not None else None),
            channel=row.channel,
        )


def _first_key(values: Any) -> str:
    if isinstance(values, dict) and "$" not in values and values:
        return next(iter(values))
    return ""


def _resume_instead(name: str) -> Advice:
    sketch = "\n".join([
        "if graph.get_state(config).next:                # paused: answer the question",
        "    graph.invoke(Command(resume=text), config)",
        "else:                                            # done: a new turn",
        '    graph.invoke({"messages": [text]}, config)',
    ])  # fmt: skip
    return Advice(
        f"Answer a paused thread with Command(resume=...) (None after a breakpoint); a new input restarts it, and "
        f"{code(name)} runs again. Look at get_state().next first, or use another thread.",
        "",
        sketch,
    )


def not_stored(row: Row) -> bool:
    """Whether a write got lost because the saver raised."""
    return row.fate in (DROPPED, DISCARDED, LOST) and "the saver's put" in row.reason


def failed_attempt(case: Case) -> Iterator[Finding]:
    """HL015: dropped because the node raised, was retried or cancelled, left for the parent graph, or sent too late."""

    def failed(row: Row) -> bool:
        if not_stored(row):
            return False  # HL014 tells it
        lost = row.fate == DROPPED or (row.fate == LOST and row.discarded_by is None)
        by = case.decided_by.get(row.key) if row.key is not None else None
        return lost and not (isinstance(by, ev.Committed) and by.outcome == "interrupt")

    for rows in _groups((r for r in case.ledger if failed(r)), _by_line):
        row = rows[0]
        by = case.decided_by.get(row.key)
        if isinstance(by, ev.Retried):
            why = "the node raised and was tried again with an empty `task.writes`"
        elif isinstance(by, ev.Committed) and by.outcome == "bubble":
            why = "the node left with a Command for the parent graph"
        elif isinstance(by, ev.Committed) and by.outcome == "cancelled":
            why = "the task was cancelled (another task failed, or its time ran out)"
        elif ENDED_FIRST in row.reason:
            why = ENDED_FIRST
        elif SENT_LATE in row.reason:
            why = "a thread that the node had left behind sent it after the node had returned"
        else:
            why = "the node raised"
        again = bool(once(r.rewritten_by for r in rows))
        yield Finding(
            "HL015",
            NOTE if again else LOSS if row.fate == LOST else RISK,
            case.where(row.path, row.channel),
            f"{_it(rows)} of {code(row.node)} {'was' if len(rows) == 1 else 'were'} dropped, because {why}: "
            f"{code('commit')} hands on the writes of a finished task only.",
            Advice(
                "Let the node wait for the threads it starts: what is sent after it has returned is kept by luck only."
            )
            if SENT_LATE in row.reason
            else Advice(
                "By design: a failed attempt leaves nothing behind. If it must survive, return it from a node before "
                "the one that can fail."
            ),
            effect=_later(rows),
            runs=once(r.run for r in rows),
            events=case.numbers(*(r.wrote_at for r in rows), *(r.decided_at for r in rows)),
            writes=write_names(rows),
            places=places(_how_source(row), _source("LangGraph", row.where)),
            channel=row.channel,
        )


def taken_for_finished(case: Case) -> Iterator[Finding]:
    """HL021: the node raised after a write, which is saved; so the next run has its writes and does not run it."""
    failures: dict[str, Attempt] = {}
    for action in case.story.runs:
        ticks = [e for e in action.events if isinstance(e, ev.Ticked)]
        for tick, task in ((e, task) for e in ticks for task in e.tasks):
            how, attempt = case.story.stands(task, tick), failures.get(task.id)
            if how not in ("failed", "cancelled") or attempt is None or attempt.ended is None:
                continue
            ended, name = attempt.ended, code(attempt.name)
            returned = any(w.via == "return" for w in attempt.wrote)
            raised = f"raised {clean(ended.error or 'an exception')[:90]}" if how == "failed" else "was cancelled"
            cause = (
                f"the edge out of {name} {raised} after {name} had returned"
                if returned and how == "failed"
                else f"{name} {raised} after it had written"
            )
            yield Finding(
                "HL021",
                RISK,
                attempt.path,
                f"In {attempt.action.label} {cause}. The saver has that write, so {action.label} took {name} for "
                "finished: it did not run again, and none of its edges was taken.",
                _advice.finish_failed(attempt.path, returned),
                effect="Nobody is told: the call returns, and get_state() shows the error no more.",
                runs=(attempt.action.label, action.label),
                events=case.numbers(ended, tick),
                places=places(
                    Place("raised", ended.source) if ended.source is not None else None, case.call_of(action)
                ),
            )
        failures |= {a.task: a for a in case.attempts_of(action)}


def mutated(case: Case) -> Iterator[Finding]:
    """HL011: changed in place, which is no write."""

    applied = (r for r in case.ledger if r.key is not None and r.fate == APPLIED)
    written = {(r.task_id, r.action_key, r.channel) for r in applied}

    def bare(row: Row) -> bool:
        if row.fate != UNDEFINED:
            return False
        # Changed and returned too: the value goes the usual way, and the row of that write tells it.
        return (row.task_id, row.action_key, row.channel) not in written

    for rows in _groups((r for r in case.ledger if bare(r)), lambda r: (r.path, r.channel, r.via)):
        row = rows[0]
        assigned = row.via.startswith("assigned")
        how = "assigned anew on the state object" if assigned else "changed in place"
        later = (
            "It is in no checkpoint."
            if assigned
            else "Whether a checkpoint shows it depends on durability and saver: undefined."
        )
        name = _advice.ident(row.node)
        sketch = (
            f"def {name}(state):\n    value = ...                       # a new object, or a copy of the old\n"
            f'    return {{"{row.channel}": value}}      # not: state["{row.channel}"] = ..., nor .append(...)'
        )
        yield Finding(
            "HL011",
            RISK,
            case.where(row.path, row.channel),
            f"{code(row.node)} {how} {code(row.channel)} and wrote nothing: a channel changes only by what "
            f"{code('apply_writes')} gets from {code('task.writes')}.",
            Advice("Return the changed value (a copy) from the node, so that it becomes a write.", "", sketch),
            effect=later,
            runs=once(r.run for r in rows),
            events=case.numbers(*(r.wrote_at for r in rows)),
            places=places(_source("node", row.source)),
            channel=row.channel,
        )
