"""The timeline of a run: a line for each call, bars along the time."""

from typing import Any
from xml.etree import ElementTree

import pytest

from checkpointers import MemorySaver
from flowfn import UnknownThread, entrypoint, interrupt, task
from flowfn.drawing.timeline import Timeline, timeline
from flowfn.history.reading import CallView, ThreadView
from flowfn.ports import ThreadRow


def call(
    name: str, start: float, seconds: float | None, *under: CallView, status: str = "done", **more: Any
) -> CallView:
    return CallView(
        name, "", "app.py:1", status, None, under, id=name, started=100.0 + start, seconds=seconds, **more
    )


def drawn(*calls: CallView) -> Timeline:
    return timeline(ThreadView(ThreadRow("t", "app.flow", "", "done", None, "", ""), calls))


RUN = (
    call("fetch", 0, 2, call("parse", 1, 1, place=(0, 1)), place=(0, 2)),
    call("save", 2, 2, known=(0, 2), place=(0, 3)),
    call("log", 2, 1, known=(0, 2), place=(0, 4)),
)


def test_lines_are_in_the_order_of_the_calls() -> None:
    """Those within a call are under it; the chain that ended last is marked."""
    found = drawn(*RUN)
    assert found.seconds == 4.0
    assert [(line.label, line.depth, [bar[:2] for bar in line.bars]) for line in found.lines] == [
        ("fetch()", 0, [(0.0, 2.0)]),
        ("parse()", 1, [(1.0, 1.0)]),
        ("save()", 0, [(2.0, 2.0)]),
        ("log()", 0, [(2.0, 1.0)]),
    ]
    assert [line.label for line in found.lines if line.bars[0].critical] == ["fetch()", "parse()", "save()"]


def test_for_a_terminal() -> None:
    """One character at least for each call, and no line longer than another."""
    head, *rows = (
        drawn(*RUN, call("soon", 4, 0.0, place=(0, 5)), call("ask", 0, None, status="asked"))
        .draw_text(8)
        .splitlines()
    )
    assert head == "t  app.flow  4.0s"
    assert [row.rpartition("|")[2].strip() for row in rows] == ["2.0s", "1.0s", "", "2.0s", "1.0s", "<1ms"]
    bars = {row.split("|")[0].strip(): row.split("|")[1] for row in rows}
    assert bars == {
        "fetch()": "▓▓▓▓     ",
        "parse()": "  ▓▓     ",
        "ask()": "?        ",
        "save()": "    ▓▓▓▓ ",
        "log()": "    ██   ",
        "soon()": "        █",
    }


def test_as_mermaid() -> None:
    """A Gantt chart in milliseconds; marks that would end a label are left out."""
    assert drawn(*RUN[1:], call("a:b;c", 1, 0.0)).draw_mermaid().splitlines()[4:] == [
        "    a b c() :0, 1",
        "    save() :crit, 1000, 3000",
        "    log() :1000, 2000",
    ]


def test_as_svg() -> None:
    """Well-formed, whatever the calls are called."""
    root = ElementTree.fromstring(drawn(*RUN, call("<b>\x1b&", 0, 1)).draw_svg())
    rects = [each for each in root.iter() if each.tag.endswith("rect")]
    assert len(rects) == 5


def test_many_calls_of_one_place_share_a_line() -> None:
    """A picture of thousands stays one that can be looked at."""
    found = drawn(*(call("fetch", x, 1, place=(0, x + 1)) for x in range(1000)))
    assert [(line.label, len(line.bars)) for line in found.lines] == [("fetch: 1000 calls", 1000)]
    assert len(found.draw_text().splitlines()) == 2


def test_of_a_thread() -> None:
    """From its records; one that nobody has used has none."""

    @task
    def price(item: str) -> int:
        return len(item)

    @entrypoint(checkpointer=MemorySaver())
    def order(item: str) -> Any:
        return interrupt(price(item).result())

    with pytest.raises(UnknownThread):
        order.thread("t").timeline()
    order.invoke("ink", thread_id="t")
    found = order.thread("t").timeline()
    assert [(line.label, line.bars[0].status) for line in found.lines] == [
        ("price(item='ink')", "done"),
        ("interrupt(value=3)", "asked"),
    ]
    assert set(found._repr_mimebundle_()) == {"text/plain", "image/svg+xml", "text/vnd.mermaid"}
    assert drawn().draw_text() == "t  app.flow  <1ms"
