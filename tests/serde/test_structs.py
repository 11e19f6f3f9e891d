"""msgspec's structs: by field, and only where making one runs no code of its class."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Generic, TypeVar

import pytest

from flowfn.serde import DEFAULT, SerializationError, TypeChangedError

msgspec: Any = pytest.importorskip("msgspec")
UNSET: Any = msgspec.UNSET
T = TypeVar("T")


class Point(msgspec.Struct):
    x: int
    y: list[int] = []  # noqa: RUF012 - each struct gets its own


class Fixed(msgspec.Struct, frozen=True, cache_hash=True, kw_only=True, tag="fixed", rename="camel"):
    the_name: str
    inner: Point | None = None
    note: Any = UNSET


class Open(msgspec.Struct, dict=True):
    x: int


class Box(msgspec.Struct, Generic[T]):
    item: T


class Checked(msgspec.Struct):
    x: int

    def __post_init__(self) -> None:
        self.x += 1


def _opened() -> Any:
    value = Open(1)
    value.more = (2,)
    return value


def _hashed() -> Any:
    value = Fixed(the_name="a", note="n")
    hash(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        Point(1, [2]),
        Point("no number"),
        Fixed(the_name="a", inner=Point(1)),
        _hashed(),
        {Fixed(the_name="a"): [Point(2)]},
        Box[int](1),
        _opened(),
    ],
    ids=repr,
)
def test_they_come_back_as_they_were(value: Any) -> None:
    """G2: with every field, those that are unset, and what an open one carries besides."""
    actual = DEFAULT.loads(DEFAULT.dumps(value))
    assert (type(actual), repr(actual), actual) == (type(value), repr(value), value)
    assert getattr(actual, "__dict__", None) == getattr(value, "__dict__", None)


def test_one_that_runs_code_when_it_is_made_is_refused() -> None:
    """G5: msgspec would run it when it is restored."""
    with pytest.raises(SerializationError, match=r"__post_init__.* Store msgspec\.to_builtins\(value\)"):
        DEFAULT.dumps(Checked(1))


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("x: int\n    y: str = 'new'", "Grown(x=1, y='new')"),
        ("x: int\n    y: str", "now requires 'y'"),
        ("y: int = 0", "was stored with 'x', which the class no longer has"),
        ("x: int\n    def __post_init__(self): raise SystemExit", "was stored when it had no __post_init__"),
    ],
    ids=["a field with a default", "one without", "one less", "code"],
)
def test_a_class_that_has_changed(monkeypatch: pytest.MonkeyPatch, then: str, expected: str) -> None:
    """G5: it gets the defaults of new fields, and what can't be restored says so."""

    def version(fields: str) -> Any:
        module = ModuleType("structs_of_a_shop")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(f"import msgspec\nclass Grown(msgspec.Struct):\n    {fields}", vars(module))
        return vars(module)["Grown"]

    stored = DEFAULT.dumps(version("x: int")(1))
    version(then)
    try:
        actual = repr(DEFAULT.loads(stored))
    except TypeChangedError as error:
        actual = str(error)
    assert expected in actual
