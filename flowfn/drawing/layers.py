"""Where nodes go in a picture: in layers from top to bottom, so that most edges point down.

Edges that close a loop are turned round for this; those that pass layers go through stops in them, so that they
don't run behind nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Layout", "Point", "place"]

GAP = 28.0
LAYER = 84.0
_SWEEPS = 4


class Point(NamedTuple):
    """A place in pixels, from the upper left corner."""

    x: float
    y: float


@dataclass
class Layout:
    """The centres of nodes by id, the points of edges by number, and the size of it all."""

    nodes: dict[str, Point] = field(default_factory=dict)
    edges: dict[int, list[Point]] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0


def place(widths: Mapping[str, float], edges: Sequence[tuple[str, str]]) -> Layout:
    """Place nodes of the given widths. An edge from a node to itself has no points."""
    depth = _depths(list(widths), edges)
    columns: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in widths:
        columns[depth[name]].append(name)
    chains = {
        number: _chain(number, edge, depth, columns)
        for number, edge in enumerate(edges)
        if edge[0] != edge[1]
    }
    _order(columns, list(chains.values()))
    return _measured(widths, columns, chains)


def _depths(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The layer of each node: below all that lead to it, but for the edges that close a loop."""
    order, forward = _without_loops(names, edges)
    depth = dict.fromkeys(names, 0)
    for name in order:
        for step in forward[name]:
            depth[step] = max(depth[step], depth[name] + 1)
    return depth


def _without_loops(
    names: Sequence[str], edges: Sequence[tuple[str, str]]
) -> tuple[Iterable[str], dict[str, list[str]]]:
    """The nodes, each after all that lead to it, and where each leads to, by edges that close no loop."""
    after: dict[str, list[str]] = {name: [] for name in names}
    for source, target in edges:
        if source != target:
            after[source].append(target)
    forward: dict[str, list[str]] = {name: [] for name in names}
    ended: dict[str, None] = {}
    under_way: dict[str, Iterator[str]] = {}  # no recursion, which a long chain would be too deep for
    for root in names:
        if root not in ended:
            under_way[root] = iter(after[root])
        while under_way:
            name, steps = next(reversed(under_way.items()))
            step = next(steps, None)
            if step is None:
                del under_way[name]
                ended[name] = None
            elif step not in under_way:
                forward[name].append(step)
                if step not in ended:
                    under_way[step] = iter(after[step])
    return reversed(ended), forward


def _chain(
    number: int, edge: tuple[str, str], depth: Mapping[str, int], columns: list[list[str]]
) -> list[str]:
    """The ends of an edge and its stops in the layers between, which get their places there."""
    upper, lower = sorted(edge, key=depth.__getitem__)
    stops = [f"{number}\0{layer}" for layer in range(depth[upper] + 1, depth[lower])]
    for layer, stop in enumerate(stops, depth[upper] + 1):
        columns[layer].append(stop)
    chain = [upper, *stops, lower]
    return chain if chain[0] == edge[0] else chain[::-1]


def _order(columns: list[list[str]], chains: Sequence[list[str]]) -> None:
    """Sort each layer by where its neighbours are, down and up, so that few edges cross."""
    near: dict[str, list[str]] = {name: [] for column in columns for name in column}
    for chain in chains:
        for one, other in pairwise(chain):
            near[one].append(other)
            near[other].append(one)
    place = {name: index / len(column) for column in columns for index, name in enumerate(column)}
    for sweep in range(_SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            own = set(column)
            means = {}
            for name in column:
                others = [place[other] for other in near[name] if other not in own]
                means[name] = sum(others) / len(others) if others else place[name]
            column.sort(key=means.__getitem__)
            place.update({name: (index + 0.5) / len(column) for index, name in enumerate(column)})


def _measured(
    widths: Mapping[str, float], columns: list[list[str]], chains: Mapping[int, list[str]]
) -> Layout:
    sizes = [sum(widths.get(name, 0.0) + GAP for name in column) for column in columns]
    layout = Layout(width=max(sizes, default=0.0) + GAP, height=LAYER * len(columns))
    points: dict[str, Point] = {}
    for layer, (column, size) in enumerate(zip(columns, sizes, strict=True)):
        x = (layout.width - size) / 2
        for name in column:
            width = widths.get(name, 0.0) + GAP
            points[name] = Point(x + width / 2, LAYER * (layer + 0.5))
            x += width
    layout.nodes = {name: points[name] for name in widths}
    layout.edges = {number: [points[name] for name in chain] for number, chain in chains.items()}
    return layout
