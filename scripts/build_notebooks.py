"""Build notebooks/*.ipynb, with their outputs, from the readable sources notebooks/src/*.py (jupytext, py:percent).

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

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
SOURCES = NOTEBOOKS / "src"


def build(source: Path) -> str:
    """Run one source and give back the text of its notebook. Raises CellExecutionError if a cell raises."""
    notebook = jupytext.read(source)
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
    _name_cells(notebook)
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


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
    os.environ.update(environment())

    sources = [path for path in sorted(SOURCES.glob("*.py")) if path.name.startswith(tuple(options.names or ("",)))]
    if not sources:
        sys.exit(f"no such source in notebooks/src: {' '.join(options.names) or '*.py'}")
    stale = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for source, built in zip(sources, pool.map(build, sources), strict=True):
            target = NOTEBOOKS / f"{source.stem}.ipynb"
            if options.check:
                if not target.exists() or target.read_text(encoding="utf-8") != built:
                    stale.append(target.name)
            else:
                target.write_text(built, encoding="utf-8", newline="\n")
                print(target.relative_to(NOTEBOOKS.parent), flush=True)
    if stale:
        print(f"stale, run `make notebooks`: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
