"""The gate for the notebooks can be seen to fail: one bad sample for each thing it is there to find."""

import nbformat
import notebook_gate
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook


def written(folder, *cells, name="sample.ipynb"):
    cells = [cell if isinstance(cell, dict) else new_code_cell(cell) for cell in cells]
    path = folder / name
    nbformat.write(new_notebook(cells=cells), path)
    return path


pytestmark = pytest.mark.slow


def test_a_good_notebook_passes(tmp_path):
    path = written(tmp_path, new_markdown_cell("# Title"), "a = 1", "", "assert a == 1")
    assert notebook_gate.faults(path) == []


BAD = {
    "a cell raises": ("raise ValueError('on purpose')", "ValueError: on purpose"),
    "an unknown magic, then a raise": ("%no_such_magic\nraise ValueError('on purpose')", "on purpose"),
    "an unknown magic alone": ("%no_such_magic", "no_such_magic"),
    "a cell that may raise, by its tag": (
        new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]}),
        "ZeroDivisionError",
    ),
    "the kernel dies": ("import os\nos._exit(3)", "died"),
    "a host is asked for": (
        "import urllib.request\nurllib.request.urlopen('http://example.invalid', timeout=5)",
        "URLError",
    ),
}


@pytest.mark.parametrize(("cell", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_cell_fails(tmp_path, cell, message):
    (fault,) = notebook_gate.faults(written(tmp_path, cell))
    assert fault.startswith("sample.ipynb: ")
    assert message in fault


def test_an_error_that_is_shown_and_not_raised_fails(tmp_path):
    show = "get_ipython().showtraceback((ValueError, ValueError('shown'), None))"
    (fault,) = notebook_gate.faults(written(tmp_path, show))
    assert "shown" in fault


def test_a_cell_that_hangs_fails(tmp_path):
    (fault,) = notebook_gate.faults(written(tmp_path, "import time\ntime.sleep(60)"), timeout=2)
    assert "timed out" in fault


def test_stored_results_do_not_count(tmp_path):
    path = written(tmp_path, "1")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].outputs = [nbformat.v4.new_output("error", ename="Old", evalue="stored", traceback=[])]
    nbformat.write(notebook, path)
    assert notebook_gate.faults(path) == []


def test_the_program_counts_and_fails(tmp_path, capsys):
    good, bad = written(tmp_path, "1", name="good.ipynb"), written(tmp_path, "1/0", name="bad.ipynb")
    assert notebook_gate.main([str(good)]) == 0
    assert notebook_gate.main([str(good), str(bad)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "notebooks: 1 passed, 1 failed"


def test_no_notebook_at_all_fails(monkeypatch, tmp_path):
    monkeypatch.setattr(notebook_gate.workspace, "source_folder", lambda: tmp_path)
    assert notebook_gate.main([]) == 1
