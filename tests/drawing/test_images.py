"""Images, drawn on this machine: SVG by itself, PNG by whatever is installed, characters by grandalf."""

import base64
import itertools
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flowfn import RendererMissing
from flowfn.drawing import MermaidDrawMethod
from flowfn.drawing.dot import dot_text
from flowfn.drawing.layers import place

from .shapes import graph

DRAWN = graph("__start__ -> a", "a -?> b: <go> & back", "b -> a", "a -> a", "a -> __end__")
SVG = "{http://www.w3.org/2000/svg}"

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """An empty path, and a way to put commands there, written in Python."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "cairosvg", None)

    def put(name: str, code: str) -> None:
        command = tmp_path / name
        command.write_text(f"#!{sys.executable}\nimport sys\n{textwrap.dedent(code)}")
        command.chmod(0o755)

    return put


@pytest.mark.skipif(sys.platform == "win32", reason="commands are scripts")
class TestPng:
    """`draw_mermaid_png` and `draw_png`."""

    def test_says_what_to_install(self, install: Install) -> None:
        """Nothing is sent anywhere: without a renderer it is an error."""
        with pytest.raises(RendererMissing, match="pip install cairosvg"):
            DRAWN.draw_mermaid_png()
        with pytest.raises(RendererMissing, match="mermaid-cli"):
            DRAWN.draw_mermaid_png(draw_method=MermaidDrawMethod.PYPPETEER)
        with pytest.raises(RendererMissing, match="graphviz"):
            DRAWN.draw_png()

    def test_is_drawn_from_the_svg(self, install: Install, tmp_path: Path) -> None:
        """By the first command that reads SVG; written to a file as well."""
        install("rsvg-convert", "sys.stdout.buffer.write(b'PNG' + sys.stdin.buffer.read()[:4])")
        assert DRAWN.draw_mermaid_png(output_file_path=tmp_path / "a.png") == b"PNG<svg"
        assert (tmp_path / "a.png").read_bytes() == b"PNG<svg"

    def test_is_drawn_by_mermaid_itself_where_that_is_installed(self, install: Install) -> None:
        """`mmdc` gets the text and the colour behind it."""
        install(
            "mmdc",
            """
            options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
            open(options['-o'], 'w').write(options['-b'] + open(options['-i']).read()[:3])
            """,
        )
        assert DRAWN.draw_mermaid_png(background_color="teal") == b"teal---"

    def test_says_why_a_renderer_failed(self, install: Install) -> None:
        """What the command wrote is in the error."""
        install("resvg", "sys.exit('no fonts')")
        with pytest.raises(RuntimeError, match="no fonts"):
            DRAWN.draw_mermaid_png()

    def test_is_drawn_by_graphviz(self, install: Install, tmp_path: Path) -> None:
        """`draw_png` hands its text to `dot`, and returns nothing where it writes a file."""
        install("dot", "sys.stdout.buffer.write(sys.stdin.buffer.read()[:9])")
        assert DRAWN.draw_png() == b"digraph {"
        assert DRAWN.draw_png(str(tmp_path / "b.png")) is None
        assert (tmp_path / "b.png").read_bytes() == b"digraph {"


def test_names_can_be_given_for_graphviz() -> None:
    """Nodes and edges have the labels given, quoted."""
    text = dot_text(graph('a -> b: "x"'), "arial", {"nodes": {"a": "A"}, "edges": {'"x"': "y"}})
    assert '"a" [label="A" fillcolor=lightblue]' in text
    assert '"a" -> "b" [label="y" style=solid]' in text


@pytest.fixture
def service() -> Iterator[Any]:
    """A mermaid.ink of our own: `asked` are the paths, `answers` the statuses that it gives in turn."""

    class Handler(BaseHTTPRequestHandler):
        asked: list[str] = []  # noqa: RUF012
        answers: list[int] = []  # noqa: RUF012

        def do_GET(self) -> None:
            self.asked.append(self.path)
            self.send_response(self.answers.pop(0))
            self.end_headers()
            self.wfile.write(b"PNG")

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Handler.url = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Handler
        server.shutdown()
        thread.join()


def from_service(service: Any, **options: Any) -> bytes:
    method = MermaidDrawMethod.API
    options = {"retry_delay": 0, "proxies": {}, **options}
    return DRAWN.draw_mermaid_png(draw_method=method, base_url=service.url, **options)


def test_a_service_is_asked_only_where_it_is_named(service: Any) -> None:
    """The text goes in the address; a server's failure is tried again."""
    service.answers += [503, 200]
    assert from_service(service, background_color="white") == b"PNG"
    path, _, query = service.asked[-1].partition("?")
    assert base64.b64decode(path.removeprefix("/img/")).decode() == DRAWN.draw_mermaid()
    assert query == "type=png&bgColor=%21white"
    assert len(service.asked) == 2


