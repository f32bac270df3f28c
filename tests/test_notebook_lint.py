"""The lint of the notebooks: the committed ones pass, and each rule is seen to fail on a bad sample."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from hitl_lab.course import lint

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = sorted([*FOLDER.glob("*.ipynb"), *FOLDER.glob("solved/*.ipynb")])


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: str(p.relative_to(FOLDER)))
def test_committed_notebooks_pass(path):
    assert lint.faults(nbformat.read(path, as_version=4), path.name) == []


def code(source, *outputs, number=None):
    return new_code_cell(source, outputs=list(outputs), execution_count=number)


def shown(mime="text/plain", data="1"):
    return new_output("display_data", data={mime: data})


def book(*cells, kernel="python3", **metadata):
    number = 0
    for cell in cells:
        if cell.cell_type == "code" and cell.execution_count is None:
            number += 1
            cell.execution_count = number
    spec = {"name": kernel, "display_name": kernel}
    return new_notebook(cells=list(cells), metadata={"kernelspec": spec, **metadata})


def title(text="# Title"):
    return new_markdown_cell(text)


def text(source):
    return new_markdown_cell(source)


GOOD = book(
    title(),
    text("## Part\n\n![a graph of two nodes](assets/graph.svg)\n\n```\n# no heading\n```"),
    text("**Fact.** One is one."),
    code("check(1)", shown()),
    code("graph = builder.compile()\ngraph.name"),
    code("await graph.ainvoke({})"),
)


def test_a_good_notebook_passes():
    assert lint.faults(GOOD) == []


BAD = {
    "no H1": (book(text("## Part")), "0 headings of level 1"),
    "two H1": (book(title(), title("# Other")), "2 headings of level 1"),
    "H1 comes late": (book(text("Hello"), title()), "first cell"),
    "a level is left out": (book(title(), text("### Deep")), "level 3 follows one of level 1"),
    "a bare graph": (book(title(), code("graph = b.compile()"), code("x = 1\ngraph")), "cell 2 ends in a compiled"),
    "a bare compile()": (book(title(), code("b.compile(checkpointer=s)")), "ends in a compiled graph"),
    "a bare build": (book(title(), code("build_graph(InMemorySaver())")), "ends in a compiled graph"),
    "a shown graph": (
        book(title(), code("x", shown(data="<langgraph.graph.state.CompiledStateGraph object>"))),
        "shows a compiled graph",
    ),
    "an import for the network": (book(title(), code("import requests")), "imports requests"),
    "urllib": (book(title(), code("from urllib.request import urlopen")), "imports urllib.request"),
    "a remote drawing": (book(title(), code("x = g.get_graph().draw_mermaid_png()")), "draw_mermaid_png"),
    "pip": (book(title(), code("%pip install x")), "asks the network"),
    "a shell": (book(title(), code("!curl example.invalid")), "asks the network"),
    "an address": (book(title(), code("load('https://example.invalid')")), "address of another host"),
    "a remote picture": (book(title(), text("![x](https://example.invalid/a.png)")), "comes from another host"),
    "no alt text": (book(title(), text("![](a.png)")), "no alt text"),
    "an img without alt": (book(title(), text('<img src="a.png">')), "no alt text"),
    "a picture without text": (book(title(), code("x", shown("image/png", "AAAA"))), "without a text"),
    "widget state": (book(title(), widgets={"state": {}}), "stores widget state"),
    "a dead view": (
        book(title(), code("x", shown("application/vnd.jupyter.widget-view+json", {"model_id": "a"}))),
        "stores a view of a widget",
    ),
    "numbers out of order": (book(title(), code("1", number=2), code("2", number=1)), "execution number 2, 1 is"),
    "not run": (book(title(), code("1", number=0)), "execution number 0"),
    "an error": (
        book(title(), code("1", new_output("error", ename="E", evalue="e", traceback=[]))),
        "stores an error",
    ),
    "another kernel": (book(title(), kernel="my-env"), "kernelspec is 'my-env'"),
    "no kernel": (new_notebook(cells=[title()]), "kernelspec is None"),
    "a claim without a cell": (book(title(), text("**Fact.** It is so.")), "no cell that runs it follows"),
    "a claim before prose": (book(title(), text("**Fact.** It is."), text("x"), code("f()")), "no cell that runs it"),
    "a claim before no call": (book(title(), text("**Fact.** It is."), code("x = 1", shown())), "no cell that runs it"),
    "a claim that shows nothing": (book(title(), text("**Fact.** It is."), code("f()")), "shows nothing"),
    "an object's address": (book(title(), code("x", shown(data="<object at 0x7f0011223344>"))), "shows an address"),
    "a uuid": (book(title(), code("x", shown(data="1f0c2a55-0000-4000-8000-aabbccddeeff"))), "shows a uuid"),
    "a path": (book(title(), code("x", shown(data="in /home/ada/x.py"))), "path of this machine"),
}


@pytest.mark.parametrize(("notebook", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_notebook_fails(notebook, message):
    found = lint.faults(notebook)
    assert any(message in fault for fault in found), found


def test_every_rule_is_seen_to_fail():
    fails = {rule.__name__ for notebook, _ in BAD.values() for rule in lint.RULES if list(rule(notebook))}
    assert fails == {rule.__name__ for rule in lint.RULES}
