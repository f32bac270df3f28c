"""The checks of the course: every wrong answer gets its own message, nothing is shown too early, all by code alone."""

import json

import pytest

from hitl_lab.course import lesson as lessons
from hitl_lab.course import progress as progress_file
from hitl_lab.course.attempt import Attempt, perform
from hitl_lab.course.check import Check
from hitl_lab.course.lesson import Choice, Exercise, Goal, Lesson, LessonError, Mistake, Ordering, Prediction
from hitl_lab.course.misconceptions import MISCONCEPTIONS
from hitl_lab.course.progress import Progress
from hitl_lab.scenarios._scenario import Invoke, Resume

QUESTION = Prediction(
    name="sum",
    question="What is one and one?",
    choices=(Choice("Three", 3, "returned_is_saved"), Choice("Two", 2)),
    measure=lambda result: result,
    why={2: "It was counted."},
    evidence=lambda result: [f"counted {result}"],
)
EXERCISE = Exercise(
    name="asks",
    task="Build a graph that asks.",
    perform=lambda build: perform(build, (Invoke({"log": []}), Resume("yes"))),
    goals=(Goal("it pauses", lambda a: a.paused[0]),),
    mistakes=(Mistake("silent", lambda a: not a.paused[0], "", "Nobody was asked."),),
    hints=("one", "two", "three"),
)
LESSON = Lesson("99_sample", "A sample", predictions=(QUESTION,), exercises=(EXERCISE,))
WORD = "It was counted"


def said(panel):
    """The panel's text on one line: where it wraps is no matter."""
    return " ".join(str(panel).split())


def sample(progress=None):
    return Check(LESSON, progress or Progress("99_sample"))


# ---------------------------------------------------------------- predictions


def test_nothing_is_revealed_before_the_commit():
    ran = []
    check = sample()
    text = said(check.predict("sum", run=lambda: ran.append(1) or 2))
    assert "A Three" in text
    assert "B Two" in text
    assert WORD not in text
    assert "LangGraph did" not in text
    assert not ran
    assert "Not yet" in said(check.show("sum"))
    assert "Still open: sum" in said(check.recap())
    assert not ran


def test_a_right_choice():
    text = said(sample().predict("sum", "b", run=lambda: 2))
    assert "Right: B." in text
    assert "counted 2" in text
    assert WORD in text


def test_a_wrong_choice_gets_the_message_of_its_misconception():
    text = said(sample().predict("sum", "A", run=lambda: 2))
    assert "Not so. You chose A, LangGraph did B." in text
    assert f"[{MISCONCEPTIONS['returned_is_saved'].id}]" in text


def test_the_right_choice_is_measured_not_written_down():
    assert "Right: A." in said(sample().predict("sum", "A", run=lambda: 3))
    text = said(sample().predict("sum", "A", run=lambda: 99))
    assert "does not hold for the installed version" in text
    assert WORD not in text


def test_the_first_choice_counts():
    check = sample()
    check.predict("sum", "A", run=lambda: 2)
    text = said(check.predict("sum", "B"))
    assert "Not so. You chose A" in text
    assert "Your first choice counts: A." in text
    assert check.progress.predictions["sum"] == {"choice": "A", "right": False}


def test_a_run_that_raises_is_told_and_does_not_use_up_the_prediction():
    def run():
        raise ValueError("oh")

    check = sample()
    text = said(check.predict("sum", "A", run=run))
    assert "The run raised ValueError: oh" in text
    assert check.progress.committed("sum") is None
    assert "Right: B." in said(check.predict("sum", "B", run=lambda: 2))


def test_show_runs_afresh_after_the_commit():
    results = iter((2, 7))
    check = sample()
    check.predict("sum", "B", run=lambda: next(results))
    assert check.show("sum") == 7


@pytest.mark.parametrize("choice", ["C", "", "AB", "two"])
def test_no_such_choice(choice):
    with pytest.raises(LessonError, match="Choose one of A, B"):
        sample().predict("sum", choice, run=lambda: 2)


def test_no_such_name():
    with pytest.raises(LessonError, match=r"no prediction 'product'\. It has: sum"):
        sample().predict("product")
    with pytest.raises(LessonError, match=r"no exercise 'x'\. It has: asks"):
        sample().hint("x")
    with pytest.raises(LessonError, match="There is no lesson '77'"):
        lessons.load("77")


def test_no_run_yet():
    with pytest.raises(LessonError, match="Run the cell above"):
        sample().predict("sum", "A")


# ---------------------------------------------------------------- exercises


def asks(saver, ask=True):
    import operator
    from typing import Annotated, TypedDict

    from langgraph.graph import END, START, StateGraph
    from langgraph.types import interrupt

    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    graph = StateGraph(State)
    graph.add_node("ask", lambda state: {"log": [interrupt("Sure?") if ask else "done"]})
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def test_an_exercise_tells_what_the_graph_did():
    text = said(sample().exercise("asks", lambda saver: asks(saver, ask=False)))
    assert 'ask wrote log = ["done"]: applied' in text
    assert "Not yet. Wanted: it pauses." in text
    assert "[silent] Nobody was asked." in text


