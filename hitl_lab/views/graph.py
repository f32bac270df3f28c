"""Laying a graph out with Graphviz: positions as plain data, which the browser draws; no picture, no markup.

Uses the `graphviz` package with `dot` from PATH, else the executable of the wheel graphviz-pure. With neither, the
views list the nodes and say what to install.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

HINT = "No drawing: neither `dot` on PATH nor the graphviz-pure wheel was found (pip install graphviz-pure)."
FAILED = "No drawing: Graphviz could not lay this graph out."
LIMIT = 150  # nodes; a larger drawing cannot be read, and dot takes seconds


def dot_executable() -> Path | None:
    """Return the path of `dot` or of graphviz-pure, None if neither is there."""
    found = shutil.which("dot")
    if found is None:
        # The wheel puts its program beside the interpreter, which need not be on PATH.
        found = shutil.which("graphviz-pure", path=str(Path(sys.executable).parent)) or shutil.which("graphviz-pure")
    return Path(found) if found else None


def drawing(graph: dict[str, Any]) -> dict[str, Any]:
    """Return {"layout": {...}} for a graph's nodes and edges, or {"hint": why there is none}.

    layout: width, height; nodes {key, label, x, y, w, h}; edges {path, arrow, dashed, label, lx, ly}; clusters
    {key, label, x, y, w, h}; in points, y downwards.
    """
    nodes, edges = graph["nodes"], graph["edges"]
    if len(nodes) > LIMIT:
        return {"hint": f"No drawing: {len(nodes)} nodes are more than the {LIMIT} that can be read."}
    executable = dot_executable()
    if executable is None:
        return {"hint": HINT}
    try:
        laid = _layout(str(executable), tuple(nodes), tuple(tuple(e) for e in edges))
    except Exception:  # noqa: BLE001 - a dot that crashes, is too old, or is no dot at all
        return {"hint": FAILED}
    return {"layout": json.loads(laid)}


@lru_cache(maxsize=64)
def _layout(executable: str, nodes: tuple[str, ...], edges: tuple[tuple[str, ...], ...]) -> str:
    import graphviz
    from graphviz.backend import dot_command

    source = _dot(nodes, edges)
    before = dot_command.DOT_BINARY
    dot_command.DOT_BINARY = Path(executable)
    try:
        out = graphviz.Source(source).pipe(format="json0", quiet=True)
    finally:
        dot_command.DOT_BINARY = before
    return json.dumps(_read(json.loads(out.decode("utf-8")), nodes))


def _dot(nodes: tuple[str, ...], edges: tuple[tuple[str, ...], ...]) -> str:
    # Ids n0, n1, ... and c0, c1, ...: a node's own name never becomes DOT source.
    ids = {key: f"n{i}" for i, key in enumerate(nodes)}
    lines = ["digraph {", "graph [ranksep=0.32, nodesep=0.28, pad=0.04, compound=true, fontsize=12]"]
    lines.append('node [shape=box, fixedsize=true, label=""]')
    lines += _clusters(nodes, ids)
    for edge in edges:
        a, b = edge[0], edge[1]
        if a not in ids or b not in ids:
            continue
        label = edge[2] if len(edge) > 2 else ""
        told = [f'label="{"m" * min(len(label), 24)}", fontsize=9'] if label else []
        lines.append(f"{ids[a]} -> {ids[b]} [{', '.join(told)}]")
    return "\n".join([*lines, "}"])


def _clusters(nodes: Iterable[str], ids: dict[str, str]) -> list[str]:
    tree: dict[str, Any] = {}
    for key in nodes:
        at = tree
        for part in key.split(":")[:-1]:
            at = at.setdefault("/" + part, {})
        at[key] = None
    out: list[str] = []

    def walk(at: dict[str, Any], path: tuple[str, ...]) -> None:
        for key, inner in at.items():
            if inner is None:
                width, height = size(key)
                out.append(f"{ids[key]} [width={width / 72:.3f}, height={height / 72:.3f}]")
                continue
            name = (*path, key[1:])
            # An invisible label of the right width keeps room for the cluster's name and its state.
            out.append(f'subgraph "cluster_{len(clusters)}" {{ margin=10; label="{"n" * (len(key) + 12)}"; fontsize=11')
            clusters.append(":".join(name))
            walk(inner, name)
            out.append("}")

    clusters: list[str] = []
    walk(tree, ())
    return out


def cluster_keys(nodes: Iterable[str]) -> list[str]:
    """Return the keys of the subgraphs that node keys speak of, outer before inner, in order of first mention."""
    tree: dict[str, Any] = {}
    for key in nodes:
        at = tree
        for part in key.split(":")[:-1]:
            at = at.setdefault(part, {})
    out: list[str] = []

    def walk(at: dict[str, Any], path: tuple[str, ...]) -> None:
        for name, inner in at.items():
            out.append(":".join((*path, name)))
            walk(inner, (*path, name))

    walk(tree, ())
    return out


def size(key: str) -> tuple[float, float]:
    """Return a node's width and height in points: room for its label and for its state below."""
    label = key.rsplit(":", 1)[-1]
    return max(92.0, 7.6 * min(len(label), 30) + 26), 42.0


