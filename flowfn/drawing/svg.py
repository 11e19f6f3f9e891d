"""A graph as an SVG image, with nothing but the standard library.

A node in a box is labelled with its whole path, `outer / inner`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from flowfn.drawing.layers import Point, place

if TYPE_CHECKING:
    from flowfn.drawing.graph import Edge, Graph, Node

__all__ = ["draw_svg"]

_HEIGHT = 36.0
_LETTER = 7.6
_ASIDE = 12.0
_SMALL = 6.0

COLOURS = {
    "done": "#dcf3e2",
    "answered": "#dcf3e2",
    "running": "#d8ebff",
    "asked": "#fff1c9",
    "waiting": "#fff1c9",
    "failed": "#ffdcd8",
    "in_doubt": "#ffdcd8",
}
"""How a node is filled whose metadata has a `status`."""

_STYLE = (
    "text{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12.5px;text-anchor:middle;fill:#222}"
    ".small{font-size:10px;fill:#666}path{fill:none;stroke:#555}.maybe{stroke-dasharray:4 3}"
    "rect{fill:#f2f0ff;stroke:#8c7ae6}.critical{stroke:#c0392b;stroke-width:2.5}"
)
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<polygon points="0,0 8,4 0,8" fill="#555"/></marker></defs>'
)


def draw_svg(graph: Graph, background: str | None = None) -> str:
    """The image; `background` is a CSS colour, or None for none."""
    widths = {key: _width(node) for key, node in graph.nodes.items()}
    layout = place(widths, [edge[:2] for edge in graph.edges])
    size = f"{layout.width:.0f} {layout.height:.0f}"
    width, height = size.split()
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {size}">',
        f"<style>{_STYLE}</style>{_ARROW}",
    ]
    if background is not None:
        body.append(f'<rect width="100%" height="100%" style={quoteattr(f"fill:{background};stroke:none")}/>')
    for number, edge in enumerate(graph.edges):
        points = layout.edges.get(number) or _round(layout.nodes[edge.source], widths[edge.source])
        body += _edge(edge, points)
    for key, node in graph.nodes.items():
        body += _node(node, layout.nodes[key], widths[key])
    return "\n".join([*body, "</svg>"])


def _label(node: Node) -> str:
    return node.name.replace(":", " / ")


def _details(node: Node) -> str:
    """What its metadata says in a line."""
    scalars = {
        name: value
        for name, value in (node.metadata or {}).items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
    return ", ".join(f"{name.strip('_')} {value}" for name, value in scalars.items())


def _width(node: Node) -> float:
    return max(len(_label(node)) * _LETTER, len(_details(node)) * _SMALL) + 24


def _node(node: Node, centre: Point, width: float) -> Iterator[str]:
    x, y, details = centre.x - width / 2, centre.y - _HEIGHT / 2, _details(node)
    colour = COLOURS.get(str((node.metadata or {}).get("status")))
    style = f' style="fill:{colour}"' if colour else ""
    if (node.metadata or {}).get("critical") is True:
        style += ' class="critical"'
    radius = _HEIGHT / 2 if node.id.startswith("__") and node.id.endswith("__") else 6
    yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_HEIGHT:.0f}" rx="{radius:.0f}"{style}/>'
    yield _text(centre.x, centre.y + (-1 if details else 4), _label(node))
    if details:
        yield _text(centre.x, centre.y + 12, details, ' class="small"')


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(_printable(text))}</text>'


def _printable(text: str) -> str:
    """Without what XML can't hold."""
    return "".join(mark if mark.isprintable() else "�" for mark in text)


def _edge(edge: Edge, points: Sequence[Point]) -> Iterator[str]:
    style = ' class="maybe"' if edge.conditional else ""
    yield f'<path d="{_curve(points)}"{style} marker-end="url(#arrow)"/>'
    if edge.data not in (None, ""):
        one, other = points[len(points) // 2 - 1], points[len(points) // 2]
        yield _text((one.x + other.x) / 2, (one.y + other.y) / 2, str(edge.data), ' class="small"')


def _curve(points: Sequence[Point]) -> str:
    """A curve through points that starts and ends at the boxes round the first and the last."""
    if len(points) == 4 and points[0] == points[3]:
        return "M{0.x:.1f},{0.y:.1f} C{1.x:.1f},{1.y:.1f} {2.x:.1f},{2.y:.1f} {3.x:.1f},{3.y:.1f}".format(
            *points
        )
    down = 1 if points[-1].y > points[0].y else -1
    if down < 0:  # beside the edge that may lead the other way
        points = [Point(point.x + _ASIDE, point.y) for point in points]
    first = Point(points[0].x, points[0].y + down * _HEIGHT / 2)
    last = Point(points[-1].x, points[-1].y - down * _HEIGHT / 2)
    text = f"M{first.x:.1f},{first.y:.1f}"
    for one, other in pairwise([first, *points[1:-1], last]):
        middle = (one.y + other.y) / 2
        text += f" C{one.x:.1f},{middle:.1f} {other.x:.1f},{middle:.1f} {other.x:.1f},{other.y:.1f}"
    return text


def _round(centre: Point, width: float) -> list[Point]:
    """The points of an edge from a node to itself."""
    corner = Point(centre.x + width / 2, centre.y)
    return [corner, Point(corner.x + 26, corner.y - 30), Point(corner.x + 26, corner.y + 30), corner]
