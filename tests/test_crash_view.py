"""The crash table as widget and HTML, from crashes that were made without a process."""

import ipywidgets
import pytest
from langgraph.checkpoint.memory import InMemorySaver

import hitl_lab
from hitl_lab import scenarios
from hitl_lab.crashes import Cell, Crash, CrashTable
from hitl_lab.scenarios._scenario import run
from hitl_lab.stored import StoredRows
from hitl_lab.views.crash_view import buttons, summary
from hitl_lab.views.stepper import Stepper


@pytest.fixture(scope="module")
def table():
    with hitl_lab.record() as trace:
        run(scenarios.get("broken_node"), InMemorySaver())

    def made(at, durability, question, reached=True):
        rows = StoredRows("SQLite", True, {"checkpoints": 0, "writes": 0})
        return Crash(at, "sqlite", durability, reached, trace, rows, question, (), trace)

    return CrashTable(
        {
            ("in_node", "sync", "sqlite"): Cell((made("in_node", "sync", True),)),
            ("in_node", "exit", "sqlite"): Cell((made("in_node", "exit", True), made("in_node", "exit", False))),
            ("put:nobody", "sync", "sqlite"): Cell((made("put:nobody", "sync", False, reached=False),)),
            ("put:nobody", "exit", "sqlite"): Cell((made("put:nobody", "exit", False, reached=False),)),
        }
    )


def test_a_click_opens_the_traces_of_the_cell(table):
    grid, below = buttons(table).children
    cells = [child for child in grid.children if isinstance(child, ipywidgets.Button)]
    assert [cell.description for cell in cells] == [
        "0 of 5 kept, question",
        "races: 2 outcomes in 2 tries",
        "not reached",
        "not reached",
    ]
    assert all(cell.tooltip for cell in cells)
    cells[0].click()
    (stepper,) = below.children
    assert isinstance(stepper, Stepper)
    cells[1].click()
    assert [cell.button_style for cell in cells] == ["", "primary", "", ""]
    assert len(below.children) == 2
    assert "(1 of 2 tries)" in below.children[0]._title


def test_the_notebook_stores_stable_text(table):
    bundle = table._repr_mimebundle_()
    assert bundle["text/plain"] == table.text(stable=True)
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "varies" in table.text(stable=True)
    assert "1/2: " in str(table)
    assert repr(table) == str(table)


def test_html(table, tmp_path):
    page = table.to_html(tmp_path / "crashes.html").read_text(encoding="utf-8")
    assert "What survives a crash" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    rows = summary(table)._plain["rows"]
    assert [row[6] for row in rows] == [["every try"], ["1 of 2"], ["1 of 2"], ["every try"], ["every try"]]
    assert [row[3] for row in rows][-1] == ["not reached", "drop"]
