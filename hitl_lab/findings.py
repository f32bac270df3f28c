"""Findings: what went wrong in a trace, why, the proof, and what to do. Pure: made from story, ledger and answers.

Each rule lives in `hitl_lab/rules` and has a stable code. A finding is only made of rows and events that are there;
what was not recorded (a pause from before the trace began, say) is never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hitl_lab.trace import Trace
    from hitl_lab.tracing.events import Source

LOSS, RISK, NOTE = "loss", "risk", "note"
SEVERITIES = (LOSS, RISK, NOTE)

TITLES: dict[str, str] = {
    "HL001": "write dropped at the pause",
    "HL002": "phantom returned",
    "HL003": "pending write discarded",
    "HL004": "finished sibling runs again",
    "HL005": "asking node skipped by as_node",
    "HL006": "answer lost",
    "HL007": "answer taken before its question was shown",
    "HL008": "side effect repeated",
    "HL009": "answer given to another question",
    "HL010": "interrupt swallowed",
    "HL011": "state mutated in place",
    "HL012": "no checkpointer",
    "HL013": "new input while paused",
    "HL014": "value not stored by the saver",
    "HL015": "write of a failed attempt dropped",
    "HL016": "resumed where nothing is paused",
    "HL017": "one answer for several questions",
    "HL018": "breakpoint that never lets go",
    "HL019": "asked outside of the node's context",
    "HL020": "recursion limit reached",
    "HL021": "failed node taken for finished",
}
"""What each code means, in a few words; docs/findings has a page for each."""


@dataclass(frozen=True)
class Place:
    """A place in a source file that proves a finding. what: "write", "interrupt()", "LangGraph", "call", ..."""

    what: str
    source: Source

    def __str__(self) -> str:
        return f"{self.what} at {self.source}"


@dataclass(frozen=True)
class Advice:
    """What to do. fix: "A" (split the node), "B" (interrupt_before), "C" (update_state), or "" for another way.

    text: one or two sentences. sketch: code made for the graph's own names, "" if words say it all.
    """

    text: str
    fix: str = ""
    sketch: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that went wrong.

    code: HL001, ... severity: "loss" (a write or an answer is gone), "risk" (it comes back or repeats, or misleads),
    "note". where: node, or node → channel. runs: labels of the runs and updates it was seen in. cause: one sentence
    in LangGraph's words. effect: what that means here. events: numbers as `str(trace)` and the stepper show them,
    from 1. writes: W1, ... places: the user's lines and LangGraph's measured one. channel: the channel at stake, ""
    if none.
    """

    code: str
    severity: str
    where: str
    cause: str
    advice: Advice
    effect: str = ""
    runs: tuple[str, ...] = ()
    events: tuple[int, ...] = ()
    writes: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    channel: str = ""

    @property
    def title(self) -> str:
        """What the code means, in a few words."""
        return TITLES[self.code]

    @property
    def page(self) -> str:
        """The page of the documentation that says more."""
        return f"docs/findings/{self.code}.md"

    @property
    def line(self) -> str:
        """The finding in one line, for lists."""
        fix = f" Fix {self.advice.fix}." if self.advice.fix else ""
        writes = f" ({', '.join(self.writes)})" if self.writes else ""
        return f"{self.code}  {self.severity}  {self.where}{writes}: {self.title}, {_seen(self.runs)}.{fix}"

    def __str__(self) -> str:
        return finding_text(self)

    def to_plain(self) -> dict[str, Any]:
        """Return the finding as JSON-ready data."""
        return {
            "code": self.code,
            "severity": self.severity,
            "title": self.title,
            "where": self.where,
            "channel": self.channel,
            "cause": self.cause,
            "effect": self.effect,
            "runs": list(self.runs),
            "events": list(self.events),
            "writes": list(self.writes),
            "places": [{"what": p.what, "at": str(p.source)} for p in self.places],
            "fix": self.advice.fix,
            "advice": self.advice.text,
            "sketch": self.advice.sketch,
            "page": self.page,
        }


class Findings(tuple[Finding, ...]):
    """The findings of a trace; a tuple whose text is the whole report."""

    __slots__ = ()

    def __str__(self) -> str:
        return findings_text(self)

    __repr__ = __str__

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        try:
            from hitl_lab.views.tables import findings_table
        except ImportError:  # no widgets installed: the text is complete
            return {"text/plain": str(self)}
        return findings_table(self)._repr_mimebundle_(**kwargs)

    def of(self, *codes: str) -> Findings:
        """Return those of the given codes."""
        return Findings(f for f in self if f.code in codes)

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes found, each once, in order."""
        return tuple(sorted({f.code for f in self}))


def find(trace: Trace) -> Findings:
    """Return what went wrong in a trace: losses first, then by code, then in story order."""
    from hitl_lab.rules import RULES
    from hitl_lab.rules._case import Case

    case = Case(trace.story, trace.ledger)
    found = [finding for rule in RULES for finding in rule(case)]
    return Findings(sorted(found, key=lambda f: (SEVERITIES.index(f.severity), f.code, f.events[:1])))


# ---------------------------------------------------------------- text


def findings_text(findings: Sequence[Finding]) -> str:
    """Return the whole report: each finding with cause, evidence, advice and sketch."""
    if not findings:
        return "Findings: none."
    return "\n\n".join([f"Findings: {len(findings)}", *(finding_text(f) for f in findings)])


def findings_lines(findings: Iterable[Finding]) -> str:
    """Return one line a finding."""
    lines = [f"  {f.line}" for f in findings]
    return "\n".join(["Findings:", *lines]) if lines else "Findings: none."


def finding_text(finding: Finding) -> str:
    """Return one finding: head, cause, evidence, what to do."""
    out = [f"{finding.code} {finding.title} · {finding.severity} · {finding.where} · {_seen(finding.runs)}"]
    out.append(f"  Why: {finding.cause}" + (f" {finding.effect}" if finding.effect else ""))
    numbers = ", ".join(str(n) for n in finding.events[:8]) + (", …" if len(finding.events) > 8 else "")
    proof = [f"event{'s' * (len(finding.events) != 1)} {numbers}"] if finding.events else []
    proof += [str(p) for p in finding.places]
    if proof:
        out.append(f"  Proof: {'; '.join(proof)}")
    fix = f"Fix {finding.advice.fix}. " if finding.advice.fix else ""
    out.append(f"  Do: {fix}{finding.advice.text}")
    out += [f"      | {line}".rstrip() for line in finding.advice.sketch.splitlines()]
    return "\n".join(out)


def _seen(runs: Sequence[str]) -> str:
    if len(runs) > 4:
        return f"{', '.join(runs[:3])} and {len(runs) - 3} more"
    return ", ".join(runs)
