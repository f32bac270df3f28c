"""The stepper of a run that stands: the same frames, growing, and buttons that move the executor."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from hitl_lab.views.stepper import Stepper

if TYPE_CHECKING:
    from hitl_lab.tracing.executor import TracedExecutor

_BUTTONS = (
    ("step", "Step", "Let the run go on to the end of its next phase"),
    ("commit", "To commit", "Let the run go on to the next commit of a task"),
    ("superstep", "To next tick", "Let the run go on to the next superstep"),
    ("dropped", "To next dropped write", "Let the run go on until commit drops a write, or to its end"),
    ("finish", "Finish", "Let the run go on to its pause or end"),
)


class Live(Stepper):
    """Shows an executor's trace as it grows. Holds the executor weakly: ipywidgets keeps every widget alive."""

    def __init__(self, executor: TracedExecutor) -> None:
        self._executor = weakref.ref(executor)
        super().__init__(executor.trace)
        self.on_control(self._move)
        self.refresh()

    def refresh(self) -> None:
        """Take in what happened since, show the newest step, and say where the run stands."""
        executor = self._executor()
        if executor is None:
            self._text = "The executor is gone; its trace is kept."
            moving = False
        else:
            self.update()
            self.position = max(1, len(self.frames))
            self._text = str(executor)
            moving = not executor.over and not executor.closed
        self.controls = [
            {"name": name, "label": label, "title": title, "disabled": not moving} for name, label, title in _BUTTONS
        ]
        self.status(self._text)

    def _move(self, name: str) -> None:
        executor = self._executor()
        if executor is None:
            self.refresh()
            return
        if name in ("step", "finish"):
            getattr(executor, name)()
        elif any(name == known for known, _, _ in _BUTTONS):
            executor.run_to(name)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        executor = self._executor()
        self._text = str(executor) if executor is not None else self._text
        return super()._repr_mimebundle_(**kwargs)
