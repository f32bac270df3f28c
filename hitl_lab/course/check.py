"""`Check`: what a notebook calls. Predict, show, order, exercise, hint, solution, recap.

Everything works by code alone and answers in text; where there are widgets, the same object shows buttons. A cell
never fails because its question is not answered yet: it says so, so that "Run all" works before anything is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hitl_lab.course import _judge as judge
from hitl_lab.course import progress as progress_file
from hitl_lab.course._said import Said, as_text
from hitl_lab.course.lesson import Exercise, Lesson, LessonError, Ordering, Prediction, letter, load


class Panel:
    """What a check gives back: text for everybody, and buttons where there are widgets.

    said: its lines.
    """

    def __init__(self, said: list[Said], controls: Callable[[Panel], Any] | None = None) -> None:
        self.said = said
        self._controls = controls

    @property
    def open(self) -> bool:
        """Whether there is still something to do."""
        return self._controls is not None

    def __str__(self) -> str:
        return as_text(self.said)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": str(self)}
        if self._controls is not None:
            try:
                bundle.update({k: v for k, v in self._controls(self)._repr_mimebundle_().items() if k != "text/plain"})
            except Exception:  # noqa: BLE001 - no ipywidgets here: the text says how to go on by code
                pass
        return bundle


class Check:
    """The questions and exercises of one notebook.

    lesson: their data. progress: what was answered so far, in the workspace if the notebook is in one.
    """

    def __init__(self, lesson: Lesson, progress: progress_file.Progress | None = None) -> None:
        self.lesson = lesson
        self.progress = progress or progress_file.load(lesson.name)
        self._runs: dict[str, Callable[[], Any]] = {}
        self._tried: dict[str, Any] = {}

    def __repr__(self) -> str:
        parts = self.lesson
        tasks = len(parts.exercises) + len(parts.orderings)
        text = f"{parts.title}: {len(parts.predictions)} predictions, {tasks} exercise{'s' * (tasks != 1)}"
        text = f"{text}, about {parts.minutes} minutes"
        return f"{text}\n{self.progress.note}" if self.progress.note else text

    # ------------------------------------------------------------ predictions

    def predict(self, name: str, choice: str | None = None, *, run: Callable[[], Any] | None = None) -> Panel:
        """Ask a prediction, or commit to one; the run happens only after that.

        Args:
            name: of the prediction.
            choice: the letter to commit. Default: only ask. The first choice counts.
            run: makes the run and returns what is measured. Default: the one given before.

        Raises:
            LessonError: no such prediction, or no run was ever given.
        """
        question: Prediction = self.lesson.find("prediction", name)
        if run is not None:
            self._runs[name] = run
        if name not in self._runs:
            raise LessonError(f"Run the cell above that asks {name!r} first: it brings the graph to run.")
        committed = self.progress.committed(name)
        if committed is None and choice is not None:
            committed = self._letter(question, choice)
        elif committed is not None and len(question.choices) <= ord(committed) - ord("A"):
            committed = None  # kept from an older version of this lesson
        if committed is None:
            return Panel(judge.asked(question), lambda panel: _panels().prediction(panel, self, question))
        said, right = judge.compared(question, committed, self._runs[name])
        if right is not None:
            self.progress.commit(name, committed, right)
        if choice is not None and self._letter(question, choice) != committed:
            said.append(Said(f"Your first choice counts: {committed}.", "quiet"))
        return Panel(said)

    def show(self, name: str, run: Callable[[], Any] | None = None) -> Any:
        """Make the run of a prediction again and return what it gave back, once the prediction is committed.

        Raises:
            LessonError: no such prediction, or no run was ever given.
        """
        self.lesson.find("prediction", name)
        if run is not None:
            self._runs.setdefault(name, run)
        if self.progress.committed(name) is None:
            return Panel([Said(f"Not yet: commit your prediction {name!r} first, then run this cell.", "quiet")])
        if name not in self._runs:
            raise LessonError(f"Run the cell above that asks {name!r} first: it brings the graph to run.")
        return (run or self._runs[name])()

    def _letter(self, question: Prediction, choice: str) -> str:
        given = str(choice).strip().upper()
        allowed = [letter(i) for i in range(len(question.choices))]
        if given not in allowed:
            raise LessonError(f"{choice!r} is none of the choices. Choose one of {', '.join(allowed)}.")
        return given

    # ------------------------------------------------------------ exercises

    def exercise(self, name: str, yours: Any = None) -> Panel:
        """Try what the learner wrote, and tell what it did.

        Args:
            name: of the exercise.
            yours: what they wrote, mostly a function from a saver to a compiled graph.

        Raises:
            LessonError: no such exercise.
        """
        task: Exercise = self.lesson.find("exercise", name)
        attempt = judge.tried(task, yours)
        return self._result(task, attempt, f'check.exercise("{name}", ...)')

    def order(self, name: str, order: str | None = None) -> Panel:
        """Show blocks of code to put in order, or run an order.

        Args:
            name: of the ordering.
            order: the letters of the blocks, like "B A D"; what is left out is not used. Default: only show them.

        Raises:
            LessonError: no such ordering, or the letters are not its blocks.
        """
        task: Ordering = self.lesson.find("ordering", name)
        if order is None:
            said = judge.blocks(task)
            if self.progress.task(name)["solved"]:
                said.append(Said("You solved this one before.", "quiet"))
            return Panel(said, lambda panel: _panels().ordering(panel, self, task))
        attempt = judge.assembled(task, order)
        return self._result(task, attempt, f'check.order("{name}", "A B ...")')

    def _result(self, task: Exercise | Ordering, attempt: Any, again: str) -> Panel:
        said, solved = judge.judged(task, attempt, again)
        if not attempt.untouched:
            self.progress.tried(task.name, solved)
        if solved:
            return Panel(said)
        said.append(Said(self._help_line(task), "quiet"))
        return Panel(said, lambda panel: _panels().helped(panel, self, task))

    def _help_line(self, task: Exercise | Ordering) -> str:
        used = self.progress.task(task.name)["hints"]
        if used < len(task.hints):
            return f'Stuck? check.hint("{task.name}") gives a hint ({used} of {len(task.hints)} used).'
        return f'Stuck? check.solution("{task.name}") shows a solution.'

    def hint(self, name: str) -> Panel:
        """Give the next hint; each is counted, and after the last the solution is open."""
        task = self._task(name)
        used = self.progress.task(name)["hints"]
        given = min(used + 1, len(task.hints))
        if given > used:
            self.progress.hinted(name, given)
        said = [Said(f"Hint {i} of {len(task.hints)}. {text}") for i, text in enumerate(task.hints[:given], 1)]
        if given == len(task.hints):
            said.append(Said(f'That was the last one. check.solution("{name}") shows a solution.', "quiet"))
        return Panel(said)

    def solution(self, name: str) -> Panel:
        """Show a solution, after the hints or after one's own."""
        task = self._task(name)
        now = self.progress.task(name)
        if not now["solved"] and now["hints"] < len(task.hints):
            left = f"{now['hints']} of {len(task.hints)} used"
            return Panel([Said(f'The hints come first ({left}): check.hint("{name}").', "quiet")])
        if isinstance(task, Ordering):
            return Panel([Said(f"An order that works: {task.letters()}")])
        return Panel([Said("A solution:"), Said(solution_of(self.lesson.name, name), "code")])

    def _task(self, name: str) -> Exercise | Ordering:
        for kind in ("exercise", "ordering"):
            if any(part.name == name for part in getattr(self.lesson, f"{kind}s")):
                return self.lesson.find(kind, name)
        known = ", ".join(part.name for part in (*self.lesson.orderings, *self.lesson.exercises))
        raise LessonError(f"{self.lesson.name} has no exercise {name!r}. It has: {known or 'none'}.")

    # ------------------------------------------------------------ at the end

    def recap(self) -> Panel:
        """Run each fact of the notebook once more and say whether it holds, once all predictions are committed."""
        open_ = [p.name for p in self.lesson.predictions if self.progress.committed(p.name) is None]
        if open_:
            text = f"The recap opens when all predictions are committed. Still open: {', '.join(open_)}."
            return Panel([Said(text, "quiet")])
        return Panel(judge.recapped(self.lesson))


def _panels() -> Any:
    # Imported when buttons are shown, so that a machine without widgets still asks and answers.
    from hitl_lab.course import panels

    return panels


def open_lesson(name: str) -> Check:
    """Return the checks of a notebook by the beginning of its name: `check = open_lesson("02")`.

    Raises:
        LessonError: there is no such lesson.
    """
    return Check(load(name))


def solution_of(lesson: str, exercise: str) -> str:
    """Return the solution cell of an exercise, read from the solved notebook.

    Raises:
        LessonError: the solved notebook is not there.
    """
    import nbformat

    from hitl_lab.course import workspace

    file = workspace.source_folder() / "solved" / f"{lesson}.ipynb"
    if file.is_file():
        for cell in nbformat.read(file, as_version=4).cells:
            if "solution" in cell.metadata.get("tags", ()) and f'check.exercise("{exercise}"' in cell.source:
                return cell.source
    raise LessonError(f"There is no solution of {exercise!r} in {file.name}. Install hitl_lab again.")
