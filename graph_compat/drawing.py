"""The picture of a compiled graph, from what is known of it before it runs.

Rule: an edge is drawn because somebody's write triggered somebody. The graph is run on paper, every node writing
all that it may write, and who woke whom is noted. So what can never run has no edges, and a join whose sources
don't all run wakes nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flowfn.drawing import Edge, Graph, Node

__all__ = ["Description", "NodeDescription", "Route", "picture"]

START = "__start__"
END = "__end__"

_STEPS = 250
"""How long a loop is followed: one that never ends has been seen whole by then."""


class Route(NamedTuple):
    """A way that a node may go: by a branch, or by what its author says that it may return."""

    source: str
    target: str
    label: str | None = None


@dataclass(frozen=True)
class NodeDescription:
    """A node of a graph. `data` is what `Node.data` will be; `defer`: it runs once nothing else can."""

    data: Any = None
    metadata: Mapping[str, Any] | None = None
    defer: bool = False


@dataclass(frozen=True, kw_only=True)
class Description:
    """A compiled graph, as far as it is known before it runs.

    Args:
        nodes: by name, in the order of their definition, `__start__` first.
        edges: pairs of source and target; both ends of the graph have names too.
        joins: pairs of sources, all of which have to run, and target.
        routes: conditional edges with known ends, and the `destinations=` and `Command[Literal[…]]` of nodes.
        interrupt_before, interrupt_after: names of nodes. "*" isn't drawn.
    """

    nodes: Mapping[str, NodeDescription]
    edges: Collection[tuple[str, str]] = ()
    joins: Collection[tuple[Sequence[str], str]] = ()
    routes: Sequence[Route] = ()
    interrupt_before: Collection[str] = ()
    interrupt_after: Collection[str] = ()


Inside = Callable[[str, "int | bool"], "Graph | None"]
"""The picture of the graph inside a node, for the xray given; None where there is none."""


def picture(description: Description, xray: int | bool = False, inside: Inside | None = None) -> Graph:
    """The picture of a graph.

    Args:
        xray: draw graphs inside nodes too: all of them, or so many levels of them.
        inside: draws the graph in a node; called for each node in order, with the xray that is left.
    """
    graph = Graph({name: _node(description, name) for name in description.nodes}, _edges(description))
    if any(edge.target == END for edge in graph.edges):
        graph.nodes[END] = Node(END, END, None, None)
    if xray and inside is not None:
        for name in description.nodes:
            within = inside(name, xray if isinstance(xray, bool) else xray - 1)
            if within is not None and len(within.nodes) > 1:
                graph.expand(name, within)
    return graph


def _node(description: Description, name: str) -> Node:
    node = description.nodes[name]
    metadata = dict(node.metadata or {})
    if node.defer:
        metadata["defer"] = True
    lists = {"before": description.interrupt_before, "after": description.interrupt_after}
    stops = [when for when, names in lists.items() if name in names]
    if stops:
        metadata["__interrupt"] = ",".join(stops)
    tools = getattr(node.data, "tools_by_name", None)
    if tools is not None:
        metadata["__tools"] = list(tools)
    return Node(name, name, node.data, metadata or None)


# -- the run on paper -----------------------------------------------------------------------------


class _Way(NamedTuple):
    """How a node was reached from another; of several the least is drawn."""

    source: str
    target: str
    conditional: bool = False
    label: str = ""


class _Gate(NamedTuple):
    """What opens the way to a node: one write, or one of each of `needs`."""

    target: str
    needs: frozenset[str] = frozenset()


def _edges(description: Description) -> list[Edge]:
    """The edges by source and target; those to the end that nobody named come last."""
    ways, last = _run(description)
    least = {way[:2]: way for way in sorted(ways, reverse=True)}
    edges = [_edge(least[pair]) for pair in sorted(least)]
    return [*edges, *_to_the_end(edges, last)]


def _edge(way: _Way) -> Edge:
    source, target, conditional, label = way
    return Edge(source, target, None if label in ("", target) else label, conditional)


def _to_the_end(edges: Sequence[Edge], last: Sequence[str]) -> list[Edge]:
    """Edges to the end from where nothing goes on; of a loop without a way out, from where the run was left."""
    sources = {edge.source for edge in edges}
    targets = {edge.target for edge in edges}
    ends = sorted(targets - sources - {END})
    if ends or END in targets:
        return [Edge(name, END) for name in ends]
    return [Edge(last[0], END, None, True)] if len(last) == 1 else []


def _run(description: Description) -> tuple[set[_Way], Sequence[str]]:
    """How nodes were reached, and which ran in the last step.

    A deferred node is reached when all others have ended. If none of those that have just ended wrote to it, they
    count as its sources too, since they are what was waited for.
    """
    first, later = _writes(description)
    wrote: dict[str, set[_Way]] = {}
    waiting: dict[_Gate, set[str]] = {}
    ways: set[_Way] = set()
    running: Sequence[str] = (START,)
    ran: set[str] = set()
    for _ in range(_STEPS):
        for name in running:
            for gate, way in (later if name in ran else first).get(name, ()):
                if gate.target == END:
                    ways.add(way)
                else:
                    wrote.setdefault(gate.target, set()).add(way)
                    waiting.setdefault(gate, set()).add(name)
        ran.update(running)
        complete = [gate for gate, names in waiting.items() if gate.needs <= names]
        ready = [gate for gate in complete if not description.nodes[gate.target].defer] or complete
        if not ready:
            break
        for gate in ready:
            del waiting[gate]
        reached = tuple(dict.fromkeys(gate.target for gate in ready))
        for name in reached:
            ways |= wrote[name]
            if not any(way.source in running for way in wrote[name]):
                ways.update(_Way(each, name, True) for each in running)
        running = reached
    return ways, running


_Writes = dict[str, list[tuple[_Gate, _Way]]]


def _writes(description: Description) -> tuple[_Writes, _Writes]:
    """What each node writes on its first run, and on later ones: a route is tried once, so that loops end."""
    first: _Writes = {}
    later: _Writes = {}
    routed = {route[:2] for route in description.routes}
    for source, target, label in description.routes:
        first.setdefault(source, []).append((_Gate(target), _Way(source, target, True, label or "")))
    for source, target in description.edges:
        if target != END:
            write = _Gate(target), _Way(source, target)
            later.setdefault(source, []).append(write)
            if (source, target) not in routed:
                first.setdefault(source, []).append(write)
    for sources, target in description.joins:
        for source in sources:
            write = _Gate(target, frozenset(sources)), _Way(source, target)
            first.setdefault(source, []).append(write)
            later.setdefault(source, []).append(write)
    return first, later
