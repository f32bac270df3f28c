"""What a learner has predicted, solved and asked hints for: one small file a notebook, in their workspace.

Nothing of it leaves the machine, and it holds no times: only what was chosen and how many hints were taken.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hitl_lab.course import workspace

FOLDER = ".progress"
_FORMAT = 1


@dataclass
class Progress:
    """One notebook's progress.

    lesson: its name, like "02_the_broken_node". file: where it is kept, None for this kernel's memory only.
    predictions: name to {"choice": "B", "right": bool}. tasks: exercise or ordering to {"solved": bool, "tries": n,
    "hints": n}. note: what went wrong with the file, as a sentence, else "".
    """

    lesson: str
    file: Path | None = None
    predictions: dict[str, dict[str, Any]] = field(default_factory=dict)
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)
    note: str = ""

    def committed(self, name: str) -> str | None:
        """Return the letter that was committed, None before."""
        found = self.predictions.get(name)
        return found["choice"] if found else None

    def commit(self, name: str, choice: str, right: bool) -> None:
        """Keep the first choice of a prediction; a later one does not replace it."""
        if name not in self.predictions:
            self.predictions[name] = {"choice": choice, "right": right}
            self._save()

    def task(self, name: str) -> dict[str, Any]:
        """Return how far an exercise is: {"solved", "tries", "hints"}."""
        return self.tasks.get(name, {"solved": False, "tries": 0, "hints": 0})

    def tried(self, name: str, solved: bool) -> None:
        """Count a try; what was solved once stays solved."""
        now = self.task(name)
        self.tasks[name] = {**now, "tries": now["tries"] + 1, "solved": now["solved"] or solved}
        self._save()

    def hinted(self, name: str, hints: int) -> None:
        """Remember that the first `hints` hints were taken."""
        now = self.task(name)
        self.tasks[name] = {**now, "hints": max(now["hints"], hints)}
        self._save()

    def _save(self) -> None:
        if self.file is None:
            return
        data = {"format": _FORMAT, "predictions": self.predictions, "tasks": self.tasks}
        try:
            _write(self.file, json.dumps(data, indent=1, sort_keys=True) + "\n")
        except OSError as error:
            # A lesson goes on without its progress file; the learner reads why it was not kept.
            self.note = f"Your progress could not be kept in {self.file.name}: {error.strerror or error}."
            self.file = None


def load(lesson: str, folder: Path | None = None) -> Progress:
    """Return the progress of one notebook.

    A file that cannot be read is put aside, never overwritten, and the progress says so in `note`.

    Args:
        lesson: the notebook's name.
        folder: the workspace. Default: the one in use; outside of a workspace progress lasts as long as the kernel.
    """
    if folder is None:
        try:
            folder = workspace.find()
        except workspace.WorkspaceError:
            return Progress(lesson)
    file = folder / FOLDER / f"{lesson}.json"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        _check(data)
    except FileNotFoundError:
        return Progress(lesson, file)
    except OSError as error:
        return Progress(lesson, None, note=f"{file.name} cannot be read: {error.strerror or error}.")
    except (ValueError, KeyError, TypeError, AttributeError):
        aside = _put_aside(file)
        return Progress(lesson, file, note=f"{file.name} could not be read; it is now {aside}.")
    return Progress(lesson, file, data["predictions"], data["tasks"])


def forget(lesson: str, folder: Path) -> bool:
    """Delete the progress of one notebook; return whether there was any."""
    file = folder / FOLDER / f"{lesson}.json"
    there = file.exists()
    file.unlink(missing_ok=True)
    return there


def _check(data: dict[str, Any]) -> None:
    if data["format"] != _FORMAT:
        raise ValueError(data["format"])
    for entry in data["predictions"].values():
        if not isinstance(entry["choice"], str) or not isinstance(entry["right"], bool):
            raise TypeError
    for entry in data["tasks"].values():
        if not isinstance(entry["solved"], bool) or not all(isinstance(entry[k], int) for k in ("tries", "hints")):
            raise TypeError


def _put_aside(file: Path) -> str:
    aside, number = file.with_suffix(".unreadable.json"), 1
    while aside.exists():
        number += 1
        aside = file.with_suffix(f".unreadable-{number}.json")
    file.rename(aside)
    return aside.name


def _write(target: Path, text: str) -> None:
    # Through a temporary file: a full disk or a killed kernel leaves the old file whole.
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def table(folder: Path) -> str:
    """Return the progress of all lessons as text, one line a notebook."""
    from hitl_lab.course.lesson import load as load_lesson
    from hitl_lab.course.lesson import names

    rows = [("notebook", "predicted", "right", "solved", "hints")]
    notes = []
    for name in names():
        lesson, now = load_lesson(name), load(name, folder)
        predicted = [now.predictions[p.name] for p in lesson.predictions if p.name in now.predictions]
        tasks = [now.task(t.name) for t in (*lesson.orderings, *lesson.exercises)]
        rows.append(
            (
                name,
                f"{len(predicted)} of {len(lesson.predictions)}",
                str(sum(p["right"] for p in predicted)),
                f"{sum(t['solved'] for t in tasks)} of {len(tasks)}",
                str(sum(t["hints"] for t in tasks)),
            )
        )
        if now.note:
            notes.append(now.note)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines + notes)
