"""A graph as data: building it, its ends, and what it is as JSON."""

from typing import Any

import pytest
from pydantic import BaseModel

from flowfn.drawing import Edge, Graph, Node

from .shapes import arrows, graph


class Schema(BaseModel):
    """A schema class as a node's data."""

    x: int


def test_a_graph_is_built_node_by_node() -> None:
    """Nodes are named by their id; edges go between nodes that are there."""
    drawn = Graph()
    a, b = drawn.add_node(None, "a"), drawn.add_node(len, "b", metadata={"k": 1})
    assert drawn.add_edge(a, b, "go", True) == Edge("a", "b", "go", True)
    assert drawn.nodes == {"a": Node("a", "a", None, None), "b": Node("b", "b", len, {"k": 1})}
    assert drawn
    assert not Graph()


def test_what_does_not_fit_is_refused() -> None:
    """A taken id, and an edge from or to a stranger, are errors of the caller."""
    drawn = graph("a -> b")
    a, stranger = drawn.nodes["a"], Node("s", "s", None, None)
    with pytest.raises(ValueError, match="Node with id a already exists"):
        drawn.add_node(None, "a")
    with pytest.raises(ValueError, match="Target node s not in graph"):
        drawn.add_edge(a, stranger)
    with pytest.raises(ValueError, match="Source node s not in graph"):
        drawn.add_edge(stranger, a)


def test_a_removed_node_takes_its_edges_along() -> None:
    """No edge is left that leads nowhere."""
    drawn = graph("a -> b", "b -> c", "a -> c")
    drawn.remove_node(drawn.nodes["b"])
    assert arrows(drawn) == ["a -> c"]


@pytest.mark.parametrize(
    ("drawn", "first", "last"),
    [
        (graph("a -> b", "b -> c"), "a", "c"),
        (graph("a -> c", "b -> c"), None, "c"),
        (graph("a -> b", nodes="x"), None, None),
        (graph("a -> b", "b -> a"), None, None),
        (graph(nodes="a"), "a", "a"),
    ],
)
def test_an_end_is_the_only_node_without_edges_on_its_side(drawn: Graph, first: Any, last: Any) -> None:
    """Where several would do, there is none."""
    ends = drawn.first_node(), drawn.last_node()
    assert tuple(end and end.id for end in ends) == (first, last)


@pytest.mark.parametrize(
    ("drawn", "left"),
    [
        (graph("s -> a", "a -> b", "b -> e"), ["a", "b"]),
        (graph("s -> a", "s -> b", "a -> e", "b -> e"), ["s", "a", "b", "e"]),
        (graph("s -> a", "a -> b", "b -> a", "b -> e"), ["s", "a", "b", "e"]),
    ],
)
def test_only_an_end_that_is_merely_passed_is_trimmed(drawn: Graph, left: list[str]) -> None:
    """An end goes if it has one edge, and another node is the end without it."""
    drawn.trim_first_node()
    drawn.trim_last_node()
    assert list(drawn.nodes) == left


def test_a_graph_takes_the_place_of_a_node() -> None:
    """Edges to the node lead to the first of what is in it, those from it start at the last."""
    drawn = graph("s -> n", "n -?> e: out")
    drawn.expand("n", graph("s -> a", "a -> b", "b -> e"))
    assert arrows(drawn) == ["s -> n:a", "n:b -?> e: out", "n:a -> n:b"]
    assert list(drawn.nodes) == ["s", "e", "n:a", "n:b"]


def test_a_graph_without_ends_stays_a_node() -> None:
    """Nothing would say where the edges belong."""
    drawn = graph("s -> n")
    drawn.expand("n", graph("a -> b", "b -> a"))
    assert list(drawn.nodes) == ["s", "n"]


def test_ids_that_nobody_chose_are_replaced_by_names() -> None:
    """They are numbered where several nodes share a name."""
    drawn = Graph()
    first, second, other = drawn.add_node(len), drawn.add_node(len), drawn.add_node(max)
    drawn.add_edge(first, second)
    assert list(drawn.reid().nodes) == ["len_1", "len_2", "max"]
    assert arrows(drawn.reid()) == ["len_1 -> len_2"]
    assert other.id in drawn.nodes


def test_json_says_what_a_node_is() -> None:
    """Nothing, a schema class, or code with the place of its type; ids that nobody chose become numbers."""
    drawn = Graph()
    start, schema = drawn.add_node(None, "__start__"), drawn.add_node(Schema)
    run = drawn.add_node(Node.copy, "run", metadata={"k": 1})
    drawn.add_edge(start, schema)
    drawn.add_edge(schema, run, "go", True)
    assert drawn.to_json() == {
        "nodes": [
            {"id": "__start__"},
            {"id": 1, "type": "schema", "data": "Schema"},
            {
                "id": "run",
                "type": "runnable",
                "data": {"id": ["builtins", "function"], "name": "run"},
                "metadata": {"k": 1},
            },
        ],
        "edges": [
            {"source": "__start__", "target": 1},
            {"source": 1, "target": "run", "data": "go", "conditional": True},
        ],
    }
    assert drawn.to_json(with_schemas=True)["nodes"][1]["data"]["properties"]["x"]["type"] == "integer"
