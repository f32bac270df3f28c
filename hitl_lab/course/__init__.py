"""The course around the notebooks: lessons and their checks, workspace, progress, checks of the installation."""

from typing import Any

__all__ = ["open_lesson", "send_hook"]


def __getattr__(name: str) -> Any:
    # Lazily: the command line imports this package for the workspace alone, and a lesson brings LangGraph.
    if name == "open_lesson":
        from hitl_lab.course.check import open_lesson

        return open_lesson
    if name == "send_hook":
        from hitl_lab.scenarios._send import send_hook

        return send_hook
    raise AttributeError(f"module 'hitl_lab.course' has no attribute {name!r}")
