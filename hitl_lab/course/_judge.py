"""How answers are judged: what was asked against what the run did, as lines to say. No widgets, no progress."""

from __future__ import annotations

import linecache
import re
import textwrap
from collections.abc import Callable
from typing import Any

from hitl_lab.course._said import Said
from hitl_lab.course.attempt import Attempt, place_of
from hitl_lab.course.lesson import Exercise, Lesson, LessonError, Mistake, Ordering, Prediction, letter
from hitl_lab.course.misconceptions import MISCONCEPTIONS
from hitl_lab.values import error_text

# ---------------------------------------------------------------- predictions


def asked(question: Prediction) -> list[Said]:
    """The question and its choices, and nothing else."""
    said = [Said(question.question, "title")]
    said += [Said(f"{letter(i)}  {choice.text}", "item") for i, choice in enumerate(question.choices)]
    how = f'check.predict("{question.name}", "A")'
    return [*said, Said(f"Not committed yet. Choose and commit, or by code: {how}", "quiet")]


def compared(question: Prediction, committed: str, run: Callable[[], Any]) -> tuple[list[Said], bool | None]:
    """Make the run and hold the committed choice against it; None instead of a verdict if the run failed."""
    try:
        result = run()
        measured = question.measure(result)
        evidence = list(question.evidence(result))
    except Exception as error:  # noqa: BLE001 - the learner's graph may raise anything; they read it here
        text = f"The run raised {_raised(error)}. Mend the graph, then run this cell again."
        return [Said(question.question, "title"), Said(text, "verdict")], None
    index = ord(committed) - ord("A")
    chosen = question.choices[index]
    right = next((i for i, choice in enumerate(question.choices) if choice.value == measured), None)
    said = [Said(question.question, "title")]
    did = f"what {question.who} did"
    for i, choice in enumerate(question.choices):
        marks = [word for word, there in (("your choice", i == index), (did, i == right)) if there]
        said.append(Said(f"{letter(i)}  {choice.text}" + (f"   <- {', '.join(marks)}" if marks else ""), "item"))
    if right is None:
        text = f"None of the choices is {did}. This lesson does not hold for the installed version."
        said.append(Said(text, "verdict"))
    elif right == index:
        said.append(Said(f"Right: {letter(right)}.", "verdict"))
    else:
        said.append(Said(f"Not so. You chose {committed}, {question.who} did {letter(right)}.", "verdict"))
        if chosen.believes:
            known = MISCONCEPTIONS[chosen.believes]
            said.append(Said(f"“{known.belief}” [{known.id}]: {known.truth}"))
    if evidence:
        said += [Said("What the run did:"), *[Said(line, "item") for line in evidence]]
    if measured in question.why:
        said.append(Said(f"Why: {question.why[measured]}"))
    return said, right == index


# ---------------------------------------------------------------- exercises


def tried(task: Exercise, yours: Any) -> Attempt:
    """Run what the learner wrote."""
    return Attempt(untouched=True) if yours is None else task.perform(yours)


def blocks(task: Ordering) -> list[Said]:
    """The blocks to order, each with its letter."""
    said = [Said(task.task, "title"), Said(f"They go below `{task.head}`", "quiet")]
    for i, block in enumerate(task.shuffled()):
        said += [Said(f"Block {letter(i)}", "item"), Said(block, "code")]
    spare = " Not every block is needed." if task.extra else ""
    example = f'check.order("{task.name}", "A B C")'
    return [*said, Said(f"Put them in order.{spare} By code: {example} with your letters.", "quiet")]


