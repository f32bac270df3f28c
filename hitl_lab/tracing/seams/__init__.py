"""The only package that touches LangGraph's internals: what to swap, how to check it, how to put it back.

While a `record()` is open, some module globals and two methods are swapped for guards. A guard passes straight
through unless the context that CONSTRUCTS a loop (or calls `update_state`) carries a recorder; then the traced
subclass is used, and the recorder is held as an attribute from there on. Looking the context up on each call instead
would miss commits: in a parallel sync superstep `commit` runs in done-callbacks, and the saver's `put_writes` in pool
threads, where the context variable is not visible.
"""

from __future__ import annotations

from hitl_lab.tracing.seams.loops import TracedAsyncLoop, TracedSyncLoop
from hitl_lab.tracing.seams.names import FUNCTIONS, RANGE, SUPPORTED, Command, check, facts, is_control, require_graph
from hitl_lab.tracing.seams.parts import is_async_only, names_of_nodes, parts, saved_parts, step_timeouts
from hitl_lab.tracing.seams.swap import installed, is_installed
from hitl_lab.tracing.seams.tasks import current_task

__all__ = [
    "FUNCTIONS",
    "RANGE",
    "SUPPORTED",
    "Command",
    "TracedAsyncLoop",
    "TracedSyncLoop",
    "check",
    "current_task",
    "facts",
    "installed",
    "is_async_only",
    "is_control",
    "is_installed",
    "names_of_nodes",
    "parts",
    "require_graph",
    "saved_parts",
    "step_timeouts",
]
