"""A graph as Mermaid text, byte for byte what langchain-core writes.

An edge is written in the box that both of its ends are in. Only a box that has edges of its own has boxes
inside it drawn; a box on the top level that has none is written last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowfn.drawing.graph import Edge, Graph, Node

__all__ = ["CurveStyle", "MermaidDrawMethod", "NodeStyles", "draw_mermaid"]


class CurveStyle(Enum):
    """How Mermaid bends an edge."""

    BASIS = "basis"
    BUMP_X = "bumpX"
    BUMP_Y = "bumpY"
    CARDINAL = "cardinal"
    CATMULL_ROM = "catmullRom"
    LINEAR = "linear"
    MONOTONE_X = "monotoneX"
    MONOTONE_Y = "monotoneY"
    NATURAL = "natural"
    STEP = "step"
    STEP_AFTER = "stepAfter"
    STEP_BEFORE = "stepBefore"


class MermaidDrawMethod(Enum):
    """Who makes an image of Mermaid text: a renderer on this machine, a local browser, or mermaid.ink."""

    LOCAL = "local"
    PYPPETEER = "pyppeteer"
    API = "api"


@dataclass
class NodeStyles:
    """CSS of all nodes, of the first and of the last."""

    default: str = "fill:#f2f0ff,line-height:1.2"
    first: str = "fill-opacity:0"
    last: str = "fill:#bfb6fc"


def draw_mermaid(
    graph: Graph,
    *,
    with_styles: bool,
    curve_style: CurveStyle,
    node_styles: NodeStyles,
    wrap_label_n_words: int,
    frontmatter_config: Mapping[str, Any] | None,
) -> str:
    """The text; see `Graph.draw_mermaid`."""
    lines = [*_header(curve_style, frontmatter_config)] if with_styles else []
    lines += ["graph TD;", *_Boxes(graph, with_styles, wrap_label_n_words).lines()]
    if with_styles:
        classes = {"default": node_styles.default, "first": node_styles.first, "last": node_styles.last}
        lines += [f"\tclassDef {name} {style}" for name, style in classes.items()]
    return "\n".join([*lines, ""])


def _header(curve_style: CurveStyle, given: Mapping[str, Any] | None) -> Iterator[str]:
    yield "---"
    if given:
        yield from _merged_header(curve_style, given)
    else:
        yield from ("config:", "  flowchart:", f"    curve: {curve_style.value}")
    yield "---"


def _merged_header(curve_style: CurveStyle, given: Mapping[str, Any]) -> list[str]:
    try:
        import yaml
    except ImportError:
        raise ImportError("frontmatter_config is written by PyYAML: `pip install PyYAML`") from None
    config = given.get("config", {})
    flowchart = {**config.get("flowchart", {}), "curve": curve_style.value}
    merged = {**given, "config": {**config, "flowchart": flowchart}}
    text: str = yaml.dump(merged, default_flow_style=False)
    return text.splitlines()


class _Boxes:
    """The nodes and edges of a graph by the box that they are in."""

    def __init__(self, graph: Graph, with_styles: bool, words: int) -> None:
        self.nodes: dict[str, list[str]] = {}
        self.edges: dict[str, list[Edge]] = {}
        self.words = words
        self.drawn: set[str] = set()
        for edge in graph.edges:
            self.edges.setdefault(_shared(edge.source, edge.target), []).append(edge)
        if with_styles:
            first, last = graph.first_node(), graph.last_node()
            for key, node in graph.nodes.items():
                self.nodes.setdefault(key.rpartition(":")[0], []).append(_node_line(node, first, last))

    def lines(self) -> Iterator[str]:
        yield from self.nodes.get("", ())
        yield from map(self._edge_line, self.edges.get("", ()))
        for box in [box for box in self.edges if box and ":" not in box]:
            yield from self._box(box)
            self.drawn.add(box)
        for box in self.nodes:
            if box and ":" not in box and box not in self.drawn:
                yield from (f"\tsubgraph {box}", *self.nodes[box], "\tend")

    def _box(self, box: str) -> Iterator[str]:
        """A box with all that is in it. A node with one edge to itself isn't one."""
        edges, name = self.edges[box], box.rpartition(":")[2]
        is_box = len(edges) > 1 or edges[0].source != edges[0].target
        if is_box and name in self.drawn:
            raise ValueError(
                f"Found duplicate subgraph '{name}' -- this likely means that you're reusing a subgraph node "
                "with the same name. Please adjust your graph to have subgraph nodes with unique names."
            )
        if is_box:
            self.drawn.add(name)
            yield from (f"\tsubgraph {name}", *self.nodes.get(box, ()))
        yield from map(self._edge_line, edges)
        for inner in self.edges:
            if inner != box and inner.rpartition(":")[0] == box:
                yield from self._box(inner)
        if is_box:
            yield "\tend"

    def _edge_line(self, edge: Edge) -> str:
        label = None if edge.data is None else f"&nbsp;{_wrapped(str(edge.data), self.words)}&nbsp;"
        if edge.conditional:
            arrow = "-.->" if label is None else f"-. {label} .->"
        else:
            arrow = "-->" if label is None else f"-- {label} -->"
        return f"\t{_safe_id(edge.source)} {arrow} {_safe_id(edge.target)};"


def _shared(source: str, target: str) -> str:
    """The box that two ids are in; of an id and itself, the id.

    As in langchain-core it is made of all parts that agree, also behind ones that don't.
    """
    pairs = zip(source.split(":"), target.split(":"), strict=False)
    return ":".join(one for one, other in pairs if one == other)


def _wrapped(label: str, words: int) -> str:
    parts = label.split()
    if len(parts) <= words:
        return label
    lines = (" ".join(parts[start : start + words]) for start in range(0, len(parts), words))
    return "&nbsp<br>&nbsp".join(lines)


_MARKS = ("*", "_", "`")
"""What Mermaid would read as emphasis or code around a whole label."""


def _node_line(node: Node, first: Node | None, last: Node | None) -> str:
    label = node.name.rpartition(":")[2]
    if label.startswith(_MARKS) and label.endswith(_MARKS):
        label = f"<p>{label}</p>"
    details = "\n".join(_details(node.metadata or {}))
    if details:
        label += f"<hr/><small><em>{details}</em></small>"
    if node == last:
        return f"\t{_safe_id(node.id)}([{label}]):::last"
    if node == first:
        return f"\t{_safe_id(node.id)}([{label}]):::first"
    return f"\t{_safe_id(node.id)}({label})"


def _details(metadata: Mapping[str, Any]) -> Iterator[str]:
    """The lines of what can be told in a line; nested values are left out."""
    for name, value in metadata.items():
        if _is_scalar(value):
            yield f"{_escaped(str(name))} = {_escaped(str(value))}"
        elif isinstance(value, list | tuple | set) and all(map(_is_scalar, value)):
            yield f"{_escaped(str(name))} = {_escaped(', '.join(map(str, value)))}"


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)


_ENTITIES = {ord(mark): f"#{ord(mark)};" for mark in "#[](){}<>|"} | {ord('"'): "#quot;"}


def _escaped(text: str) -> str:
    return text.translate(_ENTITIES)


def _safe_id(id: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", lambda match: f"\\{ord(match[0]):x}", id)
