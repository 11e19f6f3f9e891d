"""What differs between two calls' arguments is read from their forms, without the program that made them."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flowfn.identity.differences import changes
from flowfn.identity.digest import exact
from flowfn.report import Change


@dataclass
class Line:
    """A record."""

    sku: str
    count: Any


class Point(NamedTuple):
    """A record that is a tuple."""

    x: int
    y: int


class Colour(Enum):
    """Values by name."""

    RED = 1
    BLUE = 2


class Name(str):
    """A text with something besides."""


def named(text: str, **more: Any) -> Name:
    name = Name(text)
    name.__dict__.update(more)
    return name


def local_class(n: int) -> Any:
    @dataclass
    class Scale:
        """Is told by what its method captured."""

        name: str

        def by(self, x: int) -> int:
            return x * n

    return Scale


def form(value: Any) -> bytes | None:
    return exact({"x": value}).form


def between(then: Any, now: Any) -> list[tuple[str, str, str]]:
    return [tuple(change) for change in changes(form(then), form(now))]


MOMENT = datetime(2020, 1, 2, 3, 4, tzinfo=UTC)

CASES: dict[str, tuple[Any, Any, tuple[str, str, str]]] = {
    "record": (Line("ink", 2), Line("ink", 3), ("x.count", "2", "3")),
    "named tuple": (Point(1, 2), Point(1, 5), ("x.y", "2", "5")),
    "other record": (Point(1, 2), Line("a", 1), ("x", "Point(x=1, y=2)", "Line(count=1, sku='a')")),
    "tuple": ((1, 2), (1, 3), ("x[1]", "2", "3")),
    "tuple or list": ((1, 2), [1, 2], ("x", "(1, 2)", "[1, 2]")),
    "keys of any kind": ({1: "a", (2, 3): "b"}, {1: "a", (2, 3): "c"}, ("x[(2, 3)]", "'b'", "'c'")),
    "within records": ([Line("a", [1])], [Line("a", [2])], ("x[0].count[0]", "1", "2")),
    "local class": (local_class(1), local_class(2), ("x.local_class.<locals>.Scale.by.n", "1", "2")),
    "of a local class": (
        local_class(1)("a"),
        local_class(2)("a"),
        ("x.local_class.<locals>.Scale.by.n", "1", "2"),
    ),
    "field of a local class": (local_class(1)("a"), local_class(1)("b"), ("x.name", "'a'", "'b'")),
    "enum": (Colour.RED, Colour.BLUE, ("x", "Colour.RED", "Colour.BLUE")),
    "datetime": (MOMENT, MOMENT + timedelta(1), ("x", str(MOMENT.isoformat()), "2020-01-03T03:04:00+00:00")),
    "date": (date(2020, 1, 2), date(2020, 1, 3), ("x", "2020-01-02", "2020-01-03")),
    "decimal": (Decimal("1.0"), Decimal("1.00"), ("x", "Decimal('1.0')", "Decimal('1.00')")),
    "uuid": (UUID(int=1), UUID(int=2), ("x", str(UUID(int=1)), str(UUID(int=2)))),
    "path": (PurePosixPath("a"), PurePosixPath("b"), ("x", "Path('a')", "Path('b')")),
    "set": ({1, 2}, {1, 3}, ("x", "{1, 2}", "{1, 3}")),
    "big int": (2**70, 2**70 + 1, ("x", str(2**70), str(2**70 + 1))),
    "a text of its own kind": (Name("a"), Name("b"), ("x.value", "'a'", "'b'")),
    "a count": (Counter("a"), Counter("aa"), ('x.value["a"]', "1", "2")),
    "a text with more": (named("a", n=1), named("a", n=2), ("x.n", "1", "2")),
    "minus zero": ({"a": 0.0, "b": float("nan")}, {"a": -0.0, "b": float("nan")}, ('x["a"]', "0.0", "-0.0")),
    "function": (partial(len, "a"), partial(len, "b"), ("x", "<partial>", "<partial>")),
}


@pytest.mark.parametrize("name", CASES)
def test_where_and_both_values(name: str) -> None:
    """The path as it is written in code, and both values as people write them."""
    then, now, change = CASES[name]
    assert between(then, now) == [change]


def test_the_first_few_are_enough() -> None:
    """Five parts that differ are told, however many do."""
    assert between(list(range(100)), list(range(1, 101)))[-1] == ("x[4]", "4", "5")


def test_long_arguments_are_not_kept() -> None:
    """Beyond 512 bytes there is no form, and nothing to compare."""
    assert form("x" * 600) is None
    assert between("x" * 600, "y" * 600) == []


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=12),
    st.datetimes(), st.dates(), st.times(), st.timedeltas(), st.decimals(allow_nan=False), st.uuids(),
    st.complex_numbers(), st.sampled_from(Colour), st.just(...), st.just(len), st.builds(object),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.dictionaries(st.integers(), inner, max_size=3),
        st.builds(OrderedDict, st.lists(st.tuples(st.text(max_size=3), inner), max_size=2)),
        st.sets(st.integers(), max_size=3),
        st.builds(deque, st.lists(inner, max_size=2)),
        st.builds(Counter, st.text(max_size=3)),
        st.builds(
            lambda items: defaultdict(list, items), st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
        st.builds(Name, st.text(max_size=3)),
        st.builds(named, st.text(max_size=3), n=inner),
        st.builds(Line, st.text(max_size=3), inner),
        st.builds(ValueError, inner),
    ),
    max_leaves=8,
)


@given(VALUES, VALUES)
@example(ValueError(True), ValueError(1))
@settings(max_examples=300, deadline=None)
def test_any_two_values(then: Any, now: Any) -> None:
    """Something is told of exactly those whose digests differ, and nothing ever raises."""
    before, after = form(then), form(now)
    if before is not None and after is not None:
        assert bool(changes(before, after)) == (before != after)


def test_no_class_of_the_program_is_needed() -> None:
    """G5: a form is read in a process that has none of its types."""
    found = changes(form(Line("a", Colour.RED)), form(Line("b", Colour.RED)))
    script = (
        "from flowfn.identity.differences import changes\n"
        f"print([tuple(c) for c in changes({form(Line('a', Colour.RED))!r}, {form(Line('b', Colour.RED))!r})])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (found, ran.stdout.strip()) == ((Change("x.sku", "'a'", "'b'"),), "[('x.sku', \"'a'\", \"'b'\")]")
