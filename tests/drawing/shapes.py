"""Graphs for tests, written as arrows."""

from flowfn.drawing import Edge, Graph, Node


def graph(*arrows: str, nodes: str = "") -> Graph:
    """A graph from arrows such as `a -> b` and `a -?> b: label`; `nodes` are those that are named first."""
    edges = []
    for arrow in arrows:
        ends, _, label = arrow.partition(": ")
        conditional = "-?>" in ends
        source, _, target = ends.partition(" -?> " if conditional else " -> ")
        edges.append(Edge(source, target, label or None, conditional))
    names = [*nodes.split(), *(end for edge in edges for end in edge[:2])]
    return Graph({name: Node(name, name, None, None) for name in names}, edges)


def arrows(drawn: Graph) -> list[str]:
    """The edges of a graph as arrows."""
    return [
        f"{source} {'-?>' if conditional else '->'} {target}" + (f": {label}" if label is not None else "")
        for source, target, label, conditional in drawn.edges
    ]
