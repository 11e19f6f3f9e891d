"""Forms: an answer asked for in the terminal, field by field, from the JSON schema of its type."""

import io
from typing import Any, Literal

import pytest
from pydantic import BaseModel, TypeAdapter

from flowfn.cli.asking import filled


class Line(BaseModel):
    item: str
    count: int = 1


class Order(BaseModel):
    lines: list[Line]
    note: str | None = None
    gift: bool


@pytest.mark.parametrize(
    ("kind", "typed", "answer"),
    [
        (bool, "y", True),
        (int, "3", 3),
        (int, "three\n3", 3),
        (float, "1.5", 1.5),
        (str, "17", "17"),
        (Literal["yes", "no"], "maybe\nno", "no"),
        (Literal[1, 2], "2", 2),
        (int | None, "n", None),
        (int | None, "y\n4", 4),
        (Literal["rerun"] | Line, "rerun", "rerun"),
        (Literal["rerun"] | Line, "Line\nink\n3", {"item": "ink", "count": 3}),
        (list[int], "y\n1\ny\n2\nn", [1, 2]),
        (Line, "ink\n", {"item": "ink", "count": 1}),
        (
            Order,
            "y\nink\n2\nn\nn\nn",
            {"lines": [{"item": "ink", "count": 2}], "note": None, "gift": False},
        ),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (Any, "so so", "so so"),
    ],
)
def test_a_form_is_filled(monkeypatch: pytest.MonkeyPatch, kind: Any, typed: str, answer: Any) -> None:
    """What doesn't fit is asked for again; Enter takes a default; what comes out fits the type."""
    monkeypatch.setattr("sys.stdin", io.StringIO(typed + "\n"))
    adapter = TypeAdapter(kind)
    found = filled(adapter.json_schema(), "which?")
    assert found == answer
    adapter.validate_python(found)


def test_without_a_schema_json_or_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the command line."""
    monkeypatch.setattr("sys.stdin", io.StringIO("[1, 2]\n"))
    assert filled(None, "which?") == [1, 2]


def test_no_terminal_no_form(flowfn: Any, shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is there to ask: exit code 2, and what to write."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    ran = flowfn("answer", "asks-1", "app.py")
    assert ran.code == 2
    assert "write the answer: flowfn answer asks-1 ANSWER APP.PY (asked: " in ran.err


def test_the_answer_typed_is_given(flowfn: Any, shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`flowfn answer THREAD APP.PY` in a terminal asks what the question's type says, and goes on."""
    typed = io.StringIO("perhaps\ny\n")
    monkeypatch.setattr(typed, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", typed)
    ran = flowfn("answer", "asks-1", "app.py")
    assert (ran.code, ran.out.splitlines()[-1].rpartition(": ")[2]) == (0, "charged 6")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("app.py", "yes", "no"), "one answer and one script follow the thread, and these are 3"),
        (("yes",), "there is no file 'yes': pass the script of your program"),
        ((), "Missing argument '[ANSWER] APP.PY[:NAME]'"),
    ],
)
def test_an_answer_that_names_no_script(flowfn: Any, shop: Any, words: tuple[str, ...], message: str) -> None:
    """Exit code 2, and what is missing."""
    ran = flowfn("answer", "asks-1", *words)
    assert (ran.code, message in ran.err) == (2, True)
