"""Build the notebooks, with their outputs, from the readable sources notebooks/src/*.py (jupytext, py:percent).

Each source gives two: notebooks/NAME.ipynb for the learner and notebooks/solved/NAME.ipynb (see
`hitl_lab.course.variants`).

    python scripts/build_notebooks.py            # all of them
    python scripts/build_notebooks.py 02 05      # those whose name begins so
    python scripts/build_notebooks.py --check    # build beside, compare, exit code 1 if a committed one is stale

The same source on the same versions gives the same bytes: no timings, no random cell ids, no widget state, no
interpreter version.
"""

import argparse
import hashlib
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

from hitl_lab.course.jupyter import environment
from hitl_lab.course.variants import LEARNER, SOLVED, variant

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
SOURCES = NOTEBOOKS / "src"


def build(source: Path, which: str) -> str:
    """Run one variant of a source; the text of its notebook. Raises CellExecutionError if a cell raises."""
    notebook = variant(jupytext.read(source), which)
    notebook.metadata = nbformat.from_dict(
        {
            # Without a kernelspec JupyterLab opens a dialog instead of the notebook.
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    before = notebook.metadata.copy()
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=120,
            kernel_name="python3",
            # Away from the checkout: a file a cell writes is not left in the repository.
            resources={"metadata": {"path": folder}},
            record_timing=False,
            store_widget_state=False,
            coalesce_streams=True,
        ).execute()
    notebook.metadata = before
    _drop_dead_views(notebook)
    _name_cells(notebook)
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def _drop_dead_views(notebook) -> None:
    # A stored widget has no kernel behind it and shows as an error: what is stored is its text.
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            for view in [mime for mime in output.get("data", ()) if "widget" in mime]:
                del output.data[view]


def _name_cells(notebook) -> None:
    # jupytext's ids are random. An id from the text keeps a diff to the cells that changed.
    seen = {}
    for cell in notebook.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, -1) + 1
        cell.id = digest if not seen[digest] else f"{digest}-{seen[digest]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--check", action="store_true", help="write nothing, tell which notebooks are stale")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    # With a server notebook 06 shows it, so the bytes would depend on the machine.
    os.environ.update(environment() | {"HITL_LAB_POSTGRES_DSN": "none"})

    sources = [path for path in sorted(SOURCES.glob("*.py")) if path.name.startswith(tuple(options.names or ("",)))]
    if not sources:
        sys.exit(f"no such source in notebooks/src: {' '.join(options.names) or '*.py'}")
    stale = []
    wanted = [(source, which) for source in sources for which in (LEARNER, SOLVED)]
    with ThreadPoolExecutor(options.jobs) as pool:
        for (source, which), built in zip(wanted, pool.map(lambda one: build(*one), wanted), strict=True):
            folder = NOTEBOOKS if which == LEARNER else NOTEBOOKS / "solved"
            target = folder / f"{source.stem}.ipynb"
            if options.check:
                if not target.exists() or target.read_text(encoding="utf-8") != built:
                    stale.append(str(target.relative_to(NOTEBOOKS)))
            else:
                folder.mkdir(exist_ok=True)
                target.write_text(built, encoding="utf-8", newline="\n")
                print(target.relative_to(NOTEBOOKS.parent), flush=True)
    if stale:
        print(f"stale, run `make notebooks`: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
