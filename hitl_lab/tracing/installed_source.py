"""The installed LangGraph's own source of the function at work in an event, with the lines that decided.

Read with `inspect` when something is shown, never when recording; kept in memory only. The lines that decided are
measured, not known beforehand: the enclosing branch of the line that was seen at work.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import lru_cache
from typing import Any

from hitl_lab.tracing import events as ev
from hitl_lab.tracing.sources import short_file

AROUND = 5
WHOLE = 46  # a function of up to so many lines is shown whole


def read(event: ev.Event) -> dict[str, Any] | None:
    """Return {"file", "function", "lines": [[number, text]], "deciding": [numbers], "label"} for an event.

    None if no function of LangGraph stands behind it, or LangGraph or its source is not there. deciding: the branch
    of the line that was measured (`Committed.where`); for other events that of the call that did it, found in the
    installed source; empty if neither is known. label: which of the two, in words.
    """
    name = _name(event)
    where = getattr(event, "where", None)
    call = "GraphInterrupt" if isinstance(event, ev.InterruptCalled) and not event.answered else _CALLS.get(name, "")
    return _read(name, where.line if isinstance(where, ev.Source) else 0, call)


_CALLS = {
    "tick": "prepare_next_tasks",
    "after_tick": "apply_writes",
    "_first": "apply_writes",
    "_suppress_interrupt": "apply_writes",
    "update_state": "apply_writes",
    "checkpoint": "create_checkpoint",
}


def _name(event: ev.Event) -> str:
    if isinstance(event, ev.Applied):
        return event.where
    if type(event) is ev.UpdateStarted or type(event) is ev.StateUpdated:
        return "update_state"
    if isinstance(event, ev.Paused):
        return "tick" if event.reason == "interrupt_before" else "_suppress_interrupt"
    return event.kind


@lru_cache(maxsize=512)
def _read(name: str, line: int, call: str) -> dict[str, Any] | None:
    try:
        from hitl_lab.tracing.seams import FUNCTIONS

        function = inspect.unwrap(FUNCTIONS[name])
        lines, start = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or ""
    except Exception:  # an unsupported or absent LangGraph, a zipped or compiled one, no such function
        return None
    tree = ast.parse(textwrap.dedent("".join(lines)))
    body = tree.body[0]
    measured = start < line < start + len(lines)
    at = line - start + 1 if measured else _call(body, call)
    deciding = _branch(body, at) if at else []
    shown = _shown(body, len(lines), deciding)
    return {
        "file": short_file(file),
        "function": function.__qualname__,
        "lines": [[start + n - 1, lines[n - 1].rstrip("\n")] for n in shown],
        "deciding": [start + n - 1 for n in deciding],
        "label": "the lines that decided" if measured else "the lines at work",
    }


def _call(body: ast.AST, name: str) -> int:
    """Return the line that calls `name`, 0 if none does."""
    for node in ast.walk(body):
        if isinstance(node, ast.Call) and name and ast.unparse(node.func).rsplit(".", 1)[-1] == name:
            return node.lineno
    return 0


def _branch(body: ast.stmt, line: int) -> list[int]:
    """Return the lines of the smallest `if` branch around `line` with the tests that lead to it."""
    best: tuple[list[ast.expr], list[ast.stmt]] | None = None

    def walk(statements: list[ast.stmt], tests: list[ast.expr]) -> None:
        nonlocal best
        if not statements or not statements[0].lineno <= line <= (statements[-1].end_lineno or 0):
            return
        if tests:
            best = (tests, statements)
        for statement in statements:
            if isinstance(statement, ast.If):
                walk(statement.body, [*tests, statement.test])
                walk(statement.orelse, [] if _is_elif(statement) else [*tests, statement.test])
                continue
            for name in ("body", "orelse", "finalbody"):
                walk(getattr(statement, name, []), tests)
            for handler in getattr(statement, "handlers", []):
                walk(handler.body, tests)

    walk(getattr(body, "body", []), [])
    if best is None:
        return [line]
    tests, statements = best
    if sum((s.end_lineno or 0) - s.lineno + 1 for s in statements) > 24:
        # None at a decorator or a comment: no statement's own lines.
        inner = next((s for s in statements if s.lineno <= line <= (s.end_lineno or 0)), None)
        statements = [inner] if inner is not None and (inner.end_lineno or 0) - inner.lineno < 24 else []
    if not statements:
        return [line]
    # An innermost `if` says little alone: its test, the one around it, and the statements up to the measured line.
    numbers: set[int] = set()
    for test in tests[-2:]:
        numbers.update(range(test.lineno, (test.end_lineno or test.lineno) + 1))
    end = max((s.end_lineno or 0) for s in statements if s.lineno <= line)
    numbers.update(range(statements[0].lineno, end + 1))
    return sorted(numbers)


def _is_elif(statement: ast.If) -> bool:
    return len(statement.orelse) == 1 and isinstance(statement.orelse[0], ast.If)


def _shown(body: ast.stmt, size: int, deciding: list[int]) -> list[int]:
    if size <= WHOLE:
        return list(range(1, size + 1))
    if not deciding:
        return list(range(1, WHOLE + 1))
    near = range(max(1, deciding[0] - AROUND), min(size, deciding[-1] + AROUND) + 1)
    return sorted({getattr(body, "lineno", 1), *near})