def test_a_solved_exercise():
    check = sample()
    assert "Passed: it pauses." in said(check.exercise("asks", asks))
    assert check.progress.task("asks") == {"solved": True, "tries": 1, "hints": 0}


def test_an_untouched_exercise_is_no_failure_and_no_try():
    def stub(saver):
        raise NotImplementedError

    check = sample()
    for nothing in (None, stub, lambda saver: None, lambda saver: ...):
        assert "Not tried yet" in said(check.exercise("asks", nothing))
    assert check.progress.task("asks")["tries"] == 0


def boom(saver):
    raise KeyError("x")


NOT_A_GRAPH = {
    "the graph itself": (3, "Give the function itself"),
    "a builder": (lambda saver: asks(saver).builder, "Compile it: graph.compile"),
    "no graph": (lambda saver: "graph", "gave back a str"),
    "no saver": (lambda saver: asks(None), "does not use the saver"),
    "it raises": (boom, "It raised KeyError: 'x'"),
}


@pytest.mark.parametrize(("yours", "message"), NOT_A_GRAPH.values(), ids=NOT_A_GRAPH.keys())
def test_what_is_no_graph(yours, message):
    assert message in said(sample().exercise("asks", yours))


def test_hints_are_counted_and_the_solution_comes_after_them(monkeypatch):
    from hitl_lab.course import check as module

    monkeypatch.setattr(module, "solution_of", lambda lesson, name: "THE SOLUTION")
    check = sample()
    for i in range(3):
        assert "The hints come first" in said(check.solution("asks"))
        text = said(check.hint("asks"))
        assert f"Hint {i + 1} of 3" in text
        assert f"Hint {i + 2} of 3" not in text
    assert "That was the last one" in said(check.hint("asks"))
    assert "THE SOLUTION" in said(check.solution("asks"))
    assert check.progress.task("asks")["hints"] == 3


def test_more_than_three_hints_are_refused():
    with pytest.raises(LessonError, match="3 are the most"):
        Exercise("x", "", lambda yours: Attempt(), (), hints=("a", "b", "c", "d"))


# ---------------------------------------------------------------- progress


def test_progress_is_kept_in_the_workspace(tmp_path):
    first = sample(progress_file.load("99_sample", tmp_path))
    first.predict("sum", "A", run=lambda: 2)
    first.hint("asks")
    again = sample(progress_file.load("99_sample", tmp_path))
    assert "You chose A" in said(again.predict("sum", run=lambda: 2))
    assert again.progress.task("asks")["hints"] == 1
    assert progress_file.forget("99_sample", tmp_path)
    assert "Not committed yet" in said(sample(progress_file.load("99_sample", tmp_path)).predict("sum", run=lambda: 2))


BROKEN = ["", "{", "[]", '{"format": 99}', '{"format": 1, "predictions": {"a": 1}, "tasks": {}}']


@pytest.mark.parametrize("content", BROKEN)
def test_an_unreadable_progress_file_is_put_aside(tmp_path, content):
    file = tmp_path / progress_file.FOLDER / "99_sample.json"
    file.parent.mkdir()
    file.write_text(content)
    check = sample(progress_file.load("99_sample", tmp_path))
    assert "could not be read" in repr(check)
    check.predict("sum", "B", run=lambda: 2)
    assert json.loads(file.read_text())["predictions"]["sum"]["right"]
    assert (file.parent / "99_sample.unreadable.json").read_text() == content


def test_progress_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / progress_file.FOLDER).write_text("a file where the folder should be")
    check = Check(LESSON, Progress("99_sample", tmp_path / progress_file.FOLDER / "99_sample.json"))
    assert "Right: B" in said(check.predict("sum", "B", run=lambda: 2))
    assert "could not be kept" in repr(check)


def test_a_committed_letter_that_the_lesson_no_longer_has(tmp_path):
    check = sample(Progress("99_sample", predictions={"sum": {"choice": "F", "right": False}}))
    assert "Not committed yet" in said(check.predict("sum", run=lambda: 2))


def test_the_table(tmp_path):
    from hitl_lab.course.check import open_lesson  # noqa: F401 - lessons import LangGraph

    lesson = lessons.load("02")
    progress = progress_file.load(lesson.name, tmp_path)
    progress.commit("saved", "A", False)
    progress.commit("returned", "C", True)
    progress.hinted("no_drop", 2)
    progress.tried("no_drop", True)
    line = next(x for x in progress_file.table(tmp_path).splitlines() if x.startswith("02_"))
    assert line.split() == ["02_the_broken_node", "2", "of", "6", "1", "1", "of", "2", "2"]


# ---------------------------------------------------------------- orderings


def test_ordering_needs_given_names():
    task = Ordering(
        name="o",
        task="",
        head="def build(saver):",
        given=dict,
        blocks=("graph = 1", "return graph"),
        perform=lambda build: Attempt(problem=str(build(None))),
        goals=(),
    )
    check = Check(Lesson("99_sample", "A sample", orderings=(task,)), Progress("99_sample"))
    assert "Not yet. 1" in said(check.order("o", task.letters()))
    assert "1 more block is needed" in said(check.order("o", task.letters()[0]))
