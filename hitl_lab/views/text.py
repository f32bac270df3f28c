"""The text views: complete, one column wide enough for a terminal, the same to the byte on one LangGraph version."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hitl_lab.answers import Answer, answers
from hitl_lab.findings import findings_lines
from hitl_lab.ledger import Ledger, Row
from hitl_lab.sentences import plural, sentence
from hitl_lab.story import Action, Story
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import show

if TYPE_CHECKING:
    from hitl_lab.trace import Trace


def trace_text(trace: Trace) -> str:
    """Return the whole story: a head line, each run and update event by event, the ledger, a line a finding."""
    story = trace.story
    if not story.events:
        so_far = " so far" if trace.recording else ""
        return f"Trace: no run reached LangGraph{so_far}."
    out = [head(trace), ""]
    number = 0
    for action in story.actions:
        out.append(action_head(action, story))
        step: tuple[object, ...] | None = None
        for event in action.events:
            number += 1
            at = (event.ns, event.step)
            if event.step is not None and at != step:
                step = at
                place = story.place(event.ns)
                out.append(f"  superstep {event.step}{' in ' + place if place else ''}")
            out.append(f"  {number:>4}  {event.kind:<17} {sentence(event, story)}")
        out.append("")
    out.append(ledger_text(trace.ledger))
    if trace.findings:
        out += ["", findings_lines(trace.findings), "print(trace.findings) tells why, with proof, and what to do."]
    return "\n".join(out)


def head(trace: Trace) -> str:
    """Return one line: how many runs on which threads, versions, savers."""
    story = trace.story
    updates = [a for a in story.actions if a.is_update]
    parts = [plural(len(story.runs), "run") + (f" and {plural(len(updates), 'update')}" if updates else "")]
    threads = list(story.threads.values())
    parts.append(threads[0] if len(threads) == 1 else plural(len(threads), "thread"))
    version = trace.facts.get("langgraph")
    if version:
        parts.append(f"langgraph {version}")
    savers = dict.fromkeys(s for a in story.actions if (s := getattr(a.started, "saver", None)))
    parts.extend(savers or ["no checkpointer"])
    if trace.recording:
        parts.append("still recording")
    return "Trace: " + " · ".join(parts)


def action_head(action: Action, story: Story) -> str:
    """Return the heading of one run or update: "run 2 of 2: resume · thread 1 · durability sync · done"."""
    if not action.key:
        return "notes"
    if action.is_update:
        text = f"update {action.number}: {action.name}"
    else:
        text = f"run {action.number} of {len(story.runs)}: {action.name}"
    parts = [text]
    if len(story.threads) > 1:
        parts.append(story.threads[action.thread])
    durability = getattr(action.started, "durability", "")
    if durability:
        parts.append(f"durability {durability}")
    parts.append(action.status)
    return " · ".join(parts)


LIVE = "get_state() live"
"""The column that says whether the live view of `get_state()` shows a write; the record view is never read."""
COLUMNS = ("write", "run", "node → channel", "value", "got as far as", LIVE, "returned", "fate")


def ledger_text(ledger: Ledger, value_width: int = 60) -> str:
    """Return the ledger as a table; under a row stand its flags and why a write did not get further.

    A write's way is task.writes, put_writes, saver, checkpoint: "got as far as" names the last it reached.
    """
    if not ledger.rows:
        return "Ledger: no write of a state channel."
    lines = [COLUMNS]
    below: list[str | None] = [None]
    for row in ledger.rows:
        lines.append(
            (
                row.write,
                row.run.replace("run ", "").replace("update ", "u"),
                f"{row.path} → {row.channel}",
                row.via if row.key is None else show(row.value, value_width),
                far(row),
                yes(row.in_state),
                yes(row.returned),
                row.fate,
            )
        )
        below.append(notes(row))
    return "\n".join(["Ledger: where each write got to", *table(lines, below)])


def far(row: Row) -> str:
    """Return the last place a write reached: "task.writes", "put_writes", "saver", "checkpoint C2"."""
    if row.key is None:
        return "memory only"
    if row.checkpoint is not None:
        return f"checkpoint {row.checkpoint}" + ("" if row.saved else ", not saved")
    if row.handed is None:
        return "task.writes"
    return ("saver" if row.saver else "put_writes") + (", null task" if row.handed == "null task" else "")


def yes(known: bool | None) -> str:
    """Return "yes", "no", or "–" for what was not seen."""
    return "–" if known is None else "yes" if known else "no"


def notes(row: Row) -> str | None:
    """Return the flags of a row and why it did not get further, None if there is nothing to add."""
    parts = []
    if row.where is not None:
        parts.append(f"dropped at {row.where}")
    elif row.reason and row.fate != "applied":
        parts.append(row.reason)
    if row.phantom:
        parts.append("phantom: returned, but in no checkpoint")
    if row.rewritten_by:
        parts.append(f"rewritten by {row.rewritten_by}")
    return " · ".join(parts) or None


def table(lines: Sequence[Sequence[str]], below: Sequence[str | None] | None = None) -> list[str]:
    """Return aligned lines; `below` adds an indented line under some of them."""
    widths = [max(width(line[i]) for line in lines) for i in range(len(lines[0]))]
    out = []
    for i, line in enumerate(lines):
        cells = [pad(cell, widths[j]) for j, cell in enumerate(line[:-1])]
        out.append("  ".join([*cells, line[-1]]).rstrip())
        extra = below[i] if below else None
        if extra:
            out.append(" " * (widths[0] + 2) + extra)
    return out


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def pad(text: str, size: int) -> str:
    """Return the text filled up with spaces to `size` columns."""
    return text + " " * (size - width(text))


def event_text(event: ev.Event, story: Story) -> str:
    """Return one event as a line: its kind and its sentence."""
    return f"{event.kind}: {sentence(event, story)}"


def outline(story: Story) -> str:
    """Return each run and update in a line or two: how it began, where it paused, what came back, what was lost."""
    told = {a.action.key: a for a in answers(story)}
    out = []
    wide = max((len(a.name) for a in story.actions), default=0)
    for action in (a for a in story.actions if a.key):
        head = f"{action.label:<8}  {action.name:<{max(wide, 12)}}  "
        lines = _outline_lines(action, story, told.get(action.key))
        out.append(head + lines[0])
        out += [" " * len(head) + line for line in lines[1:]]
    return "\n".join(out)


def _outline_lines(action: Action, story: Story, answer: Answer | None) -> list[str]:
    lines = []
    for event in action.events:
        if len(event.ns) > len(action.started.ns):
            continue
        match event:
            case ev.Paused() | ev.StateUpdated():
                lines.append(sentence(event, story))
            case ev.Returned() if event.phantom:
                lines.append(f"Returned, but not saved: {', '.join(f'`{p}`' for p in event.phantom)} (phantom).")
            case ev.RunEnded() if event.status != "paused":
                lines.append(sentence(event, story))
            case ev.Noted():
                lines.append(sentence(event, story))
    if answer is not None and answer.fate != "taken":
        value = show(answer.value, 40)
        lines.insert(0, {
            "lost": f"The answer {value} was lost: no interrupt() took it.",
            "taken before asked": f"The answer {value} was taken by an interrupt() whose question was never shown.",
            "refused": f"The answer {value} was refused: the run raised before a node could take it.",
        }[answer.fate])  # fmt: skip
    return lines or ["It has not ended."]