def test_a_refusal_is_not_tried_again(service: Any) -> None:
    """The error says how to do without the service."""
    service.answers += [400]
    with pytest.raises(ValueError, match="leaving draw_method= out"):
        from_service(service, max_retries=5)


# -- SVG ----------------------------------------------------------------------------------------------------


def test_svg_shows_every_node_and_edge() -> None:
    """Well-formed XML with each name and label; conditional edges are dashed."""
    root = ElementTree.fromstring(DRAWN.draw_svg())
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts == ["<go> & back", "__start__", "a", "b", "__end__"]
    dashed = [path.get("class") == "maybe" for path in root.iter(f"{SVG}path")]
    assert dashed == [False, True, False, False, False]


def test_svg_holds_any_name() -> None:
    """Control characters, which XML can't hold, don't break it; nor does a graph without nodes."""
    ElementTree.fromstring(graph(nodes="a\x00\x1b<").draw_svg(background_color='"red'))
    ElementTree.fromstring(graph().draw_svg())


NAMES = "abcdefgh"


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=16))
def test_nodes_are_placed_apart(edges: list[tuple[str, str]]) -> None:
    """No two nodes overlap, all are inside, every edge joins its own nodes, and without loops all point down."""
    widths = {name: 40.0 + 20 * number for number, name in enumerate(NAMES)}
    layout = place(widths, edges)
    for (one, a), (other, b) in itertools.combinations(layout.nodes.items(), 2):
        assert a.y != b.y or abs(a.x - b.x) >= (widths[one] + widths[other]) / 2
    assert all(0 < spot.x < layout.width and 0 < spot.y < layout.height for spot in layout.nodes.values())
    for number, (source, target) in enumerate(edges):
        points = layout.edges.get(number)
        if source == target:
            assert points is None
        else:
            assert points is not None
            assert (points[0], points[-1]) == (layout.nodes[source], layout.nodes[target])
            assert all(abs(a.y - b.y) == 84 for a, b in itertools.pairwise(points)) or len(points) == 2
            if all(one < other for one, other in edges):
                assert points[0].y < points[-1].y


@given(st.permutations(NAMES), st.lists(st.sampled_from([*itertools.combinations(NAMES, 2)]), max_size=16))
@example("acbdefgh", [("a", "c"), ("b", "d"), ("d", "c")])
def test_edges_without_loops_point_down_in_whatever_order_nodes_are_named(
    names: Sequence[str], edges: list[tuple[str, str]]
) -> None:
    """A node that was come upon by an edge is no end of a loop when its own turn comes."""
    placed = place(dict.fromkeys(names, 40.0), edges).nodes
    assert all(placed[source].y < placed[target].y for source, target in edges)


def test_a_notebook_shows_the_picture() -> None:
    """Text, SVG and Mermaid; JupyterLab takes what it knows."""
    shown = DRAWN._repr_mimebundle_(include=None, exclude=None)
    assert list(shown) == ["text/plain", "image/svg+xml", "text/vnd.mermaid"]
    assert shown["image/svg+xml"] == DRAWN._repr_svg_() == DRAWN.draw_svg()


# -- characters ---------------------------------------------------------------------------------------------


def test_characters() -> None:
    """Stars for edges, dots for conditional ones; what leads to itself says so."""
    pytest.importorskip("grandalf")
    lines = graph("a -> long", "a -?> c", "c -> c").draw_ascii().splitlines()
    assert [line.rstrip() for line in lines] == [
        "         +---+",
        "         | a |",
        "         +---+.",
        "       **      ..",
        "      *          .",
        "     *            .",
        "+------+     +----------+",
        "| long |     | c (loop) |",
        "+------+     +----------+",
    ]


def test_characters_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """`print_ascii` prints what `draw_ascii` returns."""
    pytest.importorskip("grandalf")
    DRAWN.print_ascii()
    assert capsys.readouterr().out == f"{DRAWN.draw_ascii()}\n"


def test_characters_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install; so does that of a graph without nodes say what is wrong."""
    monkeypatch.setitem(sys.modules, "grandalf", None)
    monkeypatch.setitem(sys.modules, "grandalf.graphs", None)
    with pytest.raises(ImportError, match="pip install grandalf"):
        DRAWN.draw_ascii()
    with pytest.raises(ValueError, match="no nodes"):
        graph().draw_ascii()