_POINT = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def _read(laid: dict[str, Any], nodes: tuple[str, ...]) -> dict[str, Any]:
    left, bottom, right, top = (float(v) for v in laid["bb"].split(","))
    pad = 4.0

    def x(value: float) -> float:
        return round(value - left + pad, 1)

    def y(value: float) -> float:
        return round(top - value + pad, 1)

    out: dict[str, Any] = {"width": round(right - left + 2 * pad, 1), "height": round(top - bottom + 2 * pad, 1)}
    out |= {"nodes": [], "edges": [], "clusters": []}
    names = cluster_keys(nodes)
    for item in laid.get("objects", ()):
        name = item["name"]
        if name.startswith("cluster_") and "bb" in item:
            a, b, c, d = (float(v) for v in item["bb"].split(","))
            key = names[int(name.removeprefix("cluster_"))]
            label = key.rsplit(":", 1)[-1]
            out["clusters"].append(
                {"key": key, "label": label, "x": x(a), "y": y(d), "w": round(c - a, 1), "h": round(d - b, 1)}
            )
        elif "pos" in item:
            key = nodes[int(name[1:])]
            a, b = (float(v) for v in item["pos"].split(","))
            width, height = size(key)
            out["nodes"].append(
                {"key": key, "label": _short(key.rsplit(":", 1)[-1]), "x": x(a), "y": y(b), "w": width, "h": height}
            )
    for edge in laid.get("edges", ()):
        out["edges"].append(_edge(edge, x, y))
    return out


def _short(label: str) -> str:
    return label if len(label) <= 30 else label[:29] + "…"


def _edge(edge: dict[str, Any], x: Any, y: Any) -> dict[str, Any]:
    tip = None
    points: list[tuple[float, float]] = []
    for part in edge["pos"].split():
        numbers = [float(v) for v in _POINT.findall(part.split(",", 1)[1] if part[0] in "es" else part)]
        if part[0] == "e":
            tip = (x(numbers[0]), y(numbers[1]))
        elif part[0] != "s":
            points.append((x(numbers[0]), y(numbers[1])))
    told: dict[str, Any] = {"path": f"M{points[0][0]} {points[0][1]}C" + " ".join(f"{a} {b}" for a, b in points[1:])}
    if tip is not None:
        told["arrow"] = _arrow(points[-1], tip)
    return told


def _arrow(base: tuple[float, float], tip: tuple[float, float]) -> str:
    dx, dy = tip[0] - base[0], tip[1] - base[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    px, py = -dy / length * 3.2, dx / length * 3.2
    a, b = (round(base[0] + px, 1), round(base[1] + py, 1)), (round(base[0] - px, 1), round(base[1] - py, 1))
    return f"M{tip[0]} {tip[1]}L{a[0]} {a[1]}L{b[0]} {b[1]}Z"
