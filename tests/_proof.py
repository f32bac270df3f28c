"""Holds the findings of a trace against its rows and events, apart from the rules that made them."""

import json

from hitl_lab.answers import answers
from hitl_lab.findings import SEVERITIES, TITLES
from hitl_lab.tracing import events as ev


def prove(trace):
    """No finding without a row or event that proves it; no lost row without a finding."""
    rows = {r.write: r for r in trace.ledger}
    story = trace.story.events
    for finding in trace.findings:
        assert finding.code in TITLES
        assert finding.severity in SEVERITIES
        assert finding.events, finding
        assert all(1 <= n <= len(story) for n in finding.events), finding
        assert finding.runs
        assert set(finding.writes) <= set(rows)
        json.dumps(finding.to_plain())
        compile(finding.advice.sketch, finding.code, "exec")
        seen = [story[n - 1] for n in finding.events]
        proof = _PROOFS.get(finding.code)
        assert proof is None or proof(trace, finding, [rows[w] for w in finding.writes], seen), f"{finding}\n{trace}"
    covered = {w for f in trace.findings.of("HL001", "HL003", "HL014", "HL015") for w in f.writes}
    gone = [r for r in trace.ledger if r.key and r.fate in ("dropped", "discarded", "lost") and r.write not in covered]
    assert not gone, f"no finding for {gone}\n{trace}"
    phantoms = {r.write for r in trace.ledger if r.phantom}
    assert phantoms == {w for f in trace.findings.of("HL002") for w in f.writes}
    unasked = [a for a in answers(trace.story) if a.fate == "lost" and a.action.started.saver]
    assert len(unasked) <= len(trace.findings.of("HL006", "HL016")), f"an answer is lost, and nothing is found\n{trace}"


def _of(seen, kind):
    return [e for e in seen if isinstance(e, kind)]


def _gone(trace, finding, rows, seen):
    return bool(rows) and all(r.fate in ("dropped", "discarded", "lost") for r in rows)


def _twice(trace, finding, rows, seen):
    name = finding.where.rsplit("/", 1)[-1]
    started = [e for e in trace.story.events if isinstance(e, ev.TaskStarted) and e.name == name]
    return len(started) > 1 and len(_of(seen, ev.TaskStarted)) == 2


def _skipped(trace, finding, rows, seen):
    before, updated, after = seen
    name = finding.where.rsplit("/", 1)[-1]
    return bool(before.interrupts) and name in updated.nodes and name in before.next and name not in after.next


def _answer(*fates):
    def proof(trace, finding, rows, seen):
        keys = {e.run for e in _of(seen, ev.RunStarted)}
        return any(a.action.key in keys and a.fate in fates for a in answers(trace.story))

    return proof


def _other(trace, finding, rows, seen):
    asked, answered = _of(seen, ev.InterruptCalled)
    same = (asked.task, asked.index) == (answered.task, answered.index)
    return same and not asked.answered and answered.answered and asked.value != answered.value


def _swallowed(trace, finding, rows, seen):
    ended = _of(seen, ev.TaskEnded)[-1]
    asked = [e for e in _of(seen, ev.InterruptCalled) if not e.answered] or _of(seen, ev.SubgraphEnded)
    return bool(asked) and ended.outcome in ("finished", "error")


def _started_over(trace, finding, rows, seen):
    read, start = _of(seen, ev.StateRead)[0], _of(seen, ev.RunStarted)[0]
    return bool(read.next) and start.input is not None and start.checkpoint == read.checkpoint


_PROOFS = {
    "HL001": _gone,
    "HL002": lambda trace, finding, rows, seen: all(r.phantom and r.returned for r in rows),
    "HL003": _gone,
    "HL004": _twice,
    "HL005": _skipped,
    "HL006": _answer("lost", "taken"),  # "taken": of several answers by id, some were
    "HL007": _answer("taken before asked"),
    "HL008": lambda trace, finding, rows, seen: len(_of(seen, ev.SideEffect)) > 1,
    "HL009": _other,
    "HL010": _swallowed,
    "HL011": lambda trace, finding, rows, seen: any(
        r.fate == "undefined" and r.channel == finding.channel for r in trace.ledger
    ),
    "HL012": lambda trace, finding, rows, seen: _of(seen, ev.RunStarted)[0].saver is None,
    "HL013": _started_over,
    "HL015": _gone,
    "HL016": _answer("lost"),
    "HL017": _answer("refused"),
    "HL018": lambda trace, finding, rows, seen: len(_of(seen, ev.Paused)) == 2,
    "HL021": lambda trace, finding, rows, seen: (
        _of(seen, ev.TaskEnded)[0].outcome in ("error", "cancelled")
        and any(t.finished for t in _of(seen, ev.Ticked)[0].tasks)
    ),
    "HL020": lambda trace, finding, rows, seen: _of(seen, ev.RunEnded)[0].status == "out_of_steps",
}
