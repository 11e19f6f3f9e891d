"""Drawings: Mermaid texts and JSON, byte for byte (behaviour of section 8)."""

import itertools
import operator
import os
import sys
from typing import Annotated, Literal, TypedDict
from unittest.mock import patch

from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.graph import CurveStyle, Graph, NodeStyles
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel.protocol import PregelProtocol
from langgraph.types import Command, Send

from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


def nothing(state):
    """Does nothing."""
    return {}


def graph(nodes, *edges):
    builder = StateGraph(State)
    for node in nodes:
        builder.add_node(node, nothing)
    for edge in edges:
        builder.add_edge(*edge)
    return builder


def draw(t, graph, **kw):
    """Record all of a graph's drawing."""
    drawn = graph.get_graph(**kw)
    t.note("mermaid", drawn.draw_mermaid())
    t.note("plain", drawn.draw_mermaid(with_styles=False))
    t.note("nodes", [(n.id, n.name, n.metadata) for n in drawn.nodes.values()])
    t.note("edges", list(drawn.edges))


async def a_chain(t):
    """Nodes one after the other."""
    draw(t, graph("abc", (START, "a"), ("a", "b"), ("b", "c"), ("c", END)).compile())


async def no_edge_to_the_end(t):
    """A node without an edge out leads to the end."""
    draw(t, graph("ab", (START, "a"), ("a", "b")).compile())


async def a_diamond(t):
    """Two ways that join."""
    edges = ((START, "a"), ("a", "b"), ("a", "c"), (["b", "c"], "d"), ("d", END))
    draw(t, graph("abcd", *edges).compile())


async def conditional_edges(t):
    """The targets of a conditional edge are those of its map, its list or its annotation."""

    def literal(state) -> Literal["b", "c"]:
        return "b"

    def plain(state):
        return "b"

    for path, path_map in (
        (literal, None),
        (plain, ["b", "c"]),
        (plain, {"yes": "b", "no": END}),
        (plain, {"b": "b", "a long label of very many words that is split": "c"}),
        (plain, None),
    ):
        builder = graph("abc", (START, "a"), ("b", END))
        builder.add_conditional_edges("a", path, path_map)
        draw(t, builder.compile())


async def conditional_entry(t):
    """A conditional edge from the start."""
    builder = graph("ab")
    builder.set_conditional_entry_point(lambda state: "a", {"first": "a", "second": "b"})
    draw(t, builder.compile())


async def commands(t):
    """A node's Command shows the targets that its annotation or `destinations` name."""

    def annotated(state) -> Command[Literal["b", "__end__"]]:
        return Command(goto="b")

    builder = graph("b", (START, "a"))
    builder.add_node("a", annotated)
    builder.add_node("c", nothing, destinations=("a", "b"))
    builder.add_node("d", nothing, destinations={"a": "again", END: "done"})
    builder.add_edge("b", "c")
    builder.add_edge("b", "d")
    draw(t, builder.compile())


async def loops(t):
    """An edge back, and a node that leads to itself."""
    builder = graph("ab", (START, "a"), ("b", "a"))
    builder.add_conditional_edges("a", lambda state: "b", ["a", "b", END])
    draw(t, builder.compile())


async def sends(t):
    """Sends are drawn by the list of their targets."""
    builder = graph("awz", (START, "a"), ("w", "z"))
    builder.add_conditional_edges("a", lambda state: [Send("w", {})], ["w"])
    draw(t, builder.compile())


async def breakpoints(t):
    """A breakpoint is metadata of its node; that of all nodes isn't drawn."""
    builder = graph("abc", (START, "a"), ("a", "b"), ("b", "c"))
    draw(t, builder.compile(interrupt_before=["a", "b"], interrupt_after=["b"]))
    draw(t, builder.compile(interrupt_before="*"))


async def metadata(t):
    """Metadata and `defer` are drawn below the name, escaped."""
    builder = graph("a", (START, "a"), ("a", "b"))
    builder.add_node("b", nothing, defer=True, metadata={"n": 1, "s": "<a> [b]", "l": [1, 2], "d": {"k": 1}})
    draw(t, builder.compile())


async def tools_that_wait(t):
    """A node of tools says what its author noted, that it is deferred, where it stops, and its tools, in this order."""
    builder = StateGraph(State).add_node("t", ToolNode([nothing]), defer=True, metadata={"k": 1})
    draw(t, builder.set_entry_point("t").compile(interrupt_before=["t"]))
    t.note("order", list(builder.compile(interrupt_after=["t"]).get_graph().nodes["t"].metadata))


async def names_that_are_escaped(t):
    """Ids are escaped, and names of Markdown are wrapped."""
    names = ["agent node", "ünï", "*star*", "_under_", "a.b/c", "`tick`"]
    builder = graph(names, (START, names[0]), *itertools.pairwise(names))
    draw(t, builder.compile())


async def unreachable_nodes(t):
    """A node that nothing leads to is drawn without edges."""
    draw(t, graph("ab", (START, "a")).compile())


async def error_handlers(t):
    """What handles a node's errors is drawn without edges, before its node; what handles all others', last."""

    def handle(state):
        return Command(goto="b")

    builder = StateGraph(State).add_node("a", lambda state: None, error_handler=handle)
    builder.set_node_defaults(error_handler=handle).add_node("b", lambda state: None)
    compiled = builder.add_edge(START, "a").compile()
    draw(t, compiled)
    t.note("nodes", [list(builder.nodes), list(compiled.nodes)])


