"""A graph in characters, placed by grandalf: character for character what langchain-core draws with it.

A node is a box of its name, three lines high; an edge is a line of stars, a conditional one of dots. Of a graph in
several pieces the first one is drawn. A node that leads to itself says so, as no line can.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from math import ceil, floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowfn.drawing.graph import Edge

__all__ = ["draw_ascii"]

_HEIGHT = 3


class _Box:
    """A node's size and, once it is placed, its centre: what grandalf wants as a vertex's `view`."""

    def __init__(self, name: str) -> None:
        self.name = f" {name} "
        self.w, self.h = len(self.name) + 2, _HEIGHT
        self.xy = (0.0, 0.0)


class _Line:
    """The points of an edge: what grandalf wants as an edge's `view`."""

    def __init__(self, conditional: bool) -> None:
        self.character = "." if conditional else "*"
        self.points: list[tuple[float, float]] = []

    def setpath(self, points: list[tuple[float, float]]) -> None:
        """Take the points that grandalf found."""
        self.points = list(points)


def draw_ascii(names: Mapping[str, str], edges: Collection[Edge]) -> str:
    """The picture; `names` by id. See `Graph.draw_ascii`."""
    if not names:
        raise ValueError("there is nothing to draw: the graph has no nodes")
    boxes, lines = _placed(names, edges)
    xs = [x for line in lines for x, _ in line.points]
    left = min([*xs, *(box.xy[0] - box.w / 2 for box in boxes)])
    right = max([*xs, *(box.xy[0] + box.w / 2 for box in boxes)])
    bottom = max(box.xy[1] + box.h / 2 for box in boxes)
    canvas = [[" "] * (ceil(right) - floor(left) + 1) for _ in range(round(bottom))]
    for line in lines:
        points = [(round(x - left), round(y - _HEIGHT / 2)) for x, y in line.points]
        for start, end in pairwise(points):
            _draw_line(canvas, start, end, line.character)
    for box in boxes:
        _draw_box(canvas, round(box.xy[0] - box.w / 2 - left), round(box.xy[1] - box.h / 2), box)
    return "\n".join("".join(row) for row in canvas)


def _placed(names: Mapping[str, str], edges: Collection[Edge]) -> tuple[list[_Box], list[_Line]]:
    try:
        from grandalf.graphs import Edge as Arrow
        from grandalf.graphs import Graph, Vertex
        from grandalf.layouts import SugiyamaLayout
        from grandalf.routing import route_with_lines
    except ImportError:
        raise ImportError("Install grandalf to draw graphs: `pip install grandalf`.") from None
    loops = {edge.source for edge in edges if edge.source == edge.target}
    vertices = {key: Vertex(name) for key, name in names.items()}
    for key, vertex in vertices.items():
        vertex.view = _Box(f"{names[key]} (loop)" if key in loops else names[key])
    arrows = []
    for edge in (edge for edge in edges if edge.source != edge.target):
        arrow = Arrow(vertices[edge.source], vertices[edge.target], data=edge.conditional)
        arrow.view = _Line(edge.conditional)
        arrows.append(arrow)
    piece = Graph(list(vertices.values()), arrows).C[0]
    layout = SugiyamaLayout(piece)
    layout.xspace, layout.yspace = min(vertex.view.w for vertex in piece.sV), _HEIGHT
    layout.route_edge = route_with_lines
    layout.init_all(roots=[vertex for vertex in piece.sV if not vertex.e_in()], optimize=True)
    layout.draw()
    return [vertex.view for vertex in piece.sV], [arrow.view for arrow in arrows if arrow in piece.sE]


def _draw_line(canvas: list[list[str]], start: tuple[int, int], end: tuple[int, int], character: str) -> None:
    """One character per column, or per row where the line is steep."""
    (x0, y0), (x1, y1) = sorted((start, end))
    dx, dy = x1 - x0, y1 - y0
    if dx >= abs(dy):
        for x in range(x0, x1 + 1):
            canvas[y0 + (round((x - x0) * dy / dx) if dx else 0)][x] = character
    elif y0 > y1:
        for y in range(y1, y0 + 1):
            canvas[y][x1 + round((y - y1) * dx / dy)] = character
    else:
        for y in range(y0, y1 + 1):
            canvas[y][x0 + round((y - y0) * dx / dy)] = character


def _draw_box(canvas: list[list[str]], x: int, y: int, box: _Box) -> None:
    edge = "+" + "-" * (box.w - 2) + "+"
    for row, text in enumerate((edge, f"|{box.name}|", edge), y):
        canvas[row][x : x + box.w] = text
