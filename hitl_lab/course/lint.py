"""A lint for the course's notebooks: what a reader, a screen reader or a stored output would stumble over."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

_HEADING = re.compile(r"^(#{1,6}) +(\S.*)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_NETWORK_MODULES = {"requests", "urllib", "httpx", "aiohttp", "socket", "ftplib", "smtplib", "langchain_openai"}
_NETWORK_CALLS = {"draw_mermaid_png", "draw_png", "urlopen", "urlretrieve"}
_SHELL = re.compile(r"^\s*[!%].*\b(pip|conda|curl|wget|apt|apt-get|git clone)\b", re.MULTILINE)
_URL = re.compile(r"https?://(?!127\.0\.0\.1|localhost)", re.IGNORECASE)
_MAKES_GRAPH = re.compile(r"^(compile|build\w*|create_agent|create_react_agent)$")
_UNSTABLE = {
    "an address": re.compile(r"\b0x[0-9a-f]{6,}\b"),
    "a uuid": re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    "an interrupt id": re.compile(r"\b[0-9a-f]{32}\b"),
    "a path of this machine": re.compile(r"(?<![\w.])/(home|tmp|root|Users|work|private|var)/"),
    "a process id": re.compile(r"ipykernel_\d+"),
}
CLAIM = "**Fact.**"


def faults(notebook: Any, name: str = "notebook") -> list[str]:
    """Return what is wrong with a notebook, one sentence each, nothing if all is well.

    Args:
        notebook: an nbformat notebook.
        name: how to call it in the sentences.
    """
    return [f"{name}: {fault}" for rule in RULES for fault in rule(notebook)]


def headings(notebook: Any) -> Iterator[str]:
    """One H1, at the top, and no level left out below it."""
    found = []
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            found += [(i, len(m[1]), m[2]) for m in _HEADING.finditer(_FENCE.sub("", cell.source))]
    tops = [title for _, level, title in found if level == 1]
    if len(tops) != 1:
        yield f"it has {len(tops)} headings of level 1, one is wanted"
    if not found or found[0][0] != 0 or found[0][1] != 1:
        yield "its first cell does not begin with the heading of level 1"
    for (_, before, _), (i, level, title) in itertools.pairwise(found):
        if level > before + 1:
            yield f"cell {i}: heading {title!r} of level {level} follows one of level {before}"


def bare_graphs(notebook: Any) -> Iterator[str]:
    """No cell ends in a compiled graph: its display asks a remote service for a drawing."""
    graphs: set[str] = set()
    for i, cell in _code(notebook):
        tree = _tree(cell.source)
        if tree is None:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _makes_graph(node.value):
                graphs |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        last = tree.body[-1] if tree.body else None
        if not isinstance(last, ast.Expr) or cell.source.rstrip().endswith(";"):
            continue
        if _makes_graph(last.value) or (isinstance(last.value, ast.Name) and last.value.id in graphs):
            yield f"cell {i} ends in a compiled graph"
    for i, text in _outputs(notebook):
        if re.search(r"<langgraph\S* object at|CompiledStateGraph object", text):
            yield f"cell {i} shows a compiled graph"


def network(notebook: Any) -> Iterator[str]:
    """No cell, and no picture, needs another host."""
    for i, cell in _code(notebook):
        tree = _tree(cell.source)
        if _SHELL.search(cell.source):
            yield f"cell {i} calls a program that asks the network"
        for node in ast.walk(tree) if tree else ():
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for module in names:
                if module.split(".")[0] in _NETWORK_MODULES:
                    yield f"cell {i} imports {module}, which is there for the network"
            if isinstance(node, ast.Attribute) and node.attr in _NETWORK_CALLS:
                yield f"cell {i} calls {node.attr}, which asks another host"
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _URL.search(node.value):
                yield f"cell {i} holds an address of another host"
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            for _, target in _pictures(cell.source):
                if _URL.search(target):
                    yield f"cell {i}: the picture {target} comes from another host"


def pictures(notebook: Any) -> Iterator[str]:
    """Every picture says in words what it shows."""
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            for alt, target in _pictures(cell.source):
                if not alt.strip():
                    yield f"cell {i}: the picture {target} has no alt text"
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if any(mime.startswith("image/") for mime in data) and not str(data.get("text/plain", "")).strip():
                yield f"cell {i} shows a picture without a text beside it"


def widgets(notebook: Any) -> Iterator[str]:
    """No widget state is stored, and no view of a widget that is gone."""
    if "widgets" in notebook.metadata:
        yield "it stores widget state"
    for i, cell in _code(notebook):
        if any("widget" in mime for output in cell.get("outputs", ()) for mime in output.get("data", ())):
            yield f"cell {i} stores a view of a widget"


def numbers(notebook: Any) -> Iterator[str]:
    """The execution numbers count up from 1, and nothing failed."""
    wanted = 1
    for i, cell in _code(notebook):
        if not cell.source.strip():
            continue
        if cell.get("execution_count") != wanted:
            yield f"cell {i} has execution number {cell.get('execution_count')}, {wanted} is wanted"
            return
        wanted += 1
        if any(output.output_type == "error" for output in cell.outputs):
            yield f"cell {i} stores an error"


def kernel(notebook: Any) -> Iterator[str]:
    """Its kernel is python3: without one JupyterLab opens a dialog."""
    found = notebook.metadata.get("kernelspec", {}).get("name")
    if found != "python3":
        yield f"its kernelspec is {found!r}, 'python3' is wanted"


def claims(notebook: Any) -> Iterator[str]:
    """A claim about LangGraph, a line that begins with **Fact.**, is followed by the cell that runs it."""
    cells = notebook.cells
    for i, cell in enumerate(cells):
        if cell.cell_type != "markdown" or CLAIM not in cell.source:
            continue
        after = cells[i + 1] if i + 1 < len(cells) else None
        tree = _tree(after.source) if after is not None and after.cell_type == "code" else None
        if tree is None or not any(isinstance(node, ast.Call) for node in ast.walk(tree)):
            yield f"cell {i} makes a claim, and no cell that runs it follows"
        elif not after.outputs:
            yield f"cell {i + 1} is to show that the claim above it holds, and shows nothing"


def unstable(notebook: Any) -> Iterator[str]:
    """No stored output holds what differs from run to run or from machine to machine."""
    for i, text in _outputs(notebook):
        for what, pattern in _UNSTABLE.items():
            if pattern.search(text):
                yield f"cell {i} shows {what}"


RULES: tuple[Callable[[Any], Iterator[str]], ...] = (
    headings,
    bare_graphs,
    network,
    pictures,
    widgets,
    numbers,
    kernel,
    claims,
    unstable,
)


def _code(notebook: Any) -> Iterator[tuple[int, Any]]:
    return ((i, cell) for i, cell in enumerate(notebook.cells) if cell.cell_type == "code")


def _outputs(notebook: Any) -> Iterator[tuple[int, str]]:
    for i, cell in _code(notebook):
        for output in cell.get("outputs", ()):
            yield i, str(output.get("text", ""))
            for mime, data in output.get("data", {}).items():
                if mime.startswith("text/"):
                    yield i, str(data)


def _tree(source: str) -> ast.Module | None:
    # A magic is no Python; the rest of its cell is.
    lines = ["pass" if line.lstrip()[:1] in ("%", "!") else line for line in source.splitlines()]
    try:
        return compile("\n".join(lines), "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return None


def _makes_graph(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return bool(_MAKES_GRAPH.match(name))


def _pictures(source: str) -> Iterator[tuple[str, str]]:
    source = _FENCE.sub("", source)
    yield from re.findall(r"!\[([^\]]*)\]\(([^)\s]+)", source)
    for tag in re.findall(r"<img\b[^>]*>", source, re.IGNORECASE):
        alt = re.search(r"""\balt\s*=\s*["']([^"']*)""", tag)
        target = re.search(r"""\bsrc\s*=\s*["']([^"']*)""", tag)
        yield (alt[1] if alt else "", target[1] if target else tag)
