"""Assertions over a trace, for tests of one's own graph; each fails with what happened, where, and what to do.

def test_payload_survives(hitl_trace):          # fixture of hitl_lab's pytest plugin
    graph.invoke({"messages": [...]}, config)
    assert_survives_pause(hitl_trace, "messages")
"""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

from hitl_lab.findings import finding_text
from hitl_lab.sentences import listed, plural
from hitl_lab.tracing import events as ev
from hitl_lab.value_text import show

if TYPE_CHECKING:
    from hitl_lab.trace import Trace

__all__ = ["assert_no_dropped_writes", "assert_runs_once", "assert_survives_pause"]


def assert_no_dropped_writes(trace: Trace, *channels: str) -> None:
    """Fail if a write was dropped at a pause, or discarded while it was pending.

    Writes of an attempt that failed and was tried again do not count.

    Args:
        trace: of `record()` or the fixture `hitl_trace`.
        channels: only these; default all.

    Raises:
        AssertionError: with the ledger rows and the findings; also if the trace holds no run.
    """
    __tracebackhide__ = True
    _ran(trace)
    bad = [f for f in trace.findings.of("HL001", "HL003") if not channels or f.channel in channels]
    if not bad:
        return
    names = {w for f in bad for w in f.writes}
    rows = [r for r in trace.ledger if r.write in names]
    lines = [f"  {r.write}  {r.run}  {r.path} → {r.channel} = {show(r.value, 60)}   {r.label}" for r in rows]
    head = f"{plural(len(rows), 'write')} did not reach a checkpoint:"
    raise AssertionError("\n".join([head, *lines, "", *(finding_text(f) for f in bad)]))


def assert_survives_pause(trace: Trace, channel: str) -> None:
    """Fail if at a pause the caller was given another value of a channel than get_state() reads, or a write is lost.

    Args:
        trace: of `record()` or the fixture `hitl_trace`.
        channel: the state key.

    Raises:
        AssertionError: with a diff of returned and saved; also if there is no pause, or no such channel.
    """
    __tracebackhide__ = True
    _ran(trace)
    paused = [a for a in trace.story.runs if a.status == "paused"]
    if not paused:
        raise AssertionError("no run of this trace paused, so nothing was put to the test. " + _runs(trace))
    known = {r.channel for r in trace.ledger} | {
        k for e in trace.events if isinstance(e, ev.StateRead) for k in e.values
    }
    if channel not in known:
        raise AssertionError(f"no write went to channel {channel!r}. Channels: {', '.join(sorted(known)) or 'none'}.")
    out: list[str] = []
    for action in paused:
        returned = next((e for e in action.events if isinstance(e, ev.Returned) and not e.ns and e.seen), None)
        read = next((e for e in action.events if isinstance(e, ev.StateRead) and not e.ns and not e.error), None)
        if returned is None or read is None or not isinstance(returned.values, dict):
            continue
        given, saved = returned.values.get(channel), read.values.get(channel)
        if channel in returned.phantom:
            out += [f"{action.label} ({action.name}): {channel!r} was returned, but this is not what is saved:"]
            out += _diff(given, saved)
    keys = {a.key for a in paused}
    gone = (r for r in trace.ledger if r.channel == channel and r.fate in ("dropped", "discarded", "lost"))
    rows = [r for r in gone if r.action_key in keys]
    if not out and not rows:
        return
    if rows and not out:
        out = [f"{listed(r.write for r in rows)} of {channel!r} did not survive the pause."]
    found = [f for f in trace.findings if f.channel == channel and f.code in ("HL001", "HL003", "HL011", "HL014")]
    raise AssertionError("\n".join([*out, "", *(finding_text(f) for f in found)]).rstrip())


def assert_runs_once(trace: Trace, name: str, times: int = 1) -> None:
    """Fail unless a side effect, or else a node or task, ran exactly once in the trace.

    Args:
        trace: of `record()` or the fixture `hitl_trace`.
        name: the label of `hitl_lab.effect(...)` or of a store put; if there is none, the name of a node or task.
        times: how often instead of once.

    Raises:
        AssertionError: with each time, its event and line; also if nothing is called so.
    """
    __tracebackhide__ = True
    _ran(trace)
    number = {e.n: i for i, e in enumerate(trace.story.events, 1)}
    effects = [e for e in trace.story.events if isinstance(e, ev.SideEffect)]
    done: list[Any] = [e for e in effects if e.label == name]
    what = "side effect"
    if not done:
        done = [e for e in trace.story.events if isinstance(e, ev.TaskStarted) and e.name == name]
        what = "node"
    if not done:
        nodes = dict.fromkeys(e.name for e in trace.story.events if isinstance(e, ev.TaskStarted))
        labels = dict.fromkeys(e.label for e in effects)
        raise AssertionError(
            f"nothing called {name!r} ran. Side effects: {', '.join(labels) or 'none'}. Nodes: {', '.join(nodes)}."
        )
    if len(done) == times:
        return
    lines = [f"{what} {name!r} ran {plural(len(done), 'time')}, not {times}:"]
    for event in done:
        action = trace.story.action(event.run)
        ended = next(
            (e for e in action.events if isinstance(e, ev.TaskEnded) and e.task == event.task and e.n > event.n), None
        )
        then = f"; then the node {_ended(ended)}" if ended is not None else ""
        source = f", {event.source}" if getattr(event, "source", None) else ""
        lines.append(f"  {action.label} ({action.name}), event {number[event.n]}{source}{then}")
    found = [f for f in trace.findings.of("HL008", "HL004") if any(e.name in f.where for e in done)]
    raise AssertionError("\n".join([*lines, "", *(finding_text(f) for f in found)]).rstrip())


def _ended(event: ev.TaskEnded) -> str:
    if event.outcome == "interrupt":
        return "stopped on interrupt()" + (f" at {event.source}" if event.source else "")
    return {"finished": "finished", "error": f"raised {event.error}"}.get(event.outcome, event.outcome)


def _ran(trace: Trace) -> None:
    __tracebackhide__ = True
    if not trace.story.runs:
        raise AssertionError(
            "no run reached LangGraph while the trace was recorded: it ran before, in another process, or not at all."
        )


def _runs(trace: Trace) -> str:
    return "Runs: " + ", ".join(f"{a.label} {a.name} {a.status}" for a in trace.story.runs) + "."


def _diff(given: Any, saved: Any) -> list[str]:
    a, b = (_lines(v) for v in (saved, given))
    return list(difflib.unified_diff(a, b, "saved (get_state)", "returned", n=2, lineterm=""))


def _lines(value: Any) -> list[str]:
    if value is None:
        return ["(nothing)"]
    if isinstance(value, list):
        return [show(v, 400) for v in value]
    return json.dumps(value, indent=2, ensure_ascii=False, default=str).splitlines()
