"""A graph as data, with the methods that users of langchain-core's `Graph` call.

An id may have parts, joined by ":": `outer:inner` is drawn inside the box `outer`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from flowfn.drawing.mermaid import CurveStyle, MermaidDrawMethod, NodeStyles

__all__ = ["Edge", "Graph", "Node"]


class Node(NamedTuple):
    """A node. `data` is what it stands for: a callable, a schema class or None."""

    id: str
    name: str
    data: Any
    metadata: dict[str, Any] | None

    def copy(self, *, id: str | None = None, name: str | None = None) -> Node:
        """The same node under another id or name."""
        return self._replace(id=id or self.id, name=name or self.name)


class Edge(NamedTuple):
    """An arrow between two ids. `data` is its label, `conditional` says that it isn't always taken."""

    source: str
    target: str
    data: Any = None
    conditional: bool = False

    def copy(self, *, source: str | None = None, target: str | None = None) -> Edge:
        """The same edge between other ids."""
        return self._replace(source=source or self.source, target=target or self.target)


@dataclass
class Graph:
    """Nodes by id, in the order of drawing, and the edges between them."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.nodes)

    # -- building -------------------------------------------------------------------------------

    def next_id(self) -> str:
        """A new id: 32 hexadecimal digits."""
        return uuid4().hex

    def add_node(self, data: Any, id: str | None = None, *, metadata: dict[str, Any] | None = None) -> Node:
        """Add a node, named by its id, or by its data where no id is given.

        Raises:
            ValueError: the id is taken.
        """
        if id is not None and id in self.nodes:
            raise ValueError(f"Node with id {id} already exists")
        key = id or self.next_id()
        node = Node(key, name_of(id, data), data, metadata)
        self.nodes[key] = node
        return node

    def remove_node(self, node: Node) -> None:
        """Remove a node with its edges.

        Raises:
            KeyError: it isn't there.
        """
        del self.nodes[node.id]
        self.edges = [edge for edge in self.edges if node.id not in (edge.source, edge.target)]

    def add_edge(self, source: Node, target: Node, data: Any = None, conditional: bool = False) -> Edge:
        """Add an edge between two nodes of the graph.

        Raises:
            ValueError: one of them isn't there.
        """
        for end, node in (("Source", source), ("Target", target)):
            if node.id not in self.nodes:
                raise ValueError(f"{end} node {node.id} not in graph")
        edge = Edge(source.id, target.id, data, conditional)
        self.edges.append(edge)
        return edge

    def extend(self, graph: Graph, *, prefix: str = "") -> tuple[Node | None, Node | None]:
        """Add all of another graph, with ids (but made-up ones) below `prefix`; its first and last node here."""
        if prefix and not all(map(_is_made_up, graph.nodes)):
            graph = graph._renamed({key: f"{prefix}:{key}" for key in graph.nodes})
        self.nodes.update(graph.nodes)
        self.edges.extend(graph.edges)
        return graph.first_node(), graph.last_node()

    def expand(self, id: str, inner: Graph) -> None:
        """Put a graph in the place of a node, in a box of its id. Its ends go where they are only passed.

        A graph without one first and one last node is left out: nothing would say where the edges belong.
        """
        inner = Graph(dict(inner.nodes), list(inner.edges))
        inner.trim_first_node()
        inner.trim_last_node()
        nodes = {f"{id}:{key}": node for key, node in inner.nodes.items()}
        inner = Graph(
            {key: node.copy(id=key) for key, node in nodes.items()},
            [edge.copy(source=f"{id}:{edge.source}", target=f"{id}:{edge.target}") for edge in inner.edges],
        )
        first, last = inner.first_node(), inner.last_node()
        if first is None or last is None:
            return
        del self.nodes[id]
        self.nodes.update(inner.nodes)
        self.edges = [
            edge.copy(
                source=last.id if edge.source == id else None, target=first.id if edge.target == id else None
            )
            for edge in self.edges
        ]
        self.edges += inner.edges

    def reid(self) -> Graph:
        """A copy whose made-up ids are replaced by names, numbered where several nodes share one."""
        shared = Counter(node.name for node in self.nodes.values())
        numbers: Counter[str] = Counter()
        ids = {}
        for key, node in self.nodes.items():
            numbers[node.name] += 1
            name = f"{node.name}_{numbers[node.name]}" if shared[node.name] > 1 else node.name
            ids[key] = name if _is_made_up(key) else key
        return self._renamed(ids)

    def _renamed(self, ids: Mapping[str, str]) -> Graph:
        nodes = {ids[key]: node.copy(id=ids[key]) for key, node in self.nodes.items()}
        edges = [edge.copy(source=ids[edge.source], target=ids[edge.target]) for edge in self.edges]
        return Graph(nodes, edges)

    # -- the ends -------------------------------------------------------------------------------

    def first_node(self) -> Node | None:
        """The only node that no edge leads to; None where there is none, or more than one."""
        return self._end({edge.target for edge in self.edges})

    def last_node(self) -> Node | None:
        """The only node that no edge starts from; None where there is none, or more than one."""
        return self._end({edge.source for edge in self.edges})

    def trim_first_node(self) -> None:
        """Remove the first node if it has one edge, and another node is the first without it."""
        first = self.first_node()
        if first is not None and self._is_spare(first, Graph.first_node):
            self.remove_node(first)

    def trim_last_node(self) -> None:
        """Remove the last node if it has one edge, and another node is the last without it."""
        last = self.last_node()
        if last is not None and self._is_spare(last, Graph.last_node):
            self.remove_node(last)

    def _is_spare(self, node: Node, end: Callable[[Graph], Node | None]) -> bool:
        """Whether the graph has such an end without the node too; edges that are equal count as one."""
        edges = [edge for edge in self.edges if node.id in (edge.source, edge.target)]
        rest = Graph(dict(self.nodes), list(self.edges))
        rest.remove_node(node)
        return all(edge == edges[0] for edge in edges) and end(rest) is not None

    def _end(self, taken: Collection[str]) -> Node | None:
        found = [node for key, node in self.nodes.items() if key not in taken]
        return found[0] if len(found) == 1 else None

    # -- drawing --------------------------------------------------------------------------------

    def to_json(self, *, with_schemas: bool = False) -> dict[str, list[dict[str, Any]]]:
        """The graph as JSON data; made-up ids become the nodes' numbers.

        Args:
            with_schemas: JSON schemas in place of the names of schema classes.
        """
        ids = {key: number if _is_made_up(key) else key for number, key in enumerate(self.nodes)}
        nodes = [
            {"id": ids[key], **_data_as_json(node, with_schemas)}
            | ({} if node.metadata is None else {"metadata": node.metadata})
            for key, node in self.nodes.items()
        ]
        edges = [
            {"source": ids[source], "target": ids[target]}
            | ({} if data is None else {"data": data})
            | ({"conditional": True} if conditional else {})
            for source, target, data, conditional in self.edges
        ]
        return {"nodes": nodes, "edges": edges}

    def draw_mermaid(
        self,
        *,
        with_styles: bool = True,
        curve_style: CurveStyle = CurveStyle.LINEAR,
        node_colors: NodeStyles | None = None,
        wrap_label_n_words: int = 9,
        frontmatter_config: dict[str, Any] | None = None,
    ) -> str:
        """The graph as Mermaid text.

        Args:
            with_styles: with the header, the nodes' shapes and the colours; else the edges alone.
            curve_style: how Mermaid bends edges.
            node_colors: CSS of the nodes, the first and the last.
            wrap_label_n_words: how many words of an edge's label go on a line.
            frontmatter_config: what else the header configures, such as `{"config": {"theme": "neutral"}}`; needs
                PyYAML.

        Raises:
            ValueError: two boxes have one name, which Mermaid would draw as one.
        """
        from flowfn.drawing.mermaid import draw_mermaid

        return draw_mermaid(
            self.reid(),
            with_styles=with_styles,
            curve_style=curve_style,
            node_styles=node_colors or NodeStyles(),
            wrap_label_n_words=wrap_label_n_words,
            frontmatter_config=frontmatter_config,
        )

    def draw_mermaid_png(
        self,
        *,
        curve_style: CurveStyle = CurveStyle.LINEAR,
        node_colors: NodeStyles | None = None,
        wrap_label_n_words: int = 9,
        output_file_path: str | PathLike[str] | None = None,
        draw_method: MermaidDrawMethod | None = None,
        background_color: str = "white",
        padding: int = 10,
        max_retries: int = 1,
        retry_delay: float = 1.0,
        frontmatter_config: dict[str, Any] | None = None,
        base_url: str | None = None,
        proxies: dict[str, str] | None = None,
    ) -> bytes:
        """The graph as a PNG image, made on this machine.

        Drawn by Mermaid's own command `mmdc` where it is on the path, else from `draw_svg` by whichever of
        cairosvg, `rsvg-convert`, `resvg`, `inkscape` or `magick` is installed.

        Args:
            output_file_path: a file to write the image to as well.
            draw_method: `MermaidDrawMethod.API` sends the picture to the public service mermaid.ink, or to the one
                at `base_url`, which takes `max_retries` and `retry_delay` (seconds) and goes through `proxies`.
            background_color: a CSS colour, or `transparent`.
            padding: pixels around the picture, where a local browser draws.

        Raises:
            RendererMissing: nothing is installed that could draw it; says what to install.
            ValueError: mermaid.ink refused it, or couldn't be reached.
        """
        from flowfn.drawing.png import Rendering, draw

        text = self.draw_mermaid(
            curve_style=curve_style,
            node_colors=node_colors,
            wrap_label_n_words=wrap_label_n_words,
            frontmatter_config=frontmatter_config,
        )
        rendering = Rendering(background_color, padding, max_retries, retry_delay, base_url, proxies)
        image = draw(text, self.draw_svg, draw_method or MermaidDrawMethod.LOCAL, rendering)
        if output_file_path is not None:
            _write(output_file_path, image)
        return image

    def draw_svg(self, *, background_color: str | None = None) -> str:
        """The graph as an SVG image, with no help from outside."""
        from flowfn.drawing.svg import draw_svg

        return draw_svg(self.reid(), background_color)

    def draw_ascii(self) -> str:
        """The graph in characters, for a terminal.

        Raises:
            ImportError: grandalf, which places the nodes, isn't installed.
        """
        from flowfn.drawing.ascii import draw_ascii

        graph = self.reid()
        return draw_ascii({key: node.name for key, node in graph.nodes.items()}, graph.edges)

    def print_ascii(self) -> None:
        """Print `draw_ascii()`."""
        print(self.draw_ascii())

    def draw_png(
        self,
        output_file_path: str | PathLike[str] | None = None,
        fontname: str | None = None,
        labels: Mapping[str, Mapping[str, str]] | None = None,
    ) -> bytes | None:
        """The graph as a PNG image, drawn by Graphviz' `dot`.

        Args:
            output_file_path: a file to write to; then nothing is returned.
            fontname: a font that Graphviz knows.
            labels: other names for nodes and edges, by their ids and labels: `{"nodes": {…}, "edges": {…}}`.

        Raises:
            RendererMissing: `dot` isn't on the path.
        """
        from flowfn.drawing.dot import draw_png

        image = draw_png(self.reid(), fontname or "arial", labels or {})
        if output_file_path is None:
            return image
        _write(output_file_path, image)
        return None

    def _repr_svg_(self) -> str:
        return self.draw_svg()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows."""
        return {
            "text/plain": repr(self),
            "image/svg+xml": self.draw_svg(),
            "text/vnd.mermaid": self.draw_mermaid(),
        }


