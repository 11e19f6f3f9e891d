"""Section 8.1: the picture of a compiled graph, by example and beside LangGraph's own."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flowfn.drawing import Graph
from graph_compat.drawing import Description, NodeDescription, Route, picture

from .shapes import arrows, graph


def described(*edges: str, nodes: str = "", defer: str = "", joins: Any = (), **options: Any) -> Description:
    """A description from arrows; conditional ones are routes."""
    drawn = graph(*edges, nodes=f"__start__ {nodes}")
    names = [name for name in drawn.nodes if name != "__end__"]
    return Description(
        nodes={name: NodeDescription(defer=name in defer.split()) for name in names},
        edges=[edge[:2] for edge in drawn.edges if not edge.conditional],
        routes=[Route(*edge[:3]) for edge in drawn.edges if edge.conditional],
        joins=joins,
        **options,
    )


def test_what_leads_nowhere_leads_to_the_end() -> None:
    """Edges are sorted; those to the end that nobody named come last."""
    assert arrows(picture(described("__start__ -> b", "b -> a", "b -?> c"))) == [
        "__start__ -> b",
        "b -> a",
        "b -?> c",
        "a -> __end__",
        "c -> __end__",
    ]


def test_a_label_that_only_repeats_the_target_is_dropped() -> None:
    """A label says more than where the edge goes, or nothing."""
    assert arrows(picture(described("__start__ -> a", "a -?> b: b", "a -?> __end__: stop"))) == [
        "__start__ -> a",
        "a -?> __end__: stop",
        "a -?> b",
        "b -> __end__",
    ]


def test_what_can_never_run_has_no_edges() -> None:
    """A join wakes nobody while one of its sources doesn't run; the node is drawn all the same."""
    drawn = picture(described("__start__ -> a", nodes="b c", joins=[(("a", "b"), "c")]))
    assert arrows(drawn) == ["__start__ -> a", "a -> __end__"]
    assert list(drawn.nodes) == ["__start__", "b", "c", "a", "__end__"]


def test_a_join_is_an_edge_from_each_source() -> None:
    """Also where they run in different steps."""
    shape = described("__start__ -> a", "a -> b", nodes="c", joins=[(("a", "b"), "c")])
    assert arrows(picture(shape)) == ["__start__ -> a", "a -> b", "a -> c", "b -> c", "c -> __end__"]


def test_a_loop_without_a_way_out_may_end() -> None:
    """Then the node that ran last leads to the end, conditionally."""
    assert arrows(picture(described("__start__ -> a", "a -> a"))) == [
        "__start__ -> a",
        "a -> a",
        "a -?> __end__",
    ]


def test_a_deferred_node_waits_for_all_others() -> None:
    """Who ended last counts as a source, conditionally, if it named none."""
    drawn = picture(described("__start__ -> a", "a -> b", "a -> d", "b -> c", defer="d"))
    assert arrows(drawn)[3:] == ["b -> c", "c -?> d", "d -> __end__"]
    assert drawn.nodes["d"].metadata == {"defer": True}


def test_interrupts_are_metadata() -> None:
    """Section 8.1, 2: before, after or both, behind what the author wrote; "*" isn't drawn."""
    shape = described("__start__ -> a", "a -> b", interrupt_before=["a", "b"], interrupt_after=["b"])
    nodes = picture(shape).nodes
    assert nodes["a"].metadata == {"__interrupt": "before"}
    assert nodes["b"].metadata == {"__interrupt": "before,after"}
    assert picture(described("__start__ -> a", interrupt_after="*")).nodes["a"].metadata is None


def test_xray_draws_the_graph_in_a_node() -> None:
    """So many levels of them, or all."""
    shape = described("__start__ -> n")

    def inside(name: str, left: int | bool) -> Graph | None:
        return picture(shape, left, inside) if name == "n" and depth.pop() else None

    depth = [False, True, True]
    assert list(picture(shape, True, inside).nodes)[-1] == "n:n:n"
    depth = [False, True, True]
    assert list(picture(shape, 1, inside).nodes)[-1] == "n:n"
    assert list(picture(shape, False, inside).nodes) == ["__start__", "n", "__end__"]


# -- beside LangGraph -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def langgraph() -> Any:
    """The translator from LangGraph's builders."""
    pytest.importorskip("langgraph")
    from . import langgraph_programs

    return langgraph_programs


def build(draw: st.DrawFn, langgraph: Any, depth: int = 0) -> Any:
    """A compiled graph of LangGraph's: any edges, joins, branches, destinations and graphs in nodes."""

    def chance(percent: int) -> bool:
        return draw(st.integers(0, 99)) < percent

    builder = langgraph.builder()
    names = [f"n{number}" for number in range(draw(st.integers(1, 5 if depth == 0 else 3)))]
    source, target = st.sampled_from(names), st.sampled_from([*names, "__end__"])
    for name in names:
        options: dict[str, Any] = {
            "defer": chance(20),
            "metadata": draw(st.sampled_from([None, {}, {"k": 1}])),
        }
        action = langgraph.passes
        if depth < 2 and chance(20):
            action = build(draw, langgraph, depth + 1)
        elif chance(20):
            to = draw(st.lists(target, max_size=2))
            labels = {each: draw(st.sampled_from(["go", each])) for each in to}
            options["destinations"] = draw(st.sampled_from([tuple(to), labels]))
        builder.add_node(name, action, **options)
    for start in draw(st.lists(source, min_size=1, max_size=2)):
        builder.add_edge("__start__", start)
    for pair in draw(st.lists(st.tuples(source, target), max_size=4)):
        builder.add_edge(*pair)
    if chance(40):
        builder.add_edge(draw(st.lists(source, min_size=1, max_size=2, unique=True)), draw(source))
    for number in range(draw(st.integers(0, 2))):
        maps = st.dictionaries(st.sampled_from(["x", "y", "n0"]), target, min_size=1, max_size=2)
        path_map = draw(st.none() | maps | st.lists(target, min_size=1, max_size=2))
        path = route(number)
        builder.add_conditional_edges(draw(st.sampled_from([*names, "__start__"])), path, path_map)
    stops = st.sampled_from([None, "*", names[:1]])
    return builder.compile(interrupt_before=draw(stops), interrupt_after=draw(stops))


def route(number: int) -> Any:
    def path(state: dict[str, Any]) -> str:
        return ""

    path.__name__ = f"path{number}"
    return path


@settings(max_examples=150)
@given(st.data(), st.sampled_from([False, True, 1, 2]))
def test_any_graph_is_drawn_as_langgraph_draws_it(langgraph: Any, data: st.DataObject, xray: Any) -> None:
    """JSON and Mermaid text are equal. Where LangGraph can't sort labels and fails, there is nothing to compare."""
    try:
        compiled = data.draw(st.composite(build)(langgraph))
        theirs = compiled.get_graph(xray=xray)
    except (TypeError, ValueError):
        assume(False)
    ours = langgraph.drawn(compiled, xray)
    assert ours.to_json() == theirs.to_json()
    assert text(ours) == text(theirs)


def text(drawn: Any) -> str:
    try:
        return str(drawn.draw_mermaid())
    except ValueError as error:
        return str(error)
