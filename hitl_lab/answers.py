"""What became of each answer: which `interrupt()` took it, or that none did. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hitl_lab.story import Action, Story
from hitl_lab.tracing import events as ev


@dataclass(frozen=True)
class Answer:
    """One resume value of one run.

    fate: "taken" (by an interrupt() that had asked before), "taken before asked" (the question was never shown to
    anybody), "lost" (no interrupt() took it) or "refused" (the run raised before a node could).
    calls: the InterruptCalled events that had an answer, in story order.
    """

    action: Action
    value: object
    fate: str
    calls: tuple[ev.InterruptCalled, ...]


def answers(story: Story) -> tuple[Answer, ...]:
    """Return what became of the answer of each run that was started with Command(resume=...)."""
    asked: set[tuple[str | None, str, str, int]] = set()
    out = []
    for action in story.actions:
        command = getattr(action.started, "command", None) or {}
        calls = [e for e in action.events if isinstance(e, ev.InterruptCalled)]
        if "resume" in command:
            taken = tuple(c for c in calls if c.answered)
            before = [c for c in taken if _place(c, action, story) in asked]
            if before:
                fate = "taken"
            elif taken:
                fate = "taken before asked"
            else:
                fate = "refused" if action.status == "error" else "lost"
            out.append(Answer(action, command["resume"], fate, taken))
        asked |= {_place(c, action, story) for c in calls if not c.answered}
    return tuple(out)


def _place(call: ev.InterruptCalled, action: Action, story: Story) -> tuple[str | None, str, str, int]:
    return action.thread, story.place(call.ns), call.name, call.index