def name_of(id: str | None, data: Any) -> str:
    """What a node is called: its id if it isn't made up, else what its data calls itself."""
    if id is not None and not _is_made_up(id):
        return id
    own = getattr(data, "get_name", None)
    name = own() if callable(own) and not isinstance(data, type) else getattr(data, "__name__", None)
    text = str(name or data)
    return text.removeprefix("Runnable")


def _data_as_json(node: Node, with_schemas: bool) -> dict[str, Any]:
    data, name = node.data, node.name if _is_made_up(node.id) else node.id
    if data is None:
        return {}
    schema = getattr(data, "model_json_schema", None)
    if isinstance(data, type) and schema is not None:
        return {"type": "schema", "data": schema() if with_schemas else name}
    return {"type": "runnable", "data": {"id": _path_of(data), "name": name}}


def _path_of(data: Any) -> list[str]:
    """Where the type of a node's data is defined, as the parts of a dotted name; a langchain type knows it itself."""
    own = getattr(data, "lc_id", None)
    if callable(own):
        return list(own())
    kind = data if isinstance(data, type) else type(data)
    return [*kind.__module__.split("."), kind.__name__]


def _is_made_up(id: str) -> bool:
    """Whether an id is a UUID, which nobody wants to see."""
    try:
        UUID(id)
    except ValueError:
        return False
    return True


def _write(path: str | PathLike[str], data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
