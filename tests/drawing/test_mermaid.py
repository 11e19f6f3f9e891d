"""Mermaid text, byte for byte."""

import pytest

from flowfn.drawing import CurveStyle, Graph, Node, NodeStyles

from .shapes import graph


def body(drawn: Graph) -> list[str]:
    """The lines of nodes and edges."""
    lines = drawn.draw_mermaid().splitlines()
    return [line.strip() for line in lines if line.startswith("\t") and "classDef" not in line]


def test_the_whole_text() -> None:
    """Header, nodes with the shapes of the ends, edges, colours; each line ends in a newline."""
    drawn = graph("__start__ -> a", "a -?> b", "a -?> __end__: no", "b -> __end__")
    drawn.nodes["b"] = drawn.nodes["b"]._replace(metadata={"__interrupt": "before"})
    assert drawn.draw_mermaid() == (
        "---\nconfig:\n  flowchart:\n    curve: linear\n---\ngraph TD;\n"
        "\t__start__([<p>__start__</p>]):::first\n"
        "\ta(a)\n"
        "\tb(b<hr/><small><em>__interrupt = before</em></small>)\n"
        "\t__end__([<p>__end__</p>]):::last\n"
        "\t__start__ --> a;\n"
        "\ta -.-> b;\n"
        "\ta -. &nbsp;no&nbsp; .-> __end__;\n"
        "\tb --> __end__;\n"
        "\tclassDef default fill:#f2f0ff,line-height:1.2\n"
        "\tclassDef first fill-opacity:0\n"
        "\tclassDef last fill:#bfb6fc\n"
    )


def test_without_styles_only_the_edges_are_left() -> None:
    """No header, no nodes, no colours."""
    assert graph("a -> b").draw_mermaid(with_styles=False) == "graph TD;\n\ta --> b;\n"


def test_the_look_can_be_chosen() -> None:
    """Curve, colours, and whatever else Mermaid's header takes, which is merged with ours."""
    text = graph("a -> b").draw_mermaid(
        curve_style=CurveStyle.BASIS,
        node_colors=NodeStyles(default="fill:red"),
        frontmatter_config={"title": "a: b", "config": {"theme": "neutral"}},
    )
    assert text.startswith(
        "---\nconfig:\n  flowchart:\n    curve: basis\n  theme: neutral\ntitle: 'a: b'\n---\n"
    )
    assert "\tclassDef default fill:red\n" in text


@pytest.mark.parametrize(
    ("id", "line"),
    [
        ("agent node", r"agent\20node([agent node]):::last"),
        ("é(x)", r"\e9\28x\29([é(x)]):::last"),
        ("*bold*", r"\2abold\2a([<p>*bold*</p>]):::last"),
        ("_half", "_half([_half]):::last"),
    ],
)
def test_ids_are_escaped_and_names_are_not(id: str, line: str) -> None:
    """A name that Mermaid would read as emphasis is wrapped."""
    assert body(Graph({id: Node(id, id, None, None)})) == [line]


def test_metadata_is_shown_where_it_fits_in_a_line() -> None:
    """Scalars and flat lists, with Mermaid's special characters as entities; nested values are left out."""
    drawn = graph(nodes="a")
    drawn.nodes["a"] = Node("a", "a", None, {"n": 1, "l": [1, "x"], "s": '#["', "d": {"k": 1}, "none": None})
    assert "\n".join(body(drawn)) == "a([a<hr/><small><em>n = 1"
    assert "n = 1\nl = 1, x\ns = #35;#91;#quot;</em>" in drawn.draw_mermaid()


def test_a_long_label_is_wrapped() -> None:
    """So many words go on a line."""
    text = graph("a -> b: one two three four five").draw_mermaid(wrap_label_n_words=2)
    assert "a -- &nbsp;one two&nbsp<br>&nbspthree four&nbsp<br>&nbspfive&nbsp; --> b;" in text


def test_a_box_holds_its_nodes_edges_and_boxes() -> None:
    """An edge is in the box that both ends are in; a box without edges of its own comes last."""
    assert body(graph("s -> p:a", "p:a -> p:q:x", "p:q:x -> p:q:y", "p:q:y -> r:z")) == [
        "s([s]):::first",
        r"s --> p\3aa;",
        r"p\3aq\3ay --> r\3az;",
        "subgraph p",
        r"p\3aa(a)",
        r"p\3aa --> p\3aq\3ax;",
        "subgraph q",
        r"p\3aq\3ax(x)",
        r"p\3aq\3ay(y)",
        r"p\3aq\3ax --> p\3aq\3ay;",
        "end",
        "end",
        "subgraph r",
        r"r\3az([z]):::last",
        "end",
    ]


def test_two_boxes_of_one_name_are_refused() -> None:
    """Mermaid would draw them as one."""
    with pytest.raises(ValueError, match="Found duplicate subgraph 'p'"):
        graph("p:x -> p:y", "p:p:x -> p:p:y").draw_mermaid()
