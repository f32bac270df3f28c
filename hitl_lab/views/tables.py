"""Ledger and findings as tables that sort and filter in the page, with the text view as their twin."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hitl_lab import differences
from hitl_lab.value_text import clean, show
from hitl_lab.views import html
from hitl_lab.views.stepper import View
from hitl_lab.views.text import LIVE, far, notes, yes

if TYPE_CHECKING:
    from hitl_lab.findings import Finding, Findings
    from hitl_lab.ledger import Ledger, Row

SCHEMA = "hitl_lab.table"
TONES = {
    "applied": "keep", "pending": "wait", "dropped": "drop", "discarded": "drop", "lost": "drop", "undefined": "wait",
}  # fmt: skip

SEVERITY_TONES = {"loss": "drop", "risk": "wait", "note": ""}

Cell = list[Any]
"""[text], [text, tone], [text, tone, whole text], or with a fourth: the groups that a filter finds it by."""


class Table(View):
    """A table that sorts by each column and filters by some; works without a kernel."""

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as one self-contained HTML file; return its path."""
        return html.write(self._plain, path, text=self._text)


def table_document(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]], filters: Sequence[str], empty: str = "",
    below: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """Return the document of a table; the columns of `below` are shown under each row instead of beside it."""
    chosen, under = [columns.index(name) for name in filters], [columns.index(name) for name in below]
    return {"schema": SCHEMA, "version": 1, "title": title, "columns": list(columns), "filters": chosen, "below": under,
            "rows": [list(row) for row in rows], "empty": empty}  # fmt: skip


def ledger_table(ledger: Ledger) -> Table:
    """Return the ledger as a table, to be filtered by fate, node, channel and run."""
    columns = ["write", "run", "node", "channel", "value", "fate", "got as far as", LIVE, "returned", "why"]
    document = table_document(
        "Ledger: where each write got to", columns, map(_ledger_row, ledger), ("fate", "node", "channel", "run"),
        "No write of a state channel.", below=("why",),
    )  # fmt: skip
    return Table(document, str(ledger))


def _ledger_row(row: Row) -> list[Cell]:
    short = show(row.value, 80) if row.key is not None else row.via
    full = differences.pretty(row.value) if row.key is not None else short
    returned = ["yes · phantom", "ghost"] if row.phantom else [yes(row.returned)]
    return [
        [row.write],
        [row.run],
        [clean(row.path)],
        [clean(row.channel)],
        [short, "", full] if full != short else [short],
        [row.fate, TONES.get(row.fate, "")],
        [far(row)],
        [yes(row.in_state)],
        returned,
        [notes(row) or ""],
    ]


def findings_table(findings: Findings) -> Table:
    """Return findings as a table, to be filtered by severity, node, channel and run."""
    columns = ["code", "severity", "what", "node", "channel", "run", "why", "what to do", "proof"]
    document = table_document(
        "Findings: what went wrong and what to do", columns, map(_finding_row, findings),
        ("severity", "node", "channel", "run"), "Nothing went wrong.", below=("why", "what to do", "proof"),
    )  # fmt: skip
    return Table(document, str(findings))


def _finding_row(finding: Finding) -> list[Cell]:
    fix = f"Fix {finding.advice.fix}: " if finding.advice.fix else ""
    advice = [fix + finding.advice.text]
    events = "events " + ", ".join(map(str, finding.events[:8])) if finding.events else ""
    runs = ", ".join(finding.runs)
    return [
        [finding.code],
        [finding.severity, SEVERITY_TONES.get(finding.severity, "")],
        [finding.title],
        [clean(finding.where.split(" → ", 1)[0])],
        [clean(finding.channel)],
        [runs, "", "", list(finding.runs)] if finding.runs else [""],
        [" ".join(filter(None, (finding.cause, finding.effect)))],
        [advice[0], "", f"{advice[0]}\n\n{finding.advice.sketch}"] if finding.advice.sketch else advice,
        [" · ".join(filter(None, [events, *map(str, finding.places)]))],
    ]
