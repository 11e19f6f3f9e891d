"""A graph in Graphviz' language, and drawn by its command `dot`."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from flowfn.errors import RendererMissing

if TYPE_CHECKING:
    from flowfn.drawing.graph import Graph

__all__ = ["dot_text", "draw_png"]


def draw_png(graph: Graph, fontname: str, labels: Mapping[str, Mapping[str, str]]) -> bytes:
    """The graph as a PNG image; see `Graph.draw_png`."""
    if shutil.which("dot") is None:
        raise RendererMissing("draw_png() needs Graphviz' command `dot` on the path: install graphviz")
    text = dot_text(graph, fontname, labels)
    return subprocess.run(["dot", "-Tpng"], input=text.encode(), capture_output=True, check=True).stdout


def dot_text(graph: Graph, fontname: str, labels: Mapping[str, Mapping[str, str]]) -> str:
    """The graph in Graphviz' language."""
    return "\n".join(["digraph {", *_lines(graph, fontname, labels), "}"])


def _lines(graph: Graph, fontname: str, labels: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    nodes, edges = labels.get("nodes", {}), labels.get("edges", {})
    yield f"node [style=filled fillcolor=yellow fontsize=15 fontname={_quoted(fontname)}]"
    yield f"edge [fontname={_quoted(fontname)}]"
    first, last = graph.first_node(), graph.last_node()
    for key, node in graph.nodes.items():
        colour = " fillcolor=lightblue" if node == first else " fillcolor=orange" if node == last else ""
        yield f"{_quoted(key)} [label={_quoted(nodes.get(node.name, node.name))}{colour}]"
    for edge in graph.edges:
        label = "" if edge.data is None else str(edge.data)
        style = "dotted" if edge.conditional else "solid"
        ends = f"{_quoted(edge.source)} -> {_quoted(edge.target)}"
        yield f"{ends} [label={_quoted(edges.get(label, label))} style={style}]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
