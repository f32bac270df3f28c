"""Find a graph by name: `package.module:graph`, `path/file.py:graph`, or a name in a `langgraph.json`."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import json
import os
import sys
from pathlib import Path
from typing import Any

from hitl_lab.errors import HitlLabError


class GraphNotFound(HitlLabError):
    """The graph asked for cannot be loaded; the text says which part of its name, and what is there instead."""


def load(name: str, folder: Path | None = None) -> Any:
    """Return the object that a name stands for: a graph, a builder, or a factory.

    Args:
        name: "package.module:graph", "path/file.py:graph", or a graph of the nearest langgraph.json.
        folder: where to look; default the working directory. It is put on sys.path, as `python -m` does.

    Raises GraphNotFound.
    """
    at = (folder or Path.cwd()).resolve()
    project = find_project(at)
    if ":" not in name:
        name, at = _from_project(name, project)
    where, _, attribute = name.rpartition(":")
    _on_path(at)
    by_file = where.endswith(".py") or "/" in where
    found = module = _from_file(at, where) if by_file else _from_module(where)
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise GraphNotFound(f"{where} has no {attribute!r}. {_instead(module, attribute)}") from None
    if is_graph(found) or hasattr(found, "compile") or callable(found):
        return found
    raise GraphNotFound(f"{name} is no graph but {_a(type(found).__name__)}. {_instead(module, '')}")


def _a(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def is_graph(found: Any) -> bool:
    """Whether an object is a compiled LangGraph graph."""
    return all(hasattr(found, n) for n in ("invoke", "update_state", "get_state", "nodes")) and not inspect.isclass(
        found
    )


def find_project(folder: Path) -> Path | None:
    """Return the nearest langgraph.json at or above a folder, None if there is none."""
    for place in (folder, *folder.parents):
        if (place / "langgraph.json").is_file():
            return place / "langgraph.json"
    return None


def project_graphs(project: Path) -> dict[str, str]:
    """Return the graphs of a langgraph.json: name to "path:attribute". Raises GraphNotFound if it cannot be read."""
    try:
        data = json.loads(project.read_text(encoding="utf-8"))
        graphs = data.get("graphs", {})
        return {str(k): v["path"] if isinstance(v, dict) else str(v) for k, v in graphs.items()}
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as exc:
        raise GraphNotFound(f"{project} cannot be read as a LangGraph project: {exc}") from exc


def _from_project(name: str, project: Path | None) -> tuple[str, Path]:
    if project is None:
        raise GraphNotFound(
            f"{name!r} names no graph. Give package.module:graph or path/file.py:graph; a name alone is looked up in a "
            "langgraph.json, and there is none here or above."
        )
    graphs = project_graphs(project)
    if name not in graphs:
        raise GraphNotFound(f"{project} has no graph {name!r}. It has: {', '.join(graphs) or 'none'}.")
    _environment(project)
    return graphs[name], project.parent


def _environment(project: Path) -> None:
    """Set what the project's "env" names, unless it is set already, as LangGraph's own server does."""
    env = json.loads(project.read_text(encoding="utf-8")).get("env")
    pairs: dict[str, str] = {}
    if isinstance(env, dict):
        pairs = {str(k): str(v) for k, v in env.items()}
    elif isinstance(env, str) and (project.parent / env).is_file():
        for line in (project.parent / env).read_text(encoding="utf-8").splitlines():
            key, found, value = line.strip().removeprefix("export ").partition("=")
            if found and key.isidentifier():
                pairs[key] = value.strip().strip("'\"")
    for key, value in pairs.items():
        os.environ.setdefault(key, value)


def _on_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _from_module(where: str) -> Any:
    if not where or not all(part.isidentifier() for part in where.split(".")):
        raise GraphNotFound(f"{where!r} is no module name. Give package.module:graph or path/file.py:graph.")
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as exc:
        if exc.name and (where == exc.name or where.startswith(exc.name + ".")):
            raise GraphNotFound(
                f"there is no module {exc.name!r}. It is looked for in the working directory and among the installed "
                "packages: run this where you would run `python -m`, in the same environment."
            ) from None
        raise GraphNotFound(f"importing {where} failed: {exc}. Is this the environment the graph runs in?") from exc
    except Exception as exc:
        raise _import_failed(where, exc) from exc


def _from_file(at: Path, where: str) -> Any:
    file = (at / where).resolve()
    if not file.is_file():
        raise GraphNotFound(f"there is no file {where}.")
    # A file inside a package is imported as part of it, so that its relative imports work.
    parts, folder = [file.stem], file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    _on_path(folder)
    if len(parts) > 1:
        return _from_module(".".join(parts))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise GraphNotFound(f"{where} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(file.stem, module)  # dataclasses and typing look a class's module up there
    try:
        spec.loader.exec_module(module)
    except Exception as exc:
        raise _import_failed(where, exc) from exc
    return module


def _import_failed(where: str, exc: BaseException) -> GraphNotFound:
    tb, line = exc.__traceback__, ""
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if "importlib" not in file and "hitl_lab" not in Path(file).parts:
            line = f" (at {Path(file).name}:{tb.tb_lineno})"
            break
        tb = tb.tb_next
    return GraphNotFound(f"importing {where} raised {type(exc).__name__}: {exc}{line}.")


def _instead(module: Any, wanted: str) -> str:
    there = [k for k, v in vars(module).items() if k[:1] != "_" and (is_graph(v) or _is_builder(v))]
    near = difflib.get_close_matches(wanted, [k for k in vars(module) if k[:1] != "_"], n=2)
    if there:
        return f"Graphs there: {', '.join(there)}."
    return f"Did you mean {' or '.join(near)}?" if near else "There is no graph in it."


def _is_builder(value: Any) -> bool:
    return hasattr(value, "compile") and hasattr(value, "add_node") and not inspect.isclass(value)


def make(found: Any, config: dict[str, Any]) -> Any:
    """Return the graph of what `load` returned, or what must be awaited or entered to get it.

    A builder is compiled; a factory is called, with the config if it takes an argument.
    """
    if is_graph(found):
        return found
    if _is_builder(found):
        return found.compile()
    try:
        given = inspect.signature(found).parameters.values()
        takes = [p for p in given if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    except (TypeError, ValueError):
        takes = []
    if len(takes) > 1:
        raise GraphNotFound(f"the factory {found.__name__} takes {len(takes)} arguments; it may take one, the config.")
    return found(config) if takes else found()


def is_async(made: Any) -> bool:
    """Whether `make` gave something that only async code can open, or a graph with a node that is only async."""
    if not is_graph(made):
        return inspect.isawaitable(made) or hasattr(made, "__aenter__")
    return _async_nodes(made, 4)


def _async_nodes(graph: Any, depth: int) -> bool:
    for node in getattr(graph, "nodes", {}).values():
        bound = getattr(node, "bound", None)
        if getattr(bound, "afunc", None) is not None and getattr(bound, "func", None) is None:
            return True
        if depth and is_graph(bound) and _async_nodes(bound, depth - 1):
            return True
    return False


def with_saver(graph: Any, saver: Any) -> Any:
    """Return the graph on another checkpointer; the given one stays as it is."""
    return graph.copy({"checkpointer": saver})


def finished(made: Any, what: str) -> Any:
    """Return `made` if it is a graph. Raises GraphNotFound."""
    if is_graph(made):
        return made
    if _is_builder(made):
        return made.compile()
    raise GraphNotFound(f"{what} gave {_a(type(made).__name__)}, which is no graph.")
