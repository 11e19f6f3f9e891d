"""Whatever the graph: the same text, JSON and changes as langchain-core's `Graph`."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowfn.drawing import graph as ours

theirs = pytest.importorskip("langchain_core.runnables.graph")

MADE_UP = ["3aebdda6cdd342b6b7ae0fa111208a1f", "85efc11c0ed542d1b3a87071da1751c0"]
PATHS = st.lists(st.sampled_from("abcpq"), min_size=1, max_size=4).map(":".join)
IDS = PATHS | st.sampled_from(["__start__", "_x*", "é é", *MADE_UP])
VALUES = st.sampled_from([1, 1.5, None, "a]b", "", True, [1, "q"], [], {"a": 1}, [{"b": 1}], (1,), b"x"])
METADATA = st.none() | st.dictionaries(st.sampled_from("k(#"), VALUES, max_size=2)
LABELS = st.sampled_from([None, None, "x", "a b c d e", "", 5, " l  r "])


@st.composite
def shapes(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Nodes (id, name, data, metadata) and edges, as plain tuples."""
    ids = draw(st.lists(IDS, max_size=8, unique=True))
    names = st.sampled_from(["n", "m:k", "__start__"])
    nodes = [(key, draw(st.just(key) | names), None, draw(METADATA)) for key in ids]
    if not ids:
        return nodes, []
    edges = st.tuples(st.sampled_from(ids), st.sampled_from(ids), LABELS, st.booleans())
    return nodes, draw(st.lists(edges, max_size=12))


def built(module: Any, shape: tuple[list[Any], list[Any]]) -> Any:
    nodes, edges = shape
    return module.Graph({node[0]: module.Node(*node) for node in nodes}, [module.Edge(*e) for e in edges])


def outcome(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except ValueError as error:
        return str(error)


def plain(graph: Any) -> Any:
    return [tuple(node) for node in graph.nodes.values()], [tuple(edge) for edge in graph.edges]


@settings(max_examples=400)
@given(shapes(), st.booleans(), st.integers(1, 9))
def test_the_same_texts(shape: Any, with_styles: bool, words: int) -> None:
    """Mermaid text, or the same refusal; JSON; and the ids that are shown."""
    one, other = built(ours, shape), built(theirs, shape)
    options = {"with_styles": with_styles, "wrap_label_n_words": words}
    assert outcome(lambda: one.draw_mermaid(**options)) == outcome(lambda: other.draw_mermaid(**options))
    assert one.to_json() == other.to_json()
    assert plain(one.reid()) == plain(other.reid())


@settings(max_examples=200)
@given(shapes(), shapes(), st.sampled_from(["", "p"]))
def test_the_same_changes(shape: Any, more: Any, prefix: str) -> None:
    """Trimming the ends, and taking in another graph."""
    one, other = built(ours, shape), built(theirs, shape)
    for graph in (one, other):
        graph.trim_first_node()
        graph.trim_last_node()
    assert plain(one) == plain(other)
    ends = one.extend(built(ours, more), prefix=prefix), other.extend(built(theirs, more), prefix=prefix)
    assert ends[0] == ends[1]
    assert plain(one) == plain(other)


@st.composite
def connected(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Trees with a few further edges, at most one between two nodes: what grandalf places in one way."""
    size = draw(st.integers(1, 6))
    ids = [chr(97 + number) for number in range(size)]
    nodes = [(key, key * draw(st.integers(1, 12)), None, None) for key in ids]
    pairs = [(ids[draw(st.integers(0, n - 1))], ids[n]) for n in range(1, size)]
    return nodes, [(*pair, None, draw(st.booleans())) for pair in pairs]


@settings(max_examples=100)
@given(connected())
def test_the_same_characters(shape: Any) -> None:
    """`draw_ascii` gives what langchain-core's gives, character for character."""
    pytest.importorskip("grandalf")
    assert built(ours, shape).draw_ascii() == built(theirs, shape).draw_ascii()