async def subgraphs(t):
    """A subgraph is one node, or with xray all its nodes in a box."""
    leaf = graph("pq", (START, "p"), ("p", "q")).compile()
    builder = graph("mn", (START, "m"), ("m", "leaf"), ("leaf", "n"))
    builder.add_node("leaf", leaf)
    middle = builder.compile()
    builder = graph("az", (START, "a"), ("a", "middle"), ("middle", "z"))
    builder.add_node("middle", middle)
    outer = builder.compile()
    for xray in (False, True, 1, 2):
        draw(t, outer, xray=xray)


def forwarded(name):
    """A method that does what the graph inside does."""

    def method(self, *args, **kw):
        return getattr(self.graph, name)(*args, **kw)

    return method


class Elsewhere(PregelProtocol):
    """A graph of a program's own kind: one that runs elsewhere, say."""

    locals().update({name: forwarded(name) for name in PregelProtocol.__abstractmethods__})

    def __init__(self, graph):
        self.graph = graph


async def graphs_of_a_programs_own_kind(t):
    """They are drawn as subgraphs are, and are among them."""
    builder = graph("a", (START, "a"), ("a", "far"), ("far", END))
    builder.add_node("far", Elsewhere(graph("xy", (START, "x"), ("x", "y"), ("y", END)).compile()))
    outer = builder.compile()
    t.note("subgraphs", [(name, type(found).__name__) for name, found in outer.get_subgraphs(recurse=True)])
    for xray in (False, 1, True):
        draw(t, outer, xray=xray)
    await t.invoke(outer, {"x": [1]})


async def subgraph_of_one_node(t):
    """A subgraph of a single node is drawn as that node."""
    sub = graph("s", (START, "s")).compile()
    builder = graph("a", (START, "a"), ("a", "sub"))
    builder.add_node("sub", sub)
    draw(t, builder.compile(), xray=True)


async def conditional_edges_into_a_subgraph(t):
    """With xray an edge to a subgraph leads to its first node."""
    sub = graph("pq", (START, "p"), ("p", "q")).compile()
    builder = graph("ab", (START, "a"), ("sub", "b"))
    builder.add_node("sub", sub)
    builder.add_conditional_edges("a", lambda state: "b", {"deep": "sub", "flat": "b"})
    draw(t, builder.compile(), xray=True)


async def entrypoints(t):
    """An entrypoint is one node."""

    @task
    def work(n):
        return n

    @entrypoint()
    def flow(n):
        return work(n).result()

    draw(t, flow)


async def json(t):
    """The JSON of a graph has its nodes and edges."""
    builder = graph("ab", (START, "a"))
    builder.add_conditional_edges("a", lambda state: "b", {"yes": "b", "no": END})
    drawn = builder.compile(interrupt_before=["b"]).get_graph()
    drawing = drawn.to_json()
    for node in drawing["nodes"]:
        if "data" in node:
            del node["data"]["id"]  # the path of a private class
    t.note("json", drawing)


async def what_runs_is_a_nodes_data(t):
    """A node's data is the runnable of the graph's node."""
    compiled = graph("ab", (START, "a"), ("a", "b")).compile()
    drawn = compiled.get_graph()
    t.note("bound", [drawn.nodes[name].data is node.bound for name, node in compiled.nodes.items()])
    t.note("func", drawn.nodes["a"].data.func.__name__)


async def what_is_added_later_is_not_drawn(t):
    """A picture is of the graph as it was compiled."""
    builder = graph("ab", (START, "a"), ("a", "b"))
    compiled = builder.compile()
    builder.add_node("c", lambda state: None)
    builder.add_edge("b", "c")
    builder.add_edge("b", "a")
    builder.add_conditional_edges("a", lambda state: END, [END])
    draw(t, compiled)


async def styles(t):
    """A drawing takes colours, curves, widths of labels and front matter."""
    builder = graph("ab", (START, "a"))
    builder.add_conditional_edges("a", lambda state: "b", {"one two three four": "b", "no": END})
    drawn = builder.compile().get_graph()
    t.note("curve", drawn.draw_mermaid(curve_style=CurveStyle.CARDINAL))
    t.note("colours", drawn.draw_mermaid(node_colors=NodeStyles(default="fill:#fff", first="", last="x")))
    t.note("labels", drawn.draw_mermaid(wrap_label_n_words=2))
    t.note("front matter", drawn.draw_mermaid(frontmatter_config={"config": {"theme": "neutral"}}))


async def an_image_that_nothing_can_draw(t):
    """What is to be installed is told by an ImportError."""
    drawn = graph("a", (START, "a")).compile().get_graph()
    with patch.dict(os.environ, PATH=""), patch.dict(sys.modules, pygraphviz=None):
        try:
            drawn.draw_png()
        except ImportError:
            t.note("raised", "ImportError")


@differs("a picture is of flowfn's own class")
async def the_class_of_a_picture(t):
    """A graph is drawn as LangChain draws its runnables."""
    drawn = graph("a", (START, "a")).compile().get_graph()
    t.note("is LangChain's", isinstance(drawn, Graph))


async def the_class_of_a_picture_of_a_chain(t):
    """Of a chain with a graph in it LangChain draws the picture."""
    compiled = graph("a", (START, "a")).compile()
    drawn = (RunnableLambda(nothing) | compiled).get_graph()
    t.note("is LangChain's", (isinstance(drawn, Graph), sorted(node.name for node in drawn.nodes.values())))
