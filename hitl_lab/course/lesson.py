"""What a lesson is made of: questions, exercises and facts as data, each with the program that computes its answer.

A lesson lives in `hitl_lab/course/lessons/lNN_name.py` as `LESSON`. The notebook holds the prose and the graphs, the
lesson what must not be read before its time: right choices, explanations, hints. Right answers are never written
down: a prediction measures what the graph did, an exercise looks at the trace of the learner's graph.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hitl_lab.errors import HitlLabError

if TYPE_CHECKING:
    from hitl_lab.course.attempt import Attempt

HINTS = 3


class LessonError(HitlLabError):
    """There is no such lesson, or none of its questions has that name."""


@dataclass(frozen=True)
class Choice:
    """One possible answer.

    text: as the learner reads it. value: what the run must have measured for it to be right.
    believes: the misconception that leads to it, by its id, else "".
    """

    text: str
    value: Any
    believes: str = ""


@dataclass(frozen=True)
class Prediction:
    """A question about a run that has not happened yet.

    measure: takes what the run gave back (mostly a Trace) and returns the value of the right choice.
    who: whose doing the right choice is; not "LangGraph" where the lesson changes LangGraph.
    why: measured value to its explanation. evidence: takes what the run gave back, returns lines of what happened.
    """

    name: str
    question: str
    choices: tuple[Choice, ...]
    measure: Callable[[Any], Any]
    why: Mapping[Any, str]
    evidence: Callable[[Any], Sequence[str]] = lambda result: ()  # noqa: ARG005
    who: str = "LangGraph"


@dataclass(frozen=True)
class Goal:
    """Something the learner's graph must do, checked on its attempt. text: as a wish, "the payload is applied"."""

    text: str
    holds: Callable[[Attempt], bool]


@dataclass(frozen=True)
class Mistake:
    """A way to miss the goal that has its own answer.

    id: a misconception, or a name of its own. holds: whether an attempt made it. wrong: a wrong answer that makes it;
    the tests run it. message: what to tell; default the misconception's.
    """

    id: str
    holds: Callable[[Attempt], bool]
    wrong: str
    message: str = ""


@dataclass(frozen=True)
class Exercise:
    """Something to write. What it is judged by is what it did when it ran.

    task: what to write, in a sentence or two. perform: runs what the learner gave and returns the Attempt.
    hints: at most three, the last nearly the solution.
    """

    name: str
    task: str
    perform: Callable[[Any], Attempt]
    goals: tuple[Goal, ...]
    mistakes: tuple[Mistake, ...] = ()
    hints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.hints) > HINTS:
            raise LessonError(f"exercise {self.name!r} has {len(self.hints)} hints; {HINTS} are the most")


@dataclass(frozen=True)
class Ordering:
    """Blocks of code to put in order (a Parsons problem). Judged by running them, so every order that works is right.

    head: the line above the blocks, "def build(saver):"; they are its body, and the function goes to `perform`.
    given: makes the names the blocks may use. blocks: in an order that works. extra: blocks that do not belong, code to
    the reason.
    """

    name: str
    task: str
    head: str
    given: Callable[[], dict[str, Any]]
    blocks: tuple[str, ...]
    perform: Callable[[Any], Attempt]
    goals: tuple[Goal, ...]
    extra: Mapping[str, str] = field(default_factory=dict)
    mistakes: tuple[Mistake, ...] = ()
    hints: tuple[str, ...] = ()

    def shuffled(self) -> tuple[str, ...]:
        """Return all blocks in the order they are shown in: always the same, and never one that works by itself."""
        return tuple(sorted((*self.blocks, *self.extra), key=lambda block: (hash_of(self.name + block), block)))

    def letters(self) -> str:
        """Return the letters of `blocks`, in their working order."""
        shown = self.shuffled()
        return " ".join(letter(shown.index(block)) for block in self.blocks)


@dataclass(frozen=True)
class Fact:
    """One line of the recap, and the run that shows it still holds."""

    text: str
    holds: Callable[[], bool]


@dataclass(frozen=True)
class Lesson:
    """All of one notebook that is data. name: the notebook's, "02_the_broken_node". goals: what one can do after it."""

    name: str
    title: str
    goals: tuple[str, ...] = ()
    minutes: int = 15
    predictions: tuple[Prediction, ...] = ()
    orderings: tuple[Ordering, ...] = ()
    exercises: tuple[Exercise, ...] = ()
    recap: tuple[Fact, ...] = ()

    def find(self, kind: str, name: str) -> Any:
        """Return the prediction, ordering or exercise of that name. Raises LessonError, which names those there are."""
        found = {part.name: part for part in getattr(self, f"{kind}s")}
        if name not in found:
            raise LessonError(f"{self.name} has no {kind} {name!r}. It has: {', '.join(found) or 'none'}.")
        return found[name]


def letter(index: int) -> str:
    """Return "A" for 0, "B" for 1 and so on."""
    return chr(ord("A") + index)


def hash_of(text: str) -> int:
    """Return a number that depends on the text alone, in every process."""
    import zlib

    return zlib.crc32(text.encode())


def names() -> tuple[str, ...]:
    """The names of all lessons, in order."""
    from hitl_lab.course import lessons

    return tuple(sorted(m.name[1:] for m in pkgutil.iter_modules(lessons.__path__) if m.name[:1] == "l"))


def load(name: str) -> Lesson:
    """Return the lesson whose name begins so: "02" is enough.

    Raises:
        LessonError: none or several begin so.
    """
    found = [known for known in names() if name and known.startswith(name)]
    if len(found) != 1:
        problem = "Several lessons begin with" if found else "There is no lesson"
        raise LessonError(f"{problem} {name!r}. Choose from: {', '.join(found or names())}.")
    return importlib.import_module(f"hitl_lab.course.lessons.l{found[0]}").LESSON
