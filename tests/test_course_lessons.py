"""Every lesson: its right answers, its wrong answers, its facts, on the installed LangGraph."""

import ast
import asyncio
import re
import types
from pathlib import Path

import jupytext
import pytest

from hitl_lab.course import lesson as lessons
from hitl_lab.course.check import Check
from hitl_lab.course.lesson import LessonError, letter
from hitl_lab.course.misconceptions import MISCONCEPTIONS
from hitl_lab.course.progress import Progress
from hitl_lab.course.variants import SOLVED, variant

ROOT = Path(__file__).resolve().parent.parent


def source_of(name):
    return ROOT / "notebooks" / "src" / f"{name}.py"


class Kernel:
    """The cells of one solved notebook, run one by one in one process as a kernel would."""

    def __init__(self, name):
        notebook = variant(jupytext.read(source_of(name)), SOLVED)
        self.cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        self.space = {"__name__": "__lesson__", "display": lambda *shown: None}
        self.loop = asyncio.Runner()

    def run(self, number):
        # A cell may hold a top-level await.
        code = compile(self.cells[number], f"<cell {number}>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = types.FunctionType(code, self.space)()
        if asyncio.iscoroutine(result):
            self.loop.run(result)


@pytest.fixture(scope="session")
def kernels():
    """Lesson name to a Kernel that has run all cells once."""
    found = {}

    def run(name):
        if name not in found:
            found[name] = Kernel(name)
            for number in range(len(found[name].cells)):
                found[name].run(number)
        return found[name]

    return run


@pytest.fixture(scope="session")
def ran(kernels):
    """Lesson name to the Check of its notebook."""
    return lambda name: kernels(name).space["check"]


def together(name, *values, id):
    """A parameter whose lesson is run: by one worker only, and not in `make check`."""
    return pytest.param(*values, id=id, marks=[pytest.mark.slow, pytest.mark.xdist_group(name)])


NAMES = [name for name in lessons.names() if source_of(name).exists()]
EACH = [together(name, name, id=name) for name in NAMES]
QUESTIONS = [together(n, n, p.name, id=f"{n}-{p.name}") for n in NAMES for p in lessons.load(n).predictions]


@pytest.mark.parametrize(("name", "question"), QUESTIONS)
def test_each_choice_of_each_prediction(ran, name, question):
    asked = ran(name)
    prediction = asked.lesson.find("prediction", question)
    result = asked._runs[question]()
    verdicts = []
    for i, choice in enumerate(prediction.choices):
        fresh = Check(asked.lesson, Progress(name))
        text = re.sub(r"\s+", " ", str(fresh.predict(question, letter(i), run=lambda: result)))
        right = fresh.progress.predictions[question]["right"]
        verdicts.append(right)
        if not right and choice.believes:
            assert f"[{choice.believes}]: {MISCONCEPTIONS[choice.believes].truth}" in text
        if right:
            assert not choice.believes, "the right choice cannot be a misconception"
            assert "Why: " in text
    assert verdicts.count(True) == 1


def parts(kind):
    return [together(n, lessons.load(n), p, id=f"{n}-{p.name}") for n in NAMES for p in getattr(lessons.load(n), kind)]


def namespace(source):
    space = {"__name__": "__wrong__"}
    exec(compile(source, "<wrong>", "exec"), space)  # noqa: S102 - the lesson's own wrong answer
    return space


@pytest.mark.parametrize(("lesson", "exercise"), parts("exercises"))
def test_each_wrong_answer_of_an_exercise_gets_its_own_message(lesson, exercise):
    assert exercise.hints
    for mistake in exercise.mistakes:
        check = Check(lesson, Progress(lesson.name))
        space = namespace(mistake.wrong)
        yours = next(space[name] for name in ("build", "go_on", "dropped") if name in space)
        text = str(check.exercise(exercise.name, yours))
        assert "Passed" not in text, mistake.id
        assert f"[{mistake.id}]" in text, text


@pytest.mark.parametrize(("lesson", "exercise"), parts("exercises"))
def test_each_solution_passes(ran, lesson, exercise):
    assert ran(lesson.name).progress.task(exercise.name)["solved"]


@pytest.mark.parametrize(("lesson", "ordering"), parts("orderings"))
def test_an_ordering_is_solved_by_its_order_alone(lesson, ordering):
    check = Check(lesson, Progress(lesson.name))
    shown = " ".join(letter(i) for i in range(len(ordering.shuffled())))
    for wrong in (shown, " ".join(reversed(shown.split())), ordering.letters().split()[0]):
        assert "Passed" not in str(check.order(ordering.name, wrong))
    for mistake in ordering.mistakes:
        assert f"[{mistake.id}]" in str(check.order(ordering.name, mistake.wrong))
    assert "Passed" in str(check.order(ordering.name, ordering.letters()))
    with pytest.raises(LessonError, match="is no order of the blocks"):
        check.order(ordering.name, "A A")
    with pytest.raises(LessonError, match="is no order of the blocks"):
        check.order(ordering.name, "A Z")


@pytest.mark.parametrize("name", EACH)
def test_each_fact_holds(name):
    from hitl_lab.course._judge import recapped

    said = recapped(lessons.load(name))
    assert [one.text for one in said[1:] if not one.text.startswith("holds: ")] == []
    assert len(said) > 3


@pytest.mark.parametrize("name", EACH)
def test_every_prediction_of_the_lesson_is_asked(ran, name):
    check = ran(name)
    assert {p.name for p in check.lesson.predictions} == set(check._runs)
    assert all(entry["right"] for entry in check.progress.predictions.values())


def met():
    """Misconceptions that some question or exercise meets."""
    found = set()
    for name in NAMES:
        lesson = lessons.load(name)
        found |= {choice.believes for p in lesson.predictions for choice in p.choices}
        found |= {mistake.id for task in (*lesson.exercises, *lesson.orderings) for mistake in task.mistakes}
    return found


def test_every_misconception_is_met_by_a_question():
    assert set(MISCONCEPTIONS) - met() == set()


def test_every_belief_of_a_choice_is_known():
    choices = [choice for name in NAMES for p in lessons.load(name).predictions for choice in p.choices]
    assert {choice.believes for choice in choices} - {""} <= set(MISCONCEPTIONS)


@pytest.mark.parametrize("name", EACH)
def test_any_cell_again_in_any_order(kernels, name):
    """Nothing carries over: backwards, and then once more from the top."""
    kernel = kernels(name)
    before = dict(kernel.space["check"].progress.predictions)
    numbers = range(len(kernel.cells))
    for number in [*reversed(numbers), *numbers]:
        if "open_lesson(" not in kernel.cells[number]:  # that one starts the lesson anew
            kernel.run(number)
    assert kernel.space["check"].progress.predictions == before


@pytest.mark.parametrize(("lesson", "ordering"), parts("orderings"))
def test_each_ordering_is_solved_in_the_solved_notebook(ran, lesson, ordering):
    assert ran(lesson.name).progress.task(ordering.name)["solved"]
