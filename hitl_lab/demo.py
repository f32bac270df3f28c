"""The demo: scenarios run on the installed LangGraph, each told by its outline and its ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

MAIN = ("broken_node", "fix_a_split_node", "fix_b_interrupt_before", "fix_c_update_state")


def demo(names: Iterable[str] = MAIN) -> Iterator[str]:
    """Yield the text of each scenario: invoke, pause, action, resume, and the ledger of it all.

    Raises KeyError for an unknown name.
    """
    import hitl_lab
    from hitl_lab import scenarios
    from hitl_lab.scenarios._scenario import run
    from hitl_lab.scenarios.savers import memory
    from hitl_lab.tracing.seams import facts

    yield f"langgraph {facts()['langgraph']}, InMemorySaver, durability sync\n"
    for name in names:
        scenario = scenarios.get(name)
        with hitl_lab.record() as trace, memory() as saver:
            run(scenario, saver, durability="sync")
        yield section(scenario.title, trace)


def section(title: str, trace: Any) -> str:
    """Return a titled block with outline, ledger and, a line each, the findings of a trace."""
    from hitl_lab.findings import findings_lines
    from hitl_lab.views.text import ledger_text, outline

    parts = [title, "=" * len(title), outline(trace.story), "", ledger_text(trace.ledger)]
    return "\n".join([*parts, findings_lines(trace.findings), ""])
