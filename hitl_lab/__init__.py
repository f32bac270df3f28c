"""See where every write of a LangGraph node goes at a human-in-the-loop pause.

    with hitl_lab.record() as trace:
        graph.invoke({"messages": [...]}, config)
        graph.invoke(Command(resume="approved"), config)
    print(trace.ledger)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hitl_lab import counterfactual, mutation, savers
    from hitl_lab.crashes import crash, crash_table
    from hitl_lab.effects import effect
    from hitl_lab.errors import HitlLabError, NotAGraph, TraceFileError, UnsupportedLangGraph
    from hitl_lab.processes import in_another_process
    from hitl_lab.stitching import stitch
    from hitl_lab.stored import stored_rows
    from hitl_lab.trace import Trace
    from hitl_lab.tracing.executor import TracedExecutor
    from hitl_lab.tracing.recorder import record
    from hitl_lab.views.compare import compare
    from hitl_lab.watching import watch

# Name to module: nothing is imported until it is used, so that importing hitl_lab is cheap and never fails for an
# unsupported LangGraph.
_WHERE = {
    "record": "hitl_lab.tracing.recorder",
    "Trace": "hitl_lab.trace",
    "TracedExecutor": "hitl_lab.tracing.executor",
    "HitlLabError": "hitl_lab.errors",
    "UnsupportedLangGraph": "hitl_lab.errors",
    "TraceFileError": "hitl_lab.errors",
    "NotAGraph": "hitl_lab.errors",
    "compare": "hitl_lab.views.compare",
    "crash": "hitl_lab.crashes",
    "crash_table": "hitl_lab.crashes",
    "effect": "hitl_lab.effects",
    "in_another_process": "hitl_lab.processes",
    "load_ipython_extension": "hitl_lab.magic",
    "stitch": "hitl_lab.stitching",
    "stored_rows": "hitl_lab.stored",
    "watch": "hitl_lab.watching",
}
_MODULES = ("counterfactual", "mutation", "savers")

__all__ = [
    "HitlLabError",
    "NotAGraph",
    "Trace",
    "TraceFileError",
    "TracedExecutor",
    "UnsupportedLangGraph",
    "compare",
    "counterfactual",
    "crash",
    "crash_table",
    "effect",
    "in_another_process",
    "mutation",
    "record",
    "savers",
    "stitch",
    "stored_rows",
    "watch",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name in _MODULES:
        return import_module(f"hitl_lab.{name}")
    raise AttributeError(f"module 'hitl_lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE, *_MODULES])
