"""pytest plugin: the fixture `hitl_trace`, and the story of the trace under a test that failed.

Registered by the entry point `pytest11`; imports nothing of LangGraph until the fixture is asked for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hitl_lab.trace import Trace


@pytest.fixture
def hitl_trace() -> Iterator[Trace]:
    """The trace of all LangGraph runs of this test, in any thread or task; readable while the test runs.

    See `hitl_lab.testing` for assertions over it.
    """
    from hitl_lab.watching import watch

    # Process-wide: an async test, or a web app's test client, runs the graph in a context made before this fixture.
    with watch() as watching:
        yield watching.trace


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    """Add outline, ledger and findings of the test's trace to its report if it failed."""
    report = yield
    trace = getattr(item, "funcargs", {}).get("hitl_trace")
    if trace is not None and call.when == "call" and report.failed:
        try:
            text = _story(trace)
        except Exception as exc:  # noqa: BLE001 - the report of the test itself must come through
            text = f"The trace cannot be shown: {exc!r}"
        report.sections.append(("hitl_trace", text))
    return report


def _story(trace: Trace) -> str:
    from hitl_lab.findings import findings_lines
    from hitl_lab.secrets import hidden
    from hitl_lab.views.text import head, ledger_text, outline

    trace = hidden(trace)  # a test's output ends in logs that many read
    return "\n\n".join([head(trace), outline(trace.story), ledger_text(trace.ledger), findings_lines(trace.findings)])
