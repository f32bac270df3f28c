"""The errors the kit raises itself; a graph's own exceptions always pass through unchanged."""

from __future__ import annotations


class HitlLabError(Exception):
    """Base of the kit's own errors. Its text says what, where, why and the way out."""


class UnsupportedLangGraph(HitlLabError):
    """The installed LangGraph is outside the supported range, or a name the recorder needs is missing."""


class TraceFileError(HitlLabError):
    """A trace file cannot be read: cut off before its first line, of a newer schema, or no trace at all."""


class ExecutorError(HitlLabError, RuntimeError):
    """A TracedExecutor was asked for what cannot be done now; the trace is kept and the run stands where it stood."""


class RunIsOver(ExecutorError):
    """A step after the end: the run paused, finished, failed, or the executor is closed."""


class ExecutorBusy(ExecutorError):
    """Another thread is moving this executor."""


class StepTimeoutWarning(UserWarning):
    """The graph has a step_timeout, and the time a stepped run stands counts against it."""


class NotAGraph(HitlLabError, TypeError):
    """An object that is no compiled LangGraph graph was given where one is needed."""
