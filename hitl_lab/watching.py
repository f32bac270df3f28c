"""`watch()`: record every run of this process, in all threads, until stopped; for a notebook or a console."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hitl_lab import values
    from hitl_lab.findings import Findings
    from hitl_lab.ledger import Ledger
    from hitl_lab.trace import Trace

_lock = threading.Lock()
_now: Watch | None = None


class Watch:
    """A recording of the whole process. trace: what happened so far. stop() ends it; also a context manager."""

    def __init__(self, trace: Trace, recorder: Any, stack: contextlib.ExitStack) -> None:
        self.trace, self._recorder, self._stack = trace, recorder, stack

    @property
    def ledger(self) -> Ledger:
        """The trace's ledger."""
        return self.trace.ledger

    @property
    def findings(self) -> Findings:
        """The trace's findings."""
        return self.trace.findings

    @property
    def stopped(self) -> bool:
        """Whether it has ended."""
        return self._recorder.closed

    def stop(self) -> Trace:
        """End the recording and return its trace; a second call only returns it."""
        global _now
        from hitl_lab.tracing.recorder import CURRENT

        with _lock:
            if not self._recorder.closed:
                self._recorder.close()
                self._stack.close()
            if _now is self:
                _now = CURRENT.everywhere = None
        return self.trace

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Watch, {'stopped' if self.stopped else 'recording'}: {self.trace!r}>"


def watch(*, redact: values.Redact | None = None, mutations: bool = True) -> Watch:
    """Record all runs of this process, whichever thread or task they are in, until `.stop()`.

    A second call stops the recording before it, so that a cell can be run again. A `record()` inside keeps its own
    trace, and the watch gets its events too.

    Args:
        redact: (channel, value) -> value to keep, to hide secrets; default keeps all.
        mutations: also tell state that a node changed in place; default True.

    Raises:
        UnsupportedLangGraph: naming the installed version and the range.
    """
    global _now
    from hitl_lab.trace import Trace
    from hitl_lab.tracing import seams
    from hitl_lab.tracing.recorder import CURRENT, Recorder

    seams.check()
    if _now is not None:
        _now.stop()
    recorder = Recorder(redact=redact, mutations=mutations)
    recorder.facts = seams.facts()
    with _lock:
        stack = contextlib.ExitStack()
        stack.enter_context(seams.installed())
        _now = Watch(Trace(recorder=recorder), recorder, stack)
        CURRENT.everywhere = recorder
        return _now
