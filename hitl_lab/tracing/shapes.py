"""The structure of a graph as plain data, for drawing: node ids and edges, subgraphs as "outer:inner".

Read with the public `get_graph(xray=True)`, which computes and never asks the network (drawing a Mermaid picture
does); 0.4 to 2 ms, so once a graph.
"""

from __future__ import annotations

import hashlib
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hitl_lab.tracing.recorder import Recorder

LIMIT = 400
_known: weakref.WeakKeyDictionary[Any, dict[str, Any] | None] = weakref.WeakKeyDictionary()


def shape_of(recorder: Recorder, graph: Any) -> dict[str, Any] | None:
    """Return {"key", "nodes", "edges"} the first time a recorder meets the structure, {"key"} later.

    None if it cannot be read or has more than LIMIT nodes; never raises. edges: [from, to] or [from, to, label].
    """
    try:
        if graph not in _known:
            _known[graph] = _read(graph)
        shape = _known[graph]
    except Exception:
        return None
    if shape is None:
        return None
    if shape["key"] in recorder.shapes:
        return {"key": shape["key"]}
    recorder.shapes.add(shape["key"])
    return shape


def _read(graph: Any) -> dict[str, Any] | None:
    drawn = graph.get_graph(xray=True)
    if len(drawn.nodes) > LIMIT:
        return None
    nodes = [str(id) for id in drawn.nodes]
    edges = []
    for edge in drawn.edges:
        told: list[Any] = [str(edge.source), str(edge.target)]
        if edge.conditional:
            told.append(str(edge.data) if edge.data and edge.data != edge.target else "")
        edges.append(told)
    key = hashlib.sha256(repr((nodes, edges)).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return {"key": key, "nodes": nodes, "edges": edges}
