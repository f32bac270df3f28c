"""The course by code alone: ipywidgets and anywidget cannot be imported, as where a front end does not know them.

Colab, VS Code and screen readers read the text. So each notebook must run without the widgets, and say the same.
"""

import os
import tempfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from hitl_lab.course.jupyter import environment

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
# Not 06: its crashes take 40 s, and what it asks and shows is made of the same parts.
FILES = [*sorted(NOTEBOOKS.glob("0[02]*.ipynb")), *sorted(NOTEBOOKS.glob("solved/*.ipynb"))]
FILES = [path for path in FILES if not path.name.startswith("06")]

BLOCKED = """
import sys


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("ipywidgets", "anywidget"):
            raise ModuleNotFoundError(f"No module named {name!r}: blocked by the test", name=name)
        return None


sys.meta_path.insert(0, Blocked())
"""


@pytest.fixture(scope="module")
def kernel_without_widgets(tmp_path_factory):
    """Every Python that is started from here cannot import a widget library."""
    folder = tmp_path_factory.mktemp("blocked")
    (folder / "sitecustomize.py").write_text(BLOCKED)
    with pytest.MonkeyPatch.context() as patched:
        for key, value in environment().items():
            patched.setenv(key, value)
        paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        patched.setenv("PYTHONPATH", os.pathsep.join(paths))
        yield


def run(cells, name="python3"):
    """Run a notebook somewhere where its files do no harm."""
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        NotebookClient(cells, timeout=120, kernel_name=name, resources=where, coalesce_streams=True).execute()
    return cells


def texts(notebook):
    """The text of each cell's outputs."""
    return [
        [o.get("text") or o.get("data", {}).get("text/plain") for o in cell.outputs]
        for cell in notebook.cells
        # nbval leaves these out, too: what they print depends on whether a PostgreSQL server is there.
        if cell.cell_type == "code" and "nbval-ignore-output" not in cell.metadata.get("tags", ())
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_notebook_runs_and_says_the_same(kernel_without_widgets, path):
    stored = nbformat.read(path, as_version=4)
    assert texts(run(nbformat.read(path, as_version=4))) == texts(stored)


@pytest.mark.slow
def test_the_widgets_were_blocked_and_a_learner_goes_on_by_code(kernel_without_widgets):
    source = [
        "try:\n    import ipywidgets\nexcept ImportError as error:\n    print(error)",
        'from hitl_lab.course import open_lesson\ncheck = open_lesson("00")\ncheck.predict("stop", run=lambda: 1 / 0)',
        'check.hint("hello")',
        'check.order("first")',
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in source])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    blocked, asked, hint, blocks = (cell.outputs for cell in run(notebook).cells)
    assert blocked[0].text == "No module named 'ipywidgets': blocked by the test\n"
    for outputs, wanted in (
        (asked, 'by code: check.predict("stop", "A")'),
        (hint, "Hint 1 of 3."),
        (blocks, "Block A"),
    ):
        assert list(outputs[0].data) == ["text/plain"]
        assert wanted in outputs[0].data["text/plain"]
