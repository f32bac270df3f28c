"""The crash table as a widget: a button a cell, which opens the cell's trace below; and as one HTML file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import ipywidgets as widgets

from hitl_lab.crashes import in_words
from hitl_lab.sentences import plural
from hitl_lab.views.stepper import Stepper
from hitl_lab.views.tables import Table, table_document

if TYPE_CHECKING:
    from hitl_lab.crashes import Cell, Crash, CrashTable

_COLUMNS = ("killed", "saver", "durability", "writes kept", "question stored", "the resume ran", "seen in")


def summary(table: CrashTable) -> Table:
    """Return the table with one row an outcome, to sort and to filter; its text twin is the whole table."""
    rows = []
    for (at, durability, saver), cell in table.cells.items():
        for found, seen in _outcomes(cell):
            tone = "wait" if cell.racing else "keep" if _all_kept(found) else "drop"
            times = f"{seen} of {len(cell.tries)}" if cell.racing else "every try"
            kept, asked, ran = found.kept, "yes" if found.question else "no", found.resume
            if not found.reached:
                kept = asked = ran = "not reached"
            rows.append([[in_words(at)], [saver], [durability], [kept, tone], [asked], [ran], [times]])
    document = table_document("What survives a crash", _COLUMNS, rows, ("killed", "saver", "durability"), "No cells.")
    return Table(document, str(table))


def _outcomes(cell: Cell) -> list[tuple[Crash, int]]:
    """Return the first try of each outcome, and how often the outcome was seen."""
    counts = cell.counts()
    return [(next(t for t in cell.tries if t.summary == text), count) for text, count in counts.items()]


def _all_kept(found: Crash) -> bool:
    return found.reached and all(survivor.place in ("checkpoint", "pending") for survivor in found.survivors)


def buttons(table: CrashTable) -> widgets.VBox:
    """Return the widget: rows of points, columns of durability modes; a click opens the traces of the cell."""
    below = widgets.VBox([widgets.HTML("Choose a cell to see its trace: the run up to the kill, then the resume.")])
    each: list[widgets.Button] = []
    grid: list[widgets.Widget] = [widgets.HTML("<b>killed</b>")]
    grid += [widgets.HTML(f"<b>{durability}</b>") for durability in table.durabilities]
    for at, saver, cells in table.rows():
        grid.append(widgets.HTML(f"{in_words(at)} <i>({saver})</i>"))
        for cell in cells:
            button = widgets.Button(
                description=_short(cell),
                tooltip="\n".join(cell.lines()),
                layout=widgets.Layout(width="100%"),
            )
            button.on_click(partial(_open, below, cell, each))
            each.append(button)
            grid.append(button)
    columns = f"minmax(14em, 2fr) repeat({len(table.durabilities)}, minmax(9em, 1fr))"
    layout = widgets.Layout(grid_template_columns=columns, grid_gap="2px 8px")
    return widgets.VBox([widgets.GridBox(grid, layout=layout), below])


def _short(cell: Cell) -> str:
    first = cell.tries[0]
    if cell.racing:
        return f"races: {plural(len(cell.counts()), 'outcome')} in {plural(len(cell.tries), 'try', 'tries')}"
    if not first.reached:
        return "not reached"
    return f"{first.kept} kept, {'question' if first.question else 'no question'}"


def _open(below: widgets.VBox, cell: Cell, each: list[widgets.Button], chosen: widgets.Button) -> None:
    for button in each:
        button.button_style = "primary" if button is chosen else ""
    shown: list[widgets.Widget] = []
    for found, seen in _outcomes(cell):
        title = f"{in_words(found.at)}, {found.durability}, {found.saver}: {found.summary}"
        label = f"{title} ({seen} of {plural(len(cell.tries), 'try', 'tries')})" if cell.racing else title
        shown.append(Stepper(found.trace, title=label))
    for old in below.children:
        old.close()
    below.children = shown
