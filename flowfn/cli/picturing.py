"""`flowfn graph` and `flowfn timeline`: pictures of a run, or of a program."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from flowfn.cli import program
from flowfn.cli.database import choose, find_thread, reading
from flowfn.cli.failures import Usage
from flowfn.cli.options import Db, Json, ThreadId
from flowfn.cli.terminal import output, print_json, printable
from flowfn.drawing.graph import Graph
from flowfn.drawing.journey import journey
from flowfn.drawing.timeline import Timeline, timeline
from flowfn.history.reading import view


class Form(StrEnum):
    """What a picture is drawn as."""

    text = "text"
    mermaid = "mermaid"
    svg = "svg"


As = Annotated[Form, typer.Option("--as", help="What to draw it as.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write it to this file.")]


def graph(
    what: Annotated[
        str, typer.Argument(metavar="THREAD|APP.PY:NAME", help="A thread, or a workflow of a script.")
    ],
    form: As = Form.text,
    out: Out = None,
    xray: Annotated[bool, typer.Option("--xray", help="Draw what calls call, too.")] = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Draw the way that a run took. Of a thread the last one's, or what a workflow may do."""
    drawn = _of_program(what, xray) if _is_script(what) else _way_of(what, db, xray)
    if as_json:
        print_json(drawn.to_json())
    else:
        _print(_graph_as(drawn, form), out)


def show_timeline(
    thread: ThreadId, form: As = Form.text, out: Out = None, db: Db = None, as_json: Json = False
) -> None:
    """Draw when the calls of a thread's last run ran."""
    with reading(choose(db)) as saver:
        drawn = timeline(view(saver, find_thread(saver, thread)))
    if as_json:
        print_json(_as_json(drawn))
    else:
        texts = {Form.mermaid: drawn.draw_mermaid, Form.svg: drawn.draw_svg, Form.text: drawn.draw_text}
        _print(texts[form](), out)


def _is_script(what: str) -> bool:
    return what.partition(":")[0].endswith(".py") or Path(what).is_file()


def _of_program(what: str, xray: bool) -> Graph:
    workflow: Any = program.only(what)
    graph: Graph = workflow.get_graph(xray=xray)
    return graph


def _way_of(thread: str, db: str | None, xray: bool) -> Graph:
    with reading(choose(db)) as saver:
        return journey(view(saver, find_thread(saver, thread)), xray)


def _graph_as(drawn: Graph, form: Form) -> str:
    if form is Form.mermaid:
        return drawn.draw_mermaid()
    if form is Form.svg:
        return drawn.draw_svg()
    try:
        return drawn.draw_ascii()
    except ImportError as error:
        raise Usage(
            "--as text needs grandalf: pip install 'flowfn-durable[draw]', or draw it --as mermaid or svg"
        ) from error


def _print(text: str, out: Path | None) -> None:
    if out is None:
        output().print(printable(text), soft_wrap=True)
        return
    try:
        out.write_text(text, "utf-8")
    except OSError as error:
        raise Usage(f"--out {str(out)!r} can't be written: {error.strerror}") from error


def _as_json(drawn: Timeline) -> dict[str, object]:
    return {
        "title": drawn.title,
        "seconds": drawn.seconds,
        "lines": [
            {"label": line.label, "depth": line.depth, "bars": [bar._asdict() for bar in line.bars]}
            for line in drawn.lines
        ],
    }