def assembled(task: Ordering, order: str) -> Attempt:
    """Run the blocks in the learner's order."""
    shown = task.shuffled()
    letters = re.findall(r"[A-Za-z]", str(order).upper())
    unknown = sorted({x for x in letters if ord(x) - ord("A") >= len(shown)})
    if unknown or len(set(letters)) != len(letters):
        known = ", ".join(letter(i) for i in range(len(shown)))
        raise LessonError(f"{order!r} is no order of the blocks: use each of {known} once at most.")
    chosen = [shown[ord(x) - ord("A")] for x in letters]
    for block in chosen:
        if block in task.extra:
            which = letter(shown.index(block))
            return Attempt(problem=f"Block {which} does not belong: {task.extra[block]}")
    missing = [block for block in task.blocks if block not in chosen]
    if missing:
        return Attempt(problem=f"{len(missing)} more {'blocks are' if len(missing) > 1 else 'block is'} needed.")
    source = f"{task.head}\n{textwrap.indent(chr(10).join(chosen), '    ')}\n"
    name = "<your order>"
    # So that a message about an error can quote the line.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"__name__": "__blocks__", **task.given()}
    exec(compile(source, name, "exec"), space)  # noqa: S102 - the lesson's own blocks, in another order
    return task.perform(space[re.match(r"def (\w+)", task.head)[1]])


def judged(task: Exercise | Ordering, attempt: Attempt, again: str) -> tuple[list[Said], bool]:
    """Say what the attempt did, and whether that is what was wanted."""
    said = [Said(task.task, "title")]
    if attempt.untouched:
        said.append(Said("Not tried yet. Write it, then run this cell.", "quiet"))
        return said, False
    if attempt.problem:
        said.append(Said(f"Not yet. {attempt.problem}", "verdict"))
        return said, False
    lines = attempt.told()
    if lines:
        said += [Said("What your code did:"), *[Said(line, "item") for line in lines]]
    if attempt.error is not None:
        said.append(Said(f"It raised {_raised(attempt.error)}.", "verdict"))
        mistake = found_mistake(task, attempt)
        if mistake is not None:
            said.append(_message(mistake))
        return said, False
    missed = [goal for goal in task.goals if not _holds(goal.holds, attempt)]
    if not missed:
        said.append(Said("Passed: " + "; ".join(goal.text for goal in task.goals) + ".", "verdict"))
        return said, True
    said.append(Said("Not yet. Wanted: " + "; ".join(goal.text for goal in missed) + ".", "verdict"))
    mistake = found_mistake(task, attempt)
    if mistake is not None:
        said.append(_message(mistake))
    said.append(Said(f"Change it, then run {again} again.", "quiet"))
    return said, False


def found_mistake(task: Exercise | Ordering, attempt: Attempt) -> Mistake | None:
    """Return the first mistake of the task that the attempt made."""
    return next((mistake for mistake in task.mistakes if _holds(mistake.holds, attempt)), None)


def _raised(error: BaseException) -> str:
    place = place_of(error)
    return error_text(error) + (f" {place}" if place else "")


def _message(mistake: Mistake) -> Said:
    known = MISCONCEPTIONS.get(mistake.id)
    if known is None:
        return Said(f"[{mistake.id}] {mistake.message}")
    return Said(f"“{known.belief}” [{known.id}]: {mistake.message or known.truth}")


def _holds(test: Callable[[Attempt], bool], attempt: Attempt) -> bool:
    # A test reads the state the lesson expects; a graph with other channels must count as a miss, not as a crash.
    try:
        return bool(test(attempt))
    except (KeyError, IndexError, AttributeError, TypeError):
        return False


# ---------------------------------------------------------------- recap


def recapped(lesson: Lesson) -> list[Said]:
    """Each fact of the lesson with the verdict of its run."""
    said = [Said(f"{lesson.title}, in short. Each line was run just now.", "title")]
    for fact in lesson.recap:
        try:
            verdict = "holds" if fact.holds() else "DOES NOT HOLD here"
        except Exception as error:  # noqa: BLE001 - one fact that cannot be run does not hide the others
            verdict = f"could not be run: {type(error).__name__}"
        said.append(Said(f"{verdict}: {fact.text}", "item"))
    return said
