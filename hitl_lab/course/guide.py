"""The generated part of the instructor's guide: per notebook its goals, questions and usual wrong answers.

    python -m hitl_lab.course.guide            # rewrite that part of docs/instructor.md
    python -m hitl_lab.course.guide --check    # exit code 1 if it is stale
"""

from __future__ import annotations

import sys
from pathlib import Path

from hitl_lab.course import lesson as lessons
from hitl_lab.course.lesson import Exercise, Lesson, Ordering
from hitl_lab.course.misconceptions import MISCONCEPTIONS

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "instructor.md"
BEGIN, END = "<!-- made by hitl_lab.course.guide: begin -->", "<!-- made by hitl_lab.course.guide: end -->"


def generated() -> str:
    """Return the generated part, without its markers."""
    return "\n".join(line for name in lessons.names() for line in _lesson(lessons.load(name)))


def whole(text: str) -> str:
    """Return the guide `text` with its generated part made anew."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n\n{generated()}\n{END}{rest.split(END)[1]}"


def _lesson(lesson: Lesson) -> list[str]:
    out = [f"### {lesson.name[:2]} {lesson.title} ({lesson.minutes} minutes)", ""]
    out += [f"After it one can {goal}." for goal in lesson.goals[:1]]
    out += [f"And {goal}." for goal in lesson.goals[1:]]
    out.append("")
    for question in lesson.predictions:
        out += [f"**Ask ({question.name}):** {question.question}", ""]
        wrong: dict[str, list[str]] = {}
        for choice in question.choices:
            if choice.believes:
                wrong.setdefault(choice.believes, []).append(f"“{choice.text}”")
        for believes, texts in wrong.items():
            known = MISCONCEPTIONS[believes]
            answers = " or ".join(texts)
            out.append(f"- Usual wrong answer: {answers} It comes from: *{known.belief}*. Say: {known.truth}")
        out += [""] if wrong else []
    for task in (*lesson.orderings, *lesson.exercises):
        out += [f"**{_kind(task)} ({task.name}):** {task.task}", ""]
        for mistake in task.mistakes:
            known = MISCONCEPTIONS.get(mistake.id)
            named = f"*{known.belief}*" if known else f"`{mistake.id}`"
            out.append(f"- Usual mistake: {named}. Say: {mistake.message or known.truth}")
        out += [""] if task.mistakes else []
    return out


def _kind(task: Exercise | Ordering) -> str:
    return "Write" if isinstance(task, Exercise) else "Order"


def main(arguments: list[str]) -> int:
    """Rewrite the guide, or check it."""
    now = GUIDE.read_text(encoding="utf-8")
    made = whole(now)
    if "--check" in arguments:
        if now != made:
            print("docs/instructor.md is stale: python -m hitl_lab.course.guide", file=sys.stderr)
        return int(now != made)
    GUIDE.write_text(made, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
