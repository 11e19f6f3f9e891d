"""The comparison can fail: what a trace masks, what it shows, and how a program is taken to a library."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

import pytest

from . import loading
from .trace import Mask, Trace, drive, render

UUIDS = ("1ef00000-0000-6000-8000-000000000001", "1ef00000-0000-6000-8000-000000000002")


@dataclasses.dataclass
class Point:
    x: int
    y: object = None


class Pair(NamedTuple):
    a: object
    b: object


class Slots:
    __slots__ = ("arg", "node")

    def __init__(self) -> None:
        self.node, self.arg = "n", 1


def traced(**notes: object) -> str:
    trace = Trace("blocking")
    for label, value in notes.items():
        trace.note(label, value)
    return trace.text


def test_ids_are_numbered_by_first_appearance() -> None:
    """The same id has the same number, in keys and in texts too; another order is another trace."""
    assert traced(a=[UUIDS[1], UUIDS[0]], b={UUIDS[0]: f"node:{UUIDS[1]}"}) == (
        "a: ['<U0>', '<U1>']\nb: {'<U1>': 'node:<U0>'}\n"
    )
    assert traced(a=[*UUIDS, UUIDS[0]]) != traced(a=[*UUIDS, UUIDS[1]])


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("<Lock at 0x7f00>", "<Lock>"),
        ("2026-01-01T00:00:00.123456+00:00", "<T>"),
        ("<class 'langgraph.types.Send'>", "<class '<lib>.types.Send'>"),
        ("<class 'graph_compat.types.Send'>", "<class '<lib>.types.Send'>"),
        ("langgraph_step", "langgraph_step"),
        ("no\nFor troubleshooting, visit: https://docs.langchain.com/errors/CODE", "no"),
        ("f" * 32, "<H0>"),
        ("f" * 31, "f" * 31),
    ],
)
def test_a_masked_text(text: str, masked: str) -> None:
    """What differs between runs and libraries goes; names of keys stay."""
    assert Mask()(text) == masked


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Point(1, Point(2)), "Point(x=1, y=Point(x=2, y=None))"),
        (Pair(1, (2, [3])), "Pair(a=1, b=(2, [3]))"),
        (Slots(), "Slots(arg=1, node='n')"),
        ({"b": 1, "a": {2, 1}}, "{'a': {'set': [1, 2]}, 'b': 1}"),
        (ValueError("no"), "ValueError(message='no')"),
        ((1,), "(1,)"),
        ([1], "[1]"),
    ],
)
def test_a_rendered_value(value: object, text: str) -> None:
    """A value is its class's name and its fields, and a tuple is no list."""
    assert render(value, Mask()) == text


def test_an_exception_is_recorded_with_its_notes() -> None:
    """A failing call leaves its error's name, message and notes in the trace, and gives None."""

    class Graph:
        def invoke(self, value: int) -> int:
            error = KeyError("k")
            error.add_note("noted")
            raise error

    trace = Trace("blocking")
    assert drive(trace.invoke(Graph(), 1)) is None
    assert trace.text == "invoke raised: {'error': KeyError(message=\"'k'\"), 'notes': ['noted']}\n"


def test_only_the_imports_are_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`langgraph` becomes the library in import statements, and nowhere else."""
    source = 'from langgraph.decoder import JSONDecoder\nfrom langgraph import loads\nNAME = "langgraph"\n'
    (tmp_path / "area.py").write_text(source)
    monkeypatch.setattr(loading, "DIRECTORY", tmp_path)
    module = loading.load.__wrapped__("area", "json")
    assert (module.JSONDecoder.__module__, module.loads("1"), module.NAME) == ("json.decoder", 1, "langgraph")


def test_a_blocking_program_waits_for_no_loop() -> None:
    """A program that would need one for a blocking caller is told so."""

    class Never:
        def __await__(self):  # type: ignore[no-untyped-def]
            yield

    async def program() -> None:
        await Never()

    with pytest.raises(RuntimeError, match="waited for an event loop"):
        drive(program())
