"""`effect()`: say in a node that something happens here which no pause takes back."""

from __future__ import annotations

import sys


def effect(label: str) -> None:
    """Mark the next lines of a node as a side effect, so that a trace tells if a resume repeats it.

    Does nothing outside a recorded node; about a microsecond while nothing is recorded. Never raises.

    Args:
        label: what happens, like "charge card"; the same text each time.
    """
    seams = sys.modules.get("hitl_lab.tracing.seams")
    if seams is None or not seams.is_installed():
        return
    try:
        found = seams.current_task()
        if found is None:
            return
        from hitl_lab.tracing import sources

        observer, task = found
        observer.side_effect(task, str(label), "effect", sources.of_frame(sys._getframe(1)))
    except Exception:  # noqa: BLE001 - a mark must never break the node it stands in
        return
