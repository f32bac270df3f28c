"""One source, two notebooks: the learner's and the solved one.

The source is a py:percent file, `notebooks/src/NN_name.py`, written as the solved notebook. In it

| | learner's | solved |
|---|---|---|
| a cell tagged `solution` | left out | kept |
| a cell tagged `stub` | kept | left out |
| `check.predict("name", "B", ...)`, `check.order("name", "B A")` | without the answer | as it is |
| a markdown cell tagged `explain` | folded, to be opened after the prediction | open |

Both get the metadata of a slide show: a heading begins a slide, an explanation comes when asked for.
"""

from __future__ import annotations

import copy
import re
from typing import Any

LEARNER, SOLVED = "learner", "solved"
_ANSWER = re.compile(r'(check\.(?:predict|order)\(\s*"[^"\n]+"),\s*"[^"\n]*"')


def variant(notebook: Any, which: str) -> Any:
    """Return the learner's or the solved notebook of a source notebook, which is left as it was.

    Args:
        notebook: an nbformat notebook without outputs.
        which: "learner" or "solved".
    """
    out = copy.deepcopy(notebook)
    other = "solution" if which == LEARNER else "stub"
    out.cells = [cell for cell in out.cells if other not in _tags(cell)]
    for cell in out.cells:
        explains = "explain" in _tags(cell)
        if which == LEARNER:
            if cell.cell_type == "code":
                cell.source = _ANSWER.sub(r"\1", cell.source)
            elif explains:
                cell.source = _folded(cell.source)
        elif cell.cell_type == "markdown":
            cell.source = cell.source.replace("](assets/", "](../assets/")  # it lies one folder deeper
        heading = cell.cell_type == "markdown" and cell.source.startswith("#")
        cell.metadata["slideshow"] = {"slide_type": "slide" if heading else "fragment" if explains else "-"}
    return out


def _tags(cell: Any) -> list[str]:
    return cell.metadata.get("tags", [])


def _folded(source: str) -> str:
    return f"<details><summary>Open this after your prediction</summary>\n\n{source}\n\n</details>"
