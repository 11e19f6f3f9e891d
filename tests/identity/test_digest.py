"""The digest of a call's arguments: DESIGN section 4, rules 1 to 3."""

from __future__ import annotations

import base64
import contextlib
import copy
import functools
import hashlib
import ipaddress
import itertools
import json
import logging
import math
import operator
import os
import random
import re
import sqlite3
import string
import subprocess
import sys
import threading
import typing
import uuid
from collections import OrderedDict, deque, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from email.utils import formatdate
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, MethodType, ModuleType
from typing import Any, Literal
from unittest.mock import MagicMock
from zoneinfo import ZoneInfo

import msgspec
import ormsgpack
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowfn.identity.digest import Digest, digest, exact, qualified_name, render
from flowfn.identity.volatile import Window
from flowfn.serde import Serde

SINCE = 1_790_000_000.25  # 2026-09-21T13:33:20.25Z
NOW = SINCE + 600
LATER = SINCE + 86_400 * 3


def window() -> Window:
    """Ten minutes of an attempt."""
    return Window(SINCE, lambda: NOW, lambda: NOW - SINCE)


def of(value: Any, since: float = SINCE) -> Digest:
    """The digest of a call with one argument, ten minutes into its attempt."""
    return digest({"x": value}, lambda: Window(since, lambda: since + 600, lambda: 600))


def kinds(value: Any, since: float = SINCE) -> list[str]:
    """The kinds of the volatile leaves of one argument."""
    return [leaf.kind for leaf in of(value, since).leaves]


class Colour(Enum):
    RED = 1


@dataclass
class Point:
    x: int
    tags: list[str]


class Order(pydantic.BaseModel):
    number: int
    note: str = ""


Pair = namedtuple("Pair", "left right")


def plain(x: int) -> int:
    return x


class Rate:
    """Has no equality, but an attribute that it was given."""

    def __init__(self, rate: int) -> None:
        self.rate = rate


def times(function: Any, by: Any) -> Any:
    @functools.wraps(function)
    def wrapper(x: int) -> Any:
        return function(x), by

    return wrapper


def plus(function: Any, by: Any) -> Any:
    @functools.wraps(function)
    def wrapper(x: int) -> Any:
        return function(x) + by

    return wrapper


def counting(function: Any) -> Any:
    calls = 0

    @functools.wraps(function)
    def wrapper(x: int) -> Any:
        nonlocal calls
        calls += 1
        return function(x)

    return wrapper


def memo(function: Any) -> Any:
    known: dict[int, Any] = {}
    lock = threading.Lock()

    @functools.wraps(function)
    def wrapper(x: int) -> Any:
        with lock:
            return known.setdefault(x, function(x))

    return wrapper


def traced(function: Any, by: int) -> Any:
    made = datetime.now()

    @functools.wraps(function)
    def wrapper(x: int) -> Any:
        return function(x)

    wrapper.trace, wrapper.made = f"{by}-{uuid.uuid4().hex}", made  # type: ignore[attr-defined]
    wrapper.id = mark = uuid.uuid4().hex  # type: ignore[attr-defined]
    wrapper.at: datetime = made  # type: ignore[attr-defined,misc]
    wrapper.also = mark  # type: ignore[attr-defined]
    wrapper.by = by  # type: ignore[attr-defined]
    return wrapper


def called_scaled(by: int) -> Any:
    def scaled(x: int, by: int = by) -> int:
        return x * by

    scaled.__qualname__ = scaled.__name__
    return scaled


NAMELESS: list[Any] = []
"""Functions that were handed on, and of which the module has none."""


@NAMELESS.append
def _(x: int) -> int:
    return x + 1


@NAMELESS.append
def _(x: int) -> int:
    return x + 2


def replaced(x: int) -> int:
    return x + 3


REPLACED = [replaced]


def replaced(x: int) -> int:  # type: ignore[no-redef]
    return x + 4


REPLACED.append(replaced)
"""Functions of one name."""


class Connection:
    """An object without value semantics."""


class Speechless:
    """An object that can't be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


class Refused(Exception):
    """An error that carries an object."""

    def __init__(self, text: str, connection: Connection) -> None:
        super().__init__(text)
        self.connection = connection


class Invoice(pydantic.BaseModel):
    """A model that computes a value once."""

    total: int = 4

    @functools.cached_property
    def double(self) -> int:
        return 2 * self.total


class Distance:
    """The same of a plain class that defines equality."""

    def __init__(self) -> None:
        self.metres = 4

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distance) and self.metres == other.metres

    __hash__ = None  # type: ignore[assignment]

    @functools.cached_property
    def double(self) -> int:
        return 2 * self.metres


class Key(msgspec.Struct, frozen=True, cache_hash=True):
    """A struct that keeps its hash."""

    name: str


class Span(timedelta):
    """The same of a time that keeps it by hand, and what else it was given."""

    _half: float | None = None
    _unit: str | None = None
    _shifted: bool | None = None

    @property
    def half(self) -> float:
        if self._half is None:
            self._half = self.days / 2
        return self._half

    @property
    def unit(self) -> str:
        return self._unit or "h"

    @unit.setter
    def unit(self, unit: str) -> None:
        self._unit = unit

    @property
    def shifted(self) -> bool:
        if self._shifted is None:
            self._shifted = False
        return self._shifted

    def shift(self) -> None:
        self._shifted = True


class Row:
    """What a query gave, whose columns are private, in words where it lacks one."""

    _currency: str | None = None

    def __init__(self, **columns: str) -> None:
        self.__dict__.update(columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def currency(self) -> str:
        if self._currency is None:
            self._currency = "EUR"
        return self._currency


class Placed(timedelta):
    """What is told from outside, and corrected when it is asked for."""

    _place: str

    @property
    def place(self) -> str:
        self._place = self._place.strip()
        return self._place


def placed(place: str) -> Placed:
    made = Placed(1)
    made._place = place
    return made


class Rows(list[int]):
    """The same of a list."""

    @functools.cached_property
    def double(self) -> list[int]:
        return self * 2 or [0]


class Secret(str):
    """A text that shows itself to nobody."""

    __slots__ = ("level",)

    def __str__(self) -> str:
        return "***"


class Lazy(list[int]):
    """A list that has nothing to show yet."""

    def __iter__(self) -> Iterator[int]:
        return iter(())


class Few(dict[str, int]):
    """A mapping that shows a part of itself."""

    def items(self) -> Any:
        return ()


@dataclass
class Job:
    """A dataclass that may hold more than its fields, and less."""

    name: str
    started: str = field(init=False)


@dataclass
class Table(list[int]):
    """A dataclass that is a list as well."""

    name: str


class Account(pydantic.BaseModel):
    """A model with a private attribute, which its equality counts."""

    number: int
    _balance: int = pydantic.PrivateAttr(0)


def holding(made: Any, **attributes: Any) -> Any:
    """The object, with these attributes set."""
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def print_to(connection: Connection) -> Any:
    """A local function that closes over something without value semantics."""
    return lambda text: print(text, connection)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=30)
    | st.binary(max_size=30)
)
PLAIN = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
STORABLE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.binary(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abcäß", max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from True and 1.0, and 0.0 from -0.0, as a digest does."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return repr(left) == repr(right)


class TestExact:
    """Rule 1: the same arguments, the same digest."""

    @given(PLAIN, PLAIN)
    @settings(max_examples=300)
    def test_two_values_share_a_digest_only_if_they_are_the_same(self, left: Any, right: Any) -> None:
        """Section 4, rule 1: equal digests mean equal arguments, types included."""
        assert (of(left).exact == of(right).exact) == same(left, right)

    @given(st.dictionaries(st.text(max_size=8) | st.integers(), PLAIN, max_size=5), st.randoms())
    def test_the_order_of_a_dict_does_not_count(self, value: dict[Any, Any], chance: random.Random) -> None:
        """Canonical: dicts are independent of insertion order."""
        items = list(value.items())
        chance.shuffle(items)
        assert of(dict(items)).exact == of(value).exact

    def test_the_order_of_an_ordered_dict_counts(self) -> None:
        """Section 4, rule 1: two of them are equal only in the same order."""
        before, after = OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)
        assert of(before).exact == of(OrderedDict(before)).exact != of(after).exact

    @given(st.sets(st.integers() | st.text(max_size=8)), st.randoms())
    def test_the_order_of_a_set_does_not_count(self, value: set[Any], chance: random.Random) -> None:
        """Canonical: sets are independent of insertion order."""
        items = list(value)
        chance.shuffle(items)
        assert of(set(items)).exact == of(value).exact

    def test_the_order_of_parameters_does_not_count(self) -> None:
        """Keyword arguments may be written in any order."""
        forms = [digest(dict(order), window) for order in itertools.permutations([("a", 1), ("b", "x")])]
        assert forms[0] == forms[1]

    @given(STORABLE)
    def test_a_restored_value_has_the_digest_of_the_value(self, value: Any) -> None:
        """A replayed run passes on what a serializer restored: it must be the same call."""
        restored = ormsgpack.unpackb(ormsgpack.packb(value))
        assert of(restored).exact == of(value).exact

    def test_values_that_differ_in_type_alone_differ(self) -> None:
        """1, True and 1.0 are equal to Python and different calls."""
        values = [
            1, True, 1.0, "1", b"1", bytearray(b"1"), [1], (1,), {1}, frozenset({1}), {"1": 1}, {1: 1}, [[1]],
            2**64, -(2**64), None, Decimal("1"), Decimal("1.0"), Fraction(1), 1 + 0j, deque([1]), range(1),
            ...,
            Path("1"), uuid.UUID(int=1), Colour.RED, Point(1, []), Pair(1, 2), (1, 2), Order(number=1),
            datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), date(2020, 1, 1), time(1), timedelta(1),
            ZoneInfo("UTC"), timezone(timedelta(hours=1)), ValueError(1), TypeError(1), ValueError("1"), len,
            print,
            os.path.join, str.upper, [].append, functools.partial(len, "a"), functools.partial(len, "b"),
            Point, sys,
            ipaddress.ip_address("1.2.3.4"), re.compile("a"), re.compile("a", re.IGNORECASE), "\ud800", "ä",
            0.0, -0.0,
            float("inf"), uuid.UUID(int=1).__str__, uuid.UUID(int=2).__str__,
        ]  # fmt: skip
        digests = {of(value).exact: value for value in values}
        assert len(digests) == len(values)
        assert [value for value in values if of(value).weak] == []

    @pytest.mark.parametrize("plain", ["a", 1, 1.5, b"a", [1], (1,), {"a": 1}, frozenset([1])], ids=repr)
    def test_a_subclass_of_a_plain_type_is_not_what_it_equals(self, plain: Any) -> None:
        """G2: code tells a customer's number from an order's, and markup from text."""
        base = type(plain)
        values = [plain, *(type(name, (base,), {"__slots__": ()})(plain) for name in ("Customer", "Order"))]
        assert len({of(value).exact for value in values}) == 3
        assert [value for value in values if of(value).weak] == []

    def test_a_key_counts_as_the_text_that_it_equals(self) -> None:
        """It finds, and is found by, that text."""

        class Name(str):
            __slots__ = ()

        assert of({Name("a"): 1}).exact == of({"a": 1}).exact

    def test_what_a_subclass_carries_besides_counts(self) -> None:
        """G2: a list with a hidden attribute is not the bare list."""

        class Batch(list[int]):
            source: str

        first, second = Batch([1]), Batch([1])
        first.source, second.source = "a", "b"
        assert len({of(value).exact for value in (first, second, [1])}) == 3

    def test_a_subclass_counts_by_what_it_holds_and_not_by_what_it_shows(self) -> None:
        """G2: a text that hides itself, and containers whose own iteration leaves items out, are told apart."""
        values = [
            *(Secret(text) for text in "ab"), holding(Secret("a"), level=1), holding(Secret("a"), level=2),
            *(Lazy([item]) for item in (1, 2)), *(Few(a=item) for item in (1, 2)),
        ]  # fmt: skip
        assert len({of(value).exact for value in values}) == len(values)
        assert [value for value in values if of(value).weak] == []

    def test_a_record_counts_by_all_that_it_holds(self) -> None:
        """G2: what a dataclass, a named tuple or a model holds besides its declared fields is a part of it."""
        values = [
            Job("a"), holding(Job("a"), started="now"), holding(Job("a"), tries=1), holding(Job("a"), tries=2),
            *(holding(type("Wide", (Pair,), {})(1, 2), unit=unit) for unit in ("m", "km")),
            *(holding(Account(number=1), _balance=balance) for balance in (1, 2)),
            *(holding(Table("a"), extra=extra) for extra in (1, 2)),
        ]  # fmt: skip
        tables = [Table("a"), Table("b"), Table("a")]
        tables[2].append(1)
        assert len({of(value).exact for value in (*values, *tables)}) == len(values) + len(tables)
        assert [value for value in (*values, *tables) if of(value).weak] == []

    def test_looking_at_a_value_leaves_its_class_as_it_is(self) -> None:
        """A test that watches what a workflow changes would blame the line that called a task."""
        cls = type("Tag", (str,), {"__slots__": ("level",)})
        before = dict(vars(cls))
        assert of(holding(cls("a"), level=1)).exact != of(cls("a")).exact
        assert dict(vars(cls)) == before

    def test_arrays_count_by_type_shape_and_content(self) -> None:
        """Equal numbers of another dtype or in another shape are another argument."""
        numpy = pytest.importorskip("numpy")
        values = [
            numpy.array([1, 2]),
            numpy.array([1.0, 2.0]),
            numpy.array([[1, 2]]),
            numpy.array([1, None]),
            numpy.array([1, 2])[::-1],
            numpy.int64(1),
            numpy.float64(1),
            numpy.datetime64("2020-01-01"),
        ]
        assert len({of(value).exact for value in values}) == len(values)
        assert [of(value.copy()).exact == of(value).exact for value in values] == [True] * len(values)
        assert [value for value in values if of(value).weak] == []

    def test_arrays_count_by_masks_classes_and_names_of_fields(self) -> None:
        """G2: a masked cell is no number, a class of arrays may have units, and fields of one layout have names."""
        numpy = pytest.importorskip("numpy")

        class Weights(numpy.ndarray):  # type: ignore[name-defined,misc]
            unit: str

        layouts = [[("a", int), ("b", int)], [("b", int), ("a", int)]]
        values = [
            numpy.array([1, 999_999]), numpy.ma.array([1, 2], mask=[0, 1]), numpy.ma.array([1, 2]),
            numpy.array([1, 2]),
            *(holding(numpy.array([1, 2]).view(Weights), unit=unit) for unit in ("g", "kg")),
            *(numpy.array([(1, 2)], dtype=layout)[0] for layout in layouts),
        ]  # fmt: skip
        assert len({of(value).exact for value in values}) == len(values)
        assert [value for value in values if of(value).weak] == []

    def test_arrays_do_not_count_by_the_bytes_between_their_cells(self) -> None:
        """Rule 1: numpy leaves there what was in memory before, and equal arrays must be the same call."""
        numpy = pytest.importorskip("numpy")

        def third(rest: int) -> Any:
            layout = numpy.dtype([("flag", "i1"), ("value", numpy.longdouble)], align=True)
            aligned = numpy.full(layout.itemsize, rest, dtype=numpy.uint8).view(layout)
            aligned["flag"], aligned["value"] = 1, numpy.longdouble(1) / 3
            return aligned

        with_nothing, with_rest = third(0), third(255)
        assert with_nothing.tobytes() != with_rest.tobytes()
        assert of(with_nothing).exact == of(with_rest).exact
        assert of(with_nothing["value"][0]).exact == of(with_rest["value"][0]).exact
        assert of(with_nothing["value"]).exact != of(with_nothing["value"] + 1e-18).exact

    def test_frames_count_by_columns_types_and_content(self) -> None:
        """Their content by pandas' own hash, and the objects in their cells by what they are."""
        pandas = pytest.importorskip("pandas")
        frames = [pandas.DataFrame({name: cells}) for name in "ab" for cells in ([1, 2], [1.0, 2.0], [2, 1])]
        values = [*frames, pandas.Series([1, 2], name="a"), pandas.Index([1, 2])]
        assert len({of(value).exact for value in values}) == len(values)
        assert [of(value.copy()).exact == of(value).exact for value in values] == [True] * len(values)
        assert not of(frames[0]).weak
        assert of(pandas.DataFrame({"a": [Connection()]})).weak

    def test_frames_count_by_what_their_hash_leaves_out(self) -> None:
        """G2: pandas takes objects as texts, and knows no names of indexes and no empty categories."""
        pandas = pytest.importorskip("pandas")

        def texts(*categories: str, ordered: bool = False) -> Any:
            return pandas.Series(pandas.Categorical(["a"], categories=categories, ordered=ordered))

        def described(**attrs: Any) -> Any:
            frame = pandas.DataFrame({"a": [1]})
            frame.attrs.update(attrs)
            return frame

        values = [
            *(pandas.Series(cells, dtype=object) for cells in ([1, "a"], ["1", "a"], [None, 1], [float("nan"), 1])),
            *(pandas.DataFrame({"a": cells}) for cells in ([[1]], [[2]], [Decimal("1.0")], [Decimal("1.00")])),
            *(pandas.Index(cells, dtype=object) for cells in ([1, "a"], ["1", "a"])),
            *(pandas.DataFrame({"a": [1]}).rename_axis(name) for name in ("north", "south")),
            *(pandas.DataFrame({"a": [1]}).rename_axis(columns=name) for name in ("north", "south")),
            texts("a", "b"), texts("a", "c"), texts("a", "b", ordered=True),
            described(), described(unit="m"), described(unit="km"),
            pandas.Timedelta(1), pandas.Timedelta(2), pandas.Timedelta(0),
        ]  # fmt: skip
        assert len({of(value).exact for value in values}) == len(values)
        assert [of(copy.deepcopy(value)).exact == of(value).exact for value in values] == [True] * len(values)
        assert [value for value in values if of(value).weak] == []

    def test_frames_count_by_the_types_of_their_labels(self) -> None:
        """G2: pandas hashes times and flags in an index as numbers; midnight in Berlin is no midnight in UTC."""
        pandas = pytest.importorskip("pandas")
        days = pandas.date_range("2024-01-01", periods=2, tz="UTC")
        numbers = days.tz_localize(None).astype("int64")
        mixed = [1, "1"]
        labels = [
            days, days.tz_convert("Europe/Berlin"), days.tz_localize(None), numbers,
            pandas.to_timedelta(numbers, unit=days.unit), pandas.period_range("1970-01", periods=2, freq="M"),
            [0, 1], [0.0, 1.0], [-0.0, 1.0], [False, True],
            pandas.CategoricalIndex(["a", "b"]), pandas.CategoricalIndex(["a", "b"], ordered=True), ["a", "b"],
        ]  # fmt: skip
        levels = [pandas.MultiIndex.from_arrays([each, ["a", "a"]]) for each in (*labels, mixed, mixed[::-1])]
        values = [
            *(pandas.Series([1, 2], index=each) for each in (*labels, *levels)), *levels,
            levels[0].rename(["day", "name"]), levels[0].rename(["day", "shop"]),
        ]  # fmt: skip
        assert len({of(value).exact for value in values}) == len(values)
        assert [of(copy.deepcopy(value)).exact == of(value).exact for value in values] == [True] * len(values)
        assert [value for value in values if of(value).weak] == []

    def test_frames_count_by_what_pandas_hashes_alike(self) -> None:
        """G2: categories of several types are hashed as texts, and -0.0 as 0.0."""
        pandas = pytest.importorskip("pandas")
        values = [
            *(
                pandas.Series(pandas.Categorical(cells, categories=[1, "1"]))
                for cells in ([1, "1"], ["1", 1])
            ),
            *(pandas.Series([zero], dtype=dtype) for zero in (0.0, -0.0) for dtype in ("float64", "Float64")),
            *(pandas.DataFrame({"a": [zero], "b": [-zero]}) for zero in (0.0, -0.0)),
        ]
        assert len({of(value).exact for value in values}) == len(values)

    def test_an_array_of_pandas_counts_by_its_values(self) -> None:
        """Rule 1: what lies under a missing one is nobody's, and a restored array has no caches."""
        pandas, serde = pytest.importorskip("pandas"), Serde()
        values = [
            *(pandas.array(cells) for cells in ([1, 2], [1, None], [1.5, None], [True, None], ["a", None])),
            pandas.Categorical(["a"]), pandas.Categorical(["a"], categories=["a", "b"]),
            pandas.period_range("2024", periods=2, freq="M").array, pandas.interval_range(0, 2).array,
        ]  # fmt: skip
        assert len({of(value).exact for value in values}) == len(values)
        assert [of(serde.loads(serde.dumps([value]))).exact for value in values] == [
            of([value]).exact for value in values
        ]

    def test_a_view_of_memory_counts_by_how_it_is_seen(self) -> None:
        """G2: the same bytes are another number as an integer than as a float."""
        bytes_of_one = memoryview(b"\1\0\0\0")
        values = [bytes_of_one, *(bytes_of_one.cast(code) for code in "if"), bytes_of_one.cast("B", (2, 2))]
        assert len({of(value).exact for value in values}) == len(values)

    def test_a_dataclass_of_pydantic_with_slots_counts_by_its_fields(self) -> None:
        """G2: it declares them as a model does, and holds them elsewhere."""

        @pydantic.dataclasses.dataclass(slots=True)
        class Slotted:
            number: int

        assert of(Slotted(1)).exact != of(Slotted(2)).exact
        assert not of(Slotted(1)).weak

    def test_times_count_by_what_iso_8601_leaves_out(self) -> None:
        """G2: the name of a zone, and which of an autumn's two equal hours is meant, are a part of the value."""
        summer, twice = datetime(2020, 7, 1, 9), datetime(2020, 10, 25, 2, 30)
        values = [
            *(summer.replace(tzinfo=ZoneInfo(f"Europe/{city}")) for city in ("Rome", "Paris")),
            *(time(9, tzinfo=ZoneInfo(f"Europe/{city}")) for city in ("Rome", "Paris")),
            summer.replace(tzinfo=timezone(timedelta(hours=2))),
            twice, twice.replace(fold=1), twice.time(), twice.time().replace(fold=1),
        ]  # fmt: skip
        assert len({of(value).exact for value in values}) == len(values)
        assert [of(copy.deepcopy(value)).exact == of(value).exact for value in values] == [True] * len(values)

    def test_errors_count_by_their_attributes(self) -> None:
        """G2: two errors of one message are two arguments where they carry something else."""

        def failed(**attributes: Any) -> ValueError:
            error = ValueError("refused")
            error.__dict__.update(attributes)
            return error

        values = [failed(), failed(code=1), failed(code=2), failed(code="2")]
        assert len({of(value).exact for value in values}) == len(values)

    def test_errors_count_by_what_their_arguments_leave_out(self) -> None:
        """G2: Python keeps the name of a file, a module or an attribute beside the arguments."""
        values = [
            *(FileNotFoundError(2, "no such file", name) for name in ("a.txt", "b.txt")),
            OSError(2, "no such file"), OSError(18, "another device", "a", None, "b"),
            *(ImportError("no", name=name) for name in ("a", "b")), ImportError("no", path="a"),
            *(NameError("no", name=name) for name in ("a", "b")),
            *(AttributeError("no", name=name) for name in ("a", "b")),
        ]  # fmt: skip
        serde = Serde()
        assert len({of(value).exact for value in values}) == len(values)
        assert [of(serde.loads(serde.dumps(value))).exact for value in values] == [
            of(value).exact for value in values
        ]

    def test_errors_count_by_their_slots_and_by_what_pydantic_found(self) -> None:
        """G2: neither is in the arguments that Python keeps of an error."""

        class Failed(Exception):
            __slots__ = ("code",)

        def invalid(number: Any) -> pydantic.ValidationError:
            with pytest.raises(pydantic.ValidationError) as caught:
                Order(number=number)
            return caught.value

        values = [holding(Failed(), code=1), holding(Failed(), code=2), *map(invalid, ["a", "b", None])]
        assert len({of(value).exact for value in values}) == len(values)
        serde = Serde()
        assert [of(serde.loads(serde.dumps(value))).exact for value in values[2:]] == [
            of(value).exact for value in values[2:]
        ]

    @pytest.mark.parametrize(
        "made",
        [lambda: ValueError(Connection()), lambda: Refused("no", Connection())],
        ids=["argument", "attribute"],
    )
    def test_a_restored_error_has_the_digest_of_the_error(self, made: Any) -> None:
        """A replayed run passes on what the serializer restored, in which what can't be stored is its `repr`."""
        serde = Serde()
        assert of(serde.loads(serde.dumps(made()))).exact == of(made()).exact

    @pytest.mark.parametrize("kind", ["model", "equal", "batch"])
    def test_a_cached_property_does_not_count(self, kind: str) -> None:
        """It is there once somebody has asked for it; a restored argument has none, and must be the same call."""
        made = {"model": Invoice, "equal": Distance, "batch": Rows}[kind]
        fresh, asked = made(), made()
        assert asked.double
        assert of(asked).exact == of(fresh).exact

    def test_a_hash_that_is_kept_does_not_count(self) -> None:
        """G1: that of a text is another one in each process; a struct has it once it was the key of a dict."""
        fresh, asked = Key("a"), Key("a")
        assert {asked: 1}
        assert of(asked) == of(fresh)

    def test_what_a_property_keeps_does_not_count(self) -> None:
        """G1: a value that was asked for something is the value that it was; what a setter or method sets counts."""
        plain, asked = Span(1), Span(1)
        assert (asked.half, asked.unit) == (0.5, "h")
        assert of(asked) == of(plain)
        asked.unit = "d"
        assert of(asked).exact != of(plain).exact
        plain.unit = "d"
        plain.shift()
        assert of(asked).exact != of(plain).exact

    def test_what_an_object_was_given_under_the_name_that_a_getter_assigns_counts(self) -> None:
        """G2: by its name, or by code outside of its class."""
        assert of(Row(_currency="EUR")).exact != of(Row(_currency="USD")).exact
        assert of(placed("Rome")).exact != of(placed("Oslo")).exact

    def test_what_a_duration_of_pendulum_was_asked_for_does_not_count(self) -> None:
        """G1: a task that reads the hours is not called where its result is recorded."""
        pendulum: Any = pytest.importorskip("pendulum")
        plain, asked = (pendulum.duration(days=1, hours=3) for _ in range(2))
        assert (asked.hours, asked.minutes, asked.remaining_seconds, asked.invert) == (3, 0, 0, False)
        assert of(asked) == of(plain) == of(Serde().loads(Serde().dumps(asked)))

    def test_local_functions_count_by_their_code_and_constants(self) -> None:
        """Local functions share their qualified name; two of them must not share a result (G2)."""

        def adder(step: int) -> Any:
            return lambda x: x + step

        digests = {of(each).exact for each in (adder(1), adder(2), lambda x: x * 2, lambda x: x * 3)}
        assert len(digests) == 4
        assert of(adder(1)).exact == of(adder(1)).exact

    def test_local_functions_count_by_their_defaults(self) -> None:
        """G2: `lambda x, k=k: …` in a loop, and what wraps it, are one function for each `k`."""
        values = [
            *((lambda x, k=k: x * k) for k in (1, 2)),
            *((lambda x, *, k=k: x * k) for k in (1, 2)),
            *(functools.lru_cache(lambda x, k=k: x * k) for k in (3, 4)),
        ]
        assert len({of(value).exact for value in values}) == len(values)
        assert [value for value in values if of(value).weak] == []

    def test_what_a_module_has_under_its_own_name_counts_by_that(self) -> None:
        """G2: numpy's functions are no functions of Python's, and what typing has is no class."""
        numpy = pytest.importorskip("numpy")
        values = [
            *(
                numpy.sum,
                numpy.mean,
                numpy.add,
                numpy.multiply,
                Any,
                typing.Callable,
                Literal["a"],
                Literal["b"],
            ),
            *(getattr(typing, name)[int] for name in ("Optional", "List", "Set", "Iterator")),
        ]
        assert len({of(value).exact for value in values}) == len(values)
        assert [value for value in values if of(value).weak] == []

    @pytest.mark.skipif(sys.version_info < (3, 12), reason="`type` statements came with Python 3.12")
    def test_the_name_of_a_type_counts_by_itself(self) -> None:
        """`type Cat = …` and `type Dog = …` are two arguments."""
        namespace: dict[str, Any] = {"__name__": __name__}
        exec("type Cat = dict[str, int]\ntype Dog = dict[str, int]", namespace)
        assert of(namespace["Cat"]).exact != of(namespace["Dog"]).exact
        assert not of(namespace["Cat"]).weak

    def test_what_only_its_making_tells_counts_by_that(self) -> None:
        """G2: two keys to sort by, two methods to call, two loggers; each is what it was made with, and stays so."""
        values = [
            operator.itemgetter("a"), operator.itemgetter("a", "b"), operator.attrgetter("a"), operator.attrgetter("b"),
            operator.methodcaller("a"), operator.methodcaller("a", 1), operator.methodcaller("a", b=1),
            logging.getLogger("a"), logging.getLogger("b"), logging.getLogger(),
        ]  # fmt: skip
        assert len({of(value).exact for value in values}) == len(values)
        assert [value for value in values if of(value).weak] == []
        assert of(operator.itemgetter("a")).exact == of(operator.itemgetter("a")).exact

    def test_a_function_that_was_bound_by_hand_counts_with_what_it_captured(self) -> None:
        """G2: `types.MethodType(made, owner)` of two that a factory made are two arguments."""

        def adding(n: int) -> Any:
            return MethodType(lambda self: n, 1)

        assert of(adding(3)).exact != of(adding(4)).exact
        assert of(adding(3)).exact == of(adding(3)).exact

    def test_a_function_whose_name_leads_elsewhere_counts_by_what_made_it(self) -> None:
        """G2: a name that a decorator copied, or that was given by hand, is that of many."""
        first, *others = [
            plain,
            *(
                times(plain, by)
                for by in (2, Rate(2), Rate(3), functools.partial(pow, 2), functools.partial(pow, 3))
            ),
            *(times(times(plain, by), 5) for by in (2, 3)),
            plus(plain, 2),
            *map(called_scaled, (2, 3)),
            *NAMELESS,
            *REPLACED,
        ]
        assert len({of(value).exact for value in (first, *others)}) == 1 + len(others)
        assert of(times(plain, 2)).exact == of(times(plain, 2)).exact

    def test_what_only_its_type_tells_makes_a_function_weak_whose_name_leads_elsewhere(self) -> None:
        """G2: another one of its name may be around another connection."""
        assert of(times(plain, Connection())).weak
        assert not of(times(plain, logging.getLogger("a"))).weak

    @pytest.mark.parametrize(
        "value",
        [math.floor, str.upper, "a".join, math, logging.getLogger("a"), operator.itemgetter(1)],
        ids=lambda value: type(value).__name__,
    )
    def test_what_stays_as_it_is_under_its_name_counts_by_that_where_a_function_captured_it(
        self, value: Any
    ) -> None:
        """G2: so does it as an argument."""
        others = math.ceil, str.lower, "b".join, operator, logging.getLogger("b"), operator.itemgetter(2)
        digests = [of(lambda given=given: given).exact for given in (value, *others)]
        assert (len({*digests}), of(lambda: value).weak) == (1 + len(others), "")

    def test_methods_of_one_function_count_by_the_names_that_their_class_has_for_them(self) -> None:
        """G2: `charge = times(plain, 2)` and `refund = times(plain, 3)` in a class are two methods."""

        class Till:
            charge = times(plain, 2)
            refund = times(plain, 3)

        assert of(Till().charge).exact != of(Till().refund).exact
        assert of(Till().charge).exact == of(Till().charge).exact

    def test_what_a_decorated_function_sets_itself_is_its_state(self) -> None:
        """It is the same argument after it was called, and can't be told from others that differ in this alone."""
        counted, digests = counting(plain), set()
        for _ in range(3):
            digests.add(of(counted).exact)
            counted(1)
        assert (len(digests), bool(of(counted).weak)) == (1, True)

    def test_an_attribute_that_a_decorator_draws_for_its_function_tells_it_from_no_other(self) -> None:
        """G1: each process gives it another one; what the decorator was given tells."""
        assert of(traced(plain, 2)) == of(traced(plain, 2))
        assert of(traced(plain, 2)).exact != of(traced(plain, 3)).exact

    def test_a_lock_and_what_a_memo_has_learned_tell_a_decorated_function_from_no_other(self) -> None:
        """G2: it isn't weak for them, so that results of calls with it are kept."""
        fast = memo(plain)
        before = of(fast)
        fast(1)
        assert before == of(fast) == of(memo(plain))
        assert before.exact != of(plain).exact
        assert (before.weak, bool(of(times(plain, {})).weak)) == ("", True)

    @pytest.mark.parametrize(
        "value",
        [Connection(), threading.Lock(), object(), iter([]), (i for i in ()), print_to(Connection())],
        ids=lambda value: type(value).__name__,
    )
    def test_a_value_without_value_semantics_counts_by_its_type_and_is_weak(self, value: Any) -> None:
        """Arguments that have no digest count by type and flag the record."""
        assert of(value).weak
        assert of([value, 1]).exact != of([value, 2]).exact
        assert of(Connection()).exact == of(Connection()).exact

    @pytest.mark.parametrize(
        "key",
        [Connection(), (1, Connection()), frozenset([Connection()])],
        ids=lambda key: type(key).__name__,
    )
    def test_a_key_without_value_semantics_is_weak_as_well(self, key: Any) -> None:
        """What is in a dict's keys counts as what is in its values: a cache takes no such call for another."""
        assert of({key: 1}).weak
        assert of({1: {key: 1}}).weak
        assert not of({(1, 2): 1}).weak

    def test_a_key_that_holds_its_dict_is_weak(self) -> None:
        """Cycles by way of keys must not crash either."""

        class Key:
            def __init__(self) -> None:
                self.table: dict[Any, int] = {self: 1}

            def __eq__(self, other: object) -> bool:
                return type(other) is Key

            def __hash__(self) -> int:
                return 1

        assert of(Key().table).weak

    def test_an_object_whose_code_fails_counts_by_type(self) -> None:
        """A digest never raises, whatever users' methods do."""

        class Broken:
            def __eq__(self, other: object) -> bool:
                raise RuntimeError

            def __reduce_ex__(self, protocol: Any) -> Any:
                raise RuntimeError

        assert of(Broken()).weak

    def test_a_number_that_python_would_not_write_has_a_digest(self) -> None:
        """A digest never raises: Python writes no number of more than 4,300 decimals unless it is told to."""
        first, second = 10**5000 + 1, 10**5000 + 3
        assert of(first).exact != of(second).exact
        assert [leaf.kind for leaf in of(first).leaves] == ["random"]
        assert of(first).leaves != of(second).leaves

    @pytest.mark.parametrize("key", [10**5000, Speechless()], ids=["number", "object"])
    def test_a_key_that_cannot_be_shown_leads_to_a_volatile_leaf(self, key: Any) -> None:
        """A digest never raises, and the path to a leaf is made of the `repr` of keys."""
        (leaf,) = of({key: uuid.uuid4()}).leaves
        assert leaf.path.startswith("x[<")

    def test_a_value_that_holds_itself_is_weak(self) -> None:
        """Cycles must not crash."""
        value: list[Any] = [1]
        value.append({"self": value})
        assert of(value).weak
        assert of(value).exact != of([2, {"self": value}]).exact

    def test_a_value_nested_beyond_reason_is_weak(self) -> None:
        """Depth must not crash either."""
        value: list[Any] = []
        for _ in range(5_000):
            value = [value]
        assert of(value).weak

    def test_a_graph_is_walked_in_as_many_steps_as_it_is_large(self) -> None:
        """Among nodes that lead back to each other there are more ways than anybody can walk."""
        seen: list[int] = []

        class Node:
            def __init__(self, number: int) -> None:
                self.number, self.others = number, list[Node]()

            def __eq__(self, other: object) -> bool:
                return self is other

            def __reduce_ex__(self, protocol: Any) -> Any:
                seen.append(self.number)
                return Node, (self.number,), self.others

        def graph(last: int) -> Node:
            nodes = [*map(Node, range(29)), Node(last)]
            for node in nodes:
                node.others = [other for other in nodes if other is not node]
            return nodes[0]

        found = of(graph(29))
        assert len(seen) <= 30 * 20
        assert found.weak
        assert found.exact == of(graph(29)).exact
        assert found.exact != of(graph(30)).exact

    def test_whether_equal_parts_are_one_object_does_not_count(self) -> None:
        """Nor beside a value that holds itself, where an object is walked once."""
        cycle: list[Any] = []
        cycle.append(cycle)
        part = [Point(1, ["a"])]
        assert of([cycle, *[part] * 20]).exact == of([cycle, *(copy.deepcopy(part) for _ in range(20))]).exact

    def test_a_mock_counts_by_its_type(self) -> None:
        """Its equality is that of objects, and its state the calls that a test has made of it."""
        fresh, used = MagicMock(), MagicMock()
        used.fetch("a").json()
        assert of(used).weak == "unittest.mock.MagicMock"
        assert of(used).exact == of(fresh).exact

    @pytest.mark.parametrize(
        ("value", "exact"),
        [
            (12, "0401aa"),
            ({"b": [1, (2.5, None)], "a": {"x", "y"}}, "7a0065"),
            (Decimal("1.50"), "556b0d"),
            ((1, b"\x00"), "bed473"),
            ("ä", "816ce7"),
            (2**80, "60aac7"),
            (datetime(2020, 1, 2, tzinfo=UTC), "03ab96"),
            (ZoneInfo("Europe/Berlin"), "41019c"),
            (Path, "3c19cb"),
            (re.compile("a").match, "ad3558"),  # of the kind that methods of ZoneInfo are of from 3.12 on
            (re.error("bad", "a(", 1), "b3a6de"),
        ],
    )
    def test_digests_are_the_same_for_ever(self, value: Any, exact: str) -> None:
        """Records outlive processes, Python versions and releases of flowfn."""
        assert of(value).exact.hex()[:6] == exact

    @pytest.mark.parametrize("seed", ["0", "1", "77"])
    def test_digests_do_not_depend_on_the_hash_seed(self, seed: str) -> None:
        """A resumed run is another process, whose sets iterate in another order."""
        program = (
            "import sys; sys.path[:0] = sys.argv[1:]\n"
            "from flowfn.identity.digest import exact\n"
            "value = [{'a', 'b', ('d', 1)}, dict.fromkeys({'x', 'y', 'z', 3}, 1), frozenset('hello'), len]\n"
            "print(exact({'x': value}).exact.hex())"
        )
        run = subprocess.run(
            [sys.executable, "-c", program, str(Path(__file__).parents[2])],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        value = [{"a", "b", ("d", 1)}, dict.fromkeys(("x", "y", "z", 3), 1), frozenset("hello"), len]
        assert run.stdout.strip() == of(value).exact.hex()


class TestIdentityless:
    """Rule 1: what carries no identity doesn't count."""

    def test_memory_addresses_do_not_count(self) -> None:
        """The `repr` of an object names another address in each process."""
        assert of("<Connection at 0x7f01ab>").exact == of("<Connection at 0x7fffff12>").exact
        assert of("<Connection at 0x7f01ab>").exact != of("<Socket at 0x7f01ab>").exact
        assert (
            of("call <function f.<locals>.g at 0x1>").exact == of("call <function f.<locals>.g at 0x2>").exact
        )

    @pytest.mark.parametrize("text", ["segmentation fault at {}", "<b>fault</b> at {}", "at <main>, at {}"])
    def test_an_address_outside_of_a_repr_counts(self, text: str) -> None:
        """G2: a text that a user wrote, such as a line of a log, is data, addresses included."""
        assert of(text.format("0x7f01ab")).exact != of(text.format("0x7fffff12")).exact

    def test_the_id_of_a_chat_message_does_not_count(self) -> None:
        """Providers and frameworks give messages a new id on each run."""
        message = {"role": "user", "content": "hello"}
        assert of([{**message, "id": "a"}]).exact == of([{**message, "id": "b"}]).exact == of([message]).exact

    def test_the_id_of_anything_else_counts(self) -> None:
        """Only what is certainly a chat message loses its id."""
        assert of({"role": "user", "id": "a"}).exact != of({"role": "user", "id": "b"}).exact

    def test_the_id_of_a_langchain_message_does_not_count(self) -> None:
        """The same of message objects, of which only the class differs."""
        messages = pytest.importorskip("langchain_core.messages")
        first, second = (messages.HumanMessage("hello", id=each) for each in "ab")
        assert of(first).exact == of(second).exact
        assert of(first).exact != of(messages.AIMessage("hello")).exact


WHEN = NOW - 30.5
MOMENT = datetime.fromtimestamp(WHEN, UTC)
LOCAL = datetime.fromtimestamp(WHEN)


def uuid7(seconds: float) -> uuid.UUID:
    """A UUID of version 7 of that time."""
    return uuid.UUID(int=int(seconds * 1000) << 80 | 0x7ABC << 64 | 0x8123456789ABCDEF)


def uuid1(seconds: float, version: int) -> uuid.UUID:
    """A UUID of version 1 or 6 of that time."""
    ticks = int(seconds * 1e7) + 0x01B21DD213814000
    low = 0x8123456789ABCDEF
    if version == 6:
        return uuid.UUID(int=(ticks >> 12) << 80 | (0x6000 | ticks & 0xFFF) << 64 | low)
    return uuid.UUID(
        int=(ticks & 0xFFFFFFFF) << 96 | (ticks >> 32 & 0xFFFF) << 80 | (0x1000 | ticks >> 48) << 64 | low
    )


TIMES: dict[str, Any] = {
    "aware": MOMENT,
    "aware elsewhere": MOMENT.astimezone(timezone(timedelta(hours=9))),
    "naive local": LOCAL,
    "naive utc": MOMENT.replace(tzinfo=None),
    "today": LOCAL.date(),
    "seconds": WHEN,
    "whole seconds": int(WHEN),
    "milliseconds": int(WHEN * 1e3),
    "float milliseconds": WHEN * 1e3,
    "microseconds": int(WHEN * 1e6),
    "nanoseconds": int(WHEN * 1e9),
    "uuid1": uuid1(WHEN, 1),
    "uuid6": uuid1(WHEN, 6),
    "uuid7": uuid7(WHEN),
}
TIME_TEXTS: dict[str, str] = {
    "iso": MOMENT.isoformat(),
    "iso Z": MOMENT.isoformat().replace("+00:00", "Z"),
    "naive": str(LOCAL),
    "day": str(LOCAL.date()),
    "minute": LOCAL.strftime("%Y-%m-%d %H:%M"),
    "compact": LOCAL.strftime("%Y%m%d_%H%M%S"),
    "digits": LOCAL.strftime("%Y%m%d%H%M%S%f"),
    "seconds": str(WHEN),
    "whole seconds": str(int(WHEN)),
    "nanoseconds": str(int(WHEN * 1e9)),
    "ctime": LOCAL.ctime(),
    "of a mail": formatdate(WHEN),
    "of a web server": LOCAL.strftime("%d-%b-%Y %H:%M:%S"),
    "in words": LOCAL.strftime("%A, %B %d, %Y at %I:%M %p"),
    "day first": LOCAL.strftime("%d/%m/%Y %H:%M"),
    "month first": LOCAL.strftime("%m/%d/%Y, %H:%M:%S"),
    "uuid1": str(uuid1(WHEN, 1)),
    "uuid7": str(uuid7(WHEN)),
    "uuid7 hex": uuid7(WHEN).hex,
}


class TestClock:
    """Rule 2: leaves that were the time of the call."""

    @pytest.mark.parametrize("name", TIMES)
    def test_a_time_of_the_attempt_is_seen(self, name: str) -> None:
        """Datetimes, epoch numbers and time-based UUIDs, whole."""
        assert kinds(TIMES[name]) == ["clock"]

    @pytest.mark.parametrize("name", TIMES)
    def test_the_same_time_is_an_ordinary_value_for_a_later_attempt(self, name: str) -> None:
        """Outside the window it could be anything: a deadline, a birthday, a file's age."""
        assert kinds(TIMES[name], since=LATER) == []
        assert of(TIMES[name], since=LATER).exact == of(TIMES[name]).exact

    @pytest.mark.parametrize("template", ["{}", "report-{}.csv", "/data/{}/rows", "t{}", "at {}, by me"])
    @pytest.mark.parametrize("name", TIME_TEXTS)
    def test_a_time_in_a_text_is_seen_and_the_rest_stays(self, name: str, template: str) -> None:
        """`f"report-{ts}.csv"` is a template and a time."""
        if name == "uuid7 hex" and template == "t{}":
            return  # no longer a hexadecimal number of its own
        found = of(template.format(TIME_TEXTS[name]))
        assert [(leaf.kind, leaf.text) for leaf in found.leaves] == [("clock", TIME_TEXTS[name])]
        assert kinds(template.format(TIME_TEXTS[name]), since=LATER) == []

    @pytest.mark.parametrize("name", TIME_TEXTS)
    def test_two_calls_that_differ_in_their_time_share_a_skeleton(self, name: str) -> None:
        """Rule 2 finds the record of the first attempt by it."""
        first, second = of(f"report-{TIME_TEXTS[name]}.csv"), of(f"summary-{TIME_TEXTS[name]}.csv")
        assert first.skeleton != second.skeleton
        then, since = of(MOMENT), NOW + 3600
        now = of(MOMENT + timedelta(seconds=3600 + 100), since)
        assert (then.skeleton, then.exact == now.exact) == (now.skeleton, False)

    def test_the_window_is_two_seconds_wider_than_the_attempt(self) -> None:
        """Clocks of one machine may disagree a little."""
        edges = [SINCE - 2.5, SINCE - 1.5, NOW + 1.5, NOW + 2.5]
        assert [kinds(edge) for edge in edges] == [[], ["clock"], ["clock"], []]

    def test_the_clock_is_asked_only_if_a_leaf_could_be_a_time(self) -> None:
        """`now` costs nothing on most calls."""

        def forbidden() -> float:
            raise AssertionError("asked for the time")

        digest(
            {"n": 12, "url": "https://example.com/a", "rows": [{"price": 9.99}]},
            lambda: Window(SINCE, forbidden, forbidden),
        )

    def test_leaves_are_found_wherever_they_are(self) -> None:
        """Paths start at the parameter and read like code."""
        order = {"id": MOMENT, "lines": [(Point(1, [str(WHEN)]),)], 3: {WHEN}}
        found = digest({"order": order}, window).leaves
        assert {leaf.path for leaf in found} == {'order["id"]', 'order["lines"][0][0].tags[0]', "order[3]{…}"}

    def test_the_order_of_leaves_does_not_depend_on_insertion(self) -> None:
        """Leaves of two attempts are compared pair by pair."""
        first = of({"a": MOMENT, "b": LOCAL})
        second = of({"b": LOCAL, "a": MOMENT})
        assert first == second

    def test_leaves_can_be_stored_as_lists_of_short_texts(self) -> None:
        """They ride on the record of the call; different leaves keep different texts."""
        tokens = [hashlib.sha512(bytes([n])).hexdigest() for n in range(2)]
        first, second = (of(token).leaves for token in tokens)
        assert [list(map(type, leaf)) for leaf in first] == [[str, str, str]]
        assert all(len(leaf.text) <= 80 for leaf in first)
        assert first != second

    def test_a_call_without_volatile_leaves_has_no_skeleton(self) -> None:
        """There is nothing to compare but the exact digest."""
        assert of({"a": [1, "b", 2.5]})[1:4] == (None, (), "")

    def test_huge_arguments_have_no_skeleton(self) -> None:
        """Beyond 10,000 leaves nobody looks for volatile ones."""
        assert of([*range(9_990), MOMENT]).skeleton is not None
        assert of([*range(10_010), MOMENT])[1:] == (None, (), "", None)

    def test_long_texts_count_whole(self) -> None:
        """A document is hashed, not scanned."""
        assert of(f"{MOMENT} " + "x" * 4_100).skeleton is None


CHANCE = random.Random(20_260_921)
TEMPNAME = string.ascii_lowercase + string.digits + "_"
GENERATORS: dict[str, Any] = {
    "uuid4": lambda: uuid.UUID(int=CHANCE.getrandbits(128), version=4),
    "str(uuid4)": lambda: str(uuid.UUID(int=CHANCE.getrandbits(128), version=4)),
    "uuid4().hex": lambda: uuid.UUID(int=CHANCE.getrandbits(128), version=4).hex,
    "uuid5": lambda: uuid.uuid5(uuid.NAMESPACE_DNS, str(CHANCE.random())),
    "token_hex(8)": lambda: CHANCE.randbytes(8).hex(),
    "TOKEN_HEX(16)": lambda: CHANCE.randbytes(16).hex().upper(),
    "md5": lambda: hashlib.md5(CHANCE.randbytes(8)).hexdigest(),
    "sha256": lambda: hashlib.sha256(CHANCE.randbytes(8)).hexdigest(),
    "token_urlsafe(16)": lambda: base64.urlsafe_b64encode(CHANCE.randbytes(16)).rstrip(b"=").decode(),
    "token_urlsafe(32)": lambda: base64.urlsafe_b64encode(CHANCE.randbytes(32)).rstrip(b"=").decode(),
    "b64encode(16)": lambda: base64.b64encode(CHANCE.randbytes(16)).decode(),
    "b64encode(32)": lambda: base64.b64encode(CHANCE.randbytes(32)).decode(),
    "mkdtemp()": lambda: "/tmp/tmp" + "".join(CHANCE.choices(TEMPNAME, k=8)),
    "tempfile name": lambda: "tmp" + "".join(CHANCE.choices(TEMPNAME, k=8)),
    "urandom(8)": lambda: CHANCE.randbytes(8),
    "urandom(32)": lambda: CHANCE.randbytes(32),
    "random()": CHANCE.random,
    "gauss()": lambda: CHANCE.gauss(0, 1),
    "getrandbits(64)": lambda: CHANCE.getrandbits(64),
    "getrandbits(128)": lambda: CHANCE.getrandbits(128),
}
EMBEDDABLE = [name for name in GENERATORS if isinstance(GENERATORS[name](), str) and "b64" not in name]


IDENTIFIER = re.compile(r"(?:\bdef |\bclass |\bimport |\.)([A-Za-z_]\w*)")


EVERYTHING = (
    PLAIN
    | st.integers(10**8, 2**64)
    | st.floats(0.9e9, 1.1e9)
    | st.floats(SINCE, NOW)
    | st.from_regex(r"[a-z]{0,3}[0-9]{3,20}[a-f.:T-]{0,2}[0-9]{0,6}", fullmatch=True)
    | st.from_regex(r"[A-Za-z0-9_+/-]{14,24}={0,2}", fullmatch=True)
    | st.from_regex(r"(/tmp/)?tmp[a-z0-9_]{7,9}|<?A at 0x[0-9a-f]{1,12}", fullmatch=True)
)


class TestGlance:
    """Plain arguments that a glance clears are digested as they are."""

    @given(st.lists(EVERYTHING, max_size=4) | st.dictionaries(st.text(max_size=8), EVERYTHING, max_size=4))
    @settings(max_examples=500)
    def test_a_glance_clears_nothing_that_the_thorough_look_would_find(self, value: Any) -> None:
        """Both ways give one digest, one skeleton and the same leaves."""
        glanced = digest({"x": value}, window)
        thorough = digest(MappingProxyType({"x": value}), window)
        assert glanced == thorough


class TestRandom:
    """Rule 3: leaves that look random."""

    @pytest.mark.parametrize("name", GENERATORS)
    def test_99_percent_of_what_a_generator_makes_are_seen(self, name: str) -> None:
        """Measured on 10,000 with a fixed seed."""
        seen = sum(kinds(GENERATORS[name]()) == ["random"] for _ in range(10_000))
        assert seen > 9_900

    @pytest.mark.parametrize(
        "template", ["order-{}", "out/{}.csv", "{}_report", "https://example.com/a?token={}&n=1"]
    )
    @pytest.mark.parametrize("name", EMBEDDABLE)
    def test_99_percent_in_a_text_share_one_skeleton(self, name: str, template: str) -> None:
        """The text around a token stays, the same whatever the token."""
        skeletons = [of(template.format(GENERATORS[name]())).skeleton for _ in range(2_000)]
        usual = max(set(skeletons), key=skeletons.count)
        assert usual is not None
        assert skeletons.count(usual) > 1_970

    def test_the_text_around_a_token_stays_in_the_skeleton(self) -> None:
        """`order-<token>` and `refund-<token>` are two calls."""
        token = "V0S4vXuW3utZojs3DFBBmb"
        assert [leaf.text for leaf in of(f"order-{token}").leaves] == [token]
        assert of(f"order-{token}").skeleton != of(f"refund-{token}").skeleton

    def test_no_name_in_the_standard_library_looks_random(self) -> None:
        """Identifiers and paths, in every spelling that Python's own sources use."""
        library = Path(os.__file__).parent
        files = [
            file for file in library.rglob("*.py") if not {"test", "tests", "site-packages"} & {*file.parts}
        ]
        texts = {str(file) for file in files}
        for file in files:
            texts.update(IDENTIFIER.findall(file.read_text(errors="replace")))
        assert len(texts) > 10_000
        assert [text for text in sorted(texts) if kinds(text)] == []

    @pytest.mark.parametrize(
        "value",
        [
            "https://example.com/articles/how-to-write-software?page=2",
            "s3://bucket/2024/05/01/part-00000.parquet",
            "2024-05-01T10:00:00+00:00", "20240501100000123456", "+49 151 23456789", "0049 151 2345678901",
            "v1.2.3-rc1+build.20240101", "3.11.7", "0.001", "Wed May  1 10:00:00 2024", "30/02/2026 10:00",
            "Version 3.11.2026 10:00, 14:30 to 15:30 on May 5th",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
            "application/vnd.openxmlformats-officedocument", "ThisIsAVeryLongClassName",
            "SCREAMING_SNAKE_CASE_NAME",
            "some_long_snake_case_name_2", "Donaudampfschifffahrtsgesellschaft", "0000000000000042",
            "aaaaaaaaaaaaaaaa",
            "tmp_charmap", "tmpfilename", "The quick brown fox jumps over the lazy dog.",
            "user12@example.com",
            0.001, 19.99, 1e300, 3.14159, 10**18, 2**70, 4_915_123_456_789, b"plain bytes, a text",
            b"\x00" * 16,
            "größere Beträge überwiesen".encode(), uuid.UUID(int=0), 1_750_000_000, 1_750_000_000.123456,
        ],
    )  # fmt: skip
    def test_what_people_write_is_ordinary(self, value: Any) -> None:
        """Words, paths, versions, amounts, phone numbers, and times that are long past."""
        assert kinds(value) == []


class TestNames:
    """The name of a task: section 4, module and qualified name."""

    def test_a_function_is_named_by_module_and_qualified_name(self) -> None:
        """Functions, methods, classes, built-ins and modules; anything else by its type."""
        named = [digest, TestNames.test_a_script_has_its_own_name, Point, os, len, str.upper, Colour.RED]
        assert [qualified_name(each).removeprefix(f"{__name__}.") for each in named] == [
            "flowfn.identity.digest.digest",
            "TestNames.test_a_script_has_its_own_name",
            "Point",
            "os",
            "builtins.len",
            "builtins.str.upper",
            "Colour",
        ]

    def test_a_function_made_in_a_comprehension_has_one_name_on_every_python(self) -> None:
        """Python 3.12 took comprehensions out of the names of what is in them, and runs are resumed on it."""
        made = [
            *[lambda: 1 for _ in "a"],
            *{lambda: 2 for _ in "a"},
            *{key: lambda: 3 for key in "a"}.values(),
        ]
        name = (
            "TestNames.test_a_function_made_in_a_comprehension_has_one_name_on_every_python.<locals>.<lambda>"
        )
        assert [qualified_name(each) for each in made] == [f"{__name__}.{name}"] * 3

    @pytest.mark.parametrize(
        ("module", "qualname", "name"),
        [
            ("pathlib._local", "Path.home", "pathlib.Path.home"),
            ("_io", "open", "io.open"),
            ("re", "PatternError", "re.error"),
            ("tests._inner", "work", "tests._inner.work"),
        ],
    )
    def test_what_the_standard_library_moves_within_itself_keeps_its_name(
        self, module: str, qualname: str, name: str
    ) -> None:
        """Inner modules come and go, and runs are resumed on another Python; those of a project are its own."""
        moved = type("Moved", (), {"__module__": module, "__qualname__": qualname})
        assert qualified_name(moved) == name

    @pytest.mark.parametrize("command", [["script.py"], ["-m", "script"]], ids=["as a file", "with -m"])
    def test_a_script_has_its_own_name(self, tmp_path: Path, command: list[str]) -> None:
        """`__main__` resolves to the script's module name, so that a script and `flowfn resume` agree."""
        (tmp_path / "script.py").write_text(
            "from flowfn.identity.digest import qualified_name\ndef work(): ...\nprint(qualified_name(work))"
        )
        paths = os.pathsep.join([str(Path(__file__).parents[2]), str(tmp_path)])
        run = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert run.stdout.strip() == "script.work"

    def test_a_script_may_have_any_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file's name that isn't UTF-8 is escaped: no database keeps what Python makes of it."""
        script = ModuleType("__main__")
        script.__file__ = os.fsdecode(b"/srv/caf\xe9.py")
        monkeypatch.setitem(sys.modules, "__main__", script)
        assert qualified_name(script) == r"caf\udce9"


class TestRender:
    """A short rendering of the arguments, for reports."""

    def test_arguments_are_written_as_in_a_call(self) -> None:
        """Short values are shown whole."""
        assert render({"url": "https://a.b", "n": 3, "p": Point(1, ["a"])}) == (
            "url='https://a.b', n=3, p=Point(x=1, tags=['a'])"
        )

    def test_a_tuple_of_one_is_told_from_what_is_in_it(self) -> None:
        """A report of an argument that became a tuple shows that."""
        assert render({"x": (1,), "y": (1, 2), "z": ()}) == "x=(1,), y=(1, 2), z=()"

    @given(st.dictionaries(st.sampled_from("abc"), PLAIN), st.integers(20, 200))
    def test_a_rendering_keeps_its_limit(self, value: dict[str, Any], limit: int) -> None:
        """A rendering is no longer than its limit, whatever the arguments are."""
        assert len(render(value, limit)) <= limit

    def test_huge_values_are_shown_in_part(self) -> None:
        """Rendering looks at the first few items only."""
        assert (
            render({"x": range(10**9), "y": list(range(10**5))})
            == "x=range(0, 1000000000), y=[0, 1, 2, 3, …]"
        )
        assert render({"x": 10**5_000}) == "x=<int of 16610 bits>"
        assert render({"x": "a" * 10**6}) == f"x='{'a' * 47}…'"

    def test_a_broken_repr_is_replaced(self) -> None:
        """Rendering never raises."""

        class Broken:
            def __repr__(self) -> str:
                raise RuntimeError

        assert render({"x": [Broken()]}) == "x=[<Broken>]"


def test_a_json_document_keeps_its_digest_on_a_round_trip() -> None:
    """What a webhook delivers is the same call again."""
    value = {"rows": [{"id": n, "name": f"item {n}", "price": n * 1.25, "ok": True} for n in range(20)]}
    assert of(json.loads(json.dumps(value))).exact == of(value).exact


@given(PLAIN | st.uuids().map(str) | st.datetimes(datetime(2000, 1, 1)) | st.just(Connection()))
def test_an_exact_digest_is_the_one_of_the_digest(value: Any) -> None:
    """Who asks for no skeleton gets the same digest, and is told as well where it is weak."""
    assert exact({"x": value}) == of(value)._replace(skeleton=None, leaves=())


def extended(base: type, *args: Any, **attributes: Any) -> Any:
    """An instance of a class that extends another one, with attributes that only the class above knows of."""
    made = type("Extended", (base,), {"__module__": __name__})(*args)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("base", "args"),
    [
        (Decimal, ("1",)),
        (Fraction, (1, 2)),
        (date, (2026, 1, 2)),
        (datetime, (2026, 1, 2)),
        (time, (1, 2)),
        (timedelta, (1,)),
        (type(Path()), ("a",)),
        (ipaddress.IPv4Address, ("1.1.1.1",)),
        (ipaddress.IPv4Network, ("1.1.1.0/24",)),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_a_value_of_an_extended_class_carries_counts(base: type, args: Any) -> None:
    """One euro isn't one dollar, where both are decimals with a currency."""
    euro, same, dollar = (extended(base, *args, currency=each) for each in ("EUR", "EUR", "USD"))
    assert of(euro).exact == of(same).exact != of(dollar).exact
    assert of(extended(base, *args)).exact == of(extended(base, *args)).exact


def test_what_a_network_remembers_does_not_count() -> None:
    """An extended class's attribute that its base computes once is there for who has asked, and counts for nobody."""
    asked, other = (extended(ipaddress.IPv4Network, "1.1.1.0/24", site="a") for _ in range(2))
    assert asked.broadcast_address
    assert of(asked).exact == of(other).exact


def test_the_metadata_of_a_frame_of_ones_own_counts() -> None:
    """What a class that extends pandas' declares in `_metadata`."""
    pandas = pytest.importorskip("pandas")
    frame = type("Frame", (pandas.DataFrame,), {"_metadata": ["unit"]})
    metres, feet = frame({"a": [1]}), frame({"a": [1]})
    metres.unit, feet.unit = "m", "ft"
    assert of(metres).exact != of(feet).exact


def test_rows_of_a_query_count_by_their_columns_and_values() -> None:
    """A `sqlite3.Row` can't be pickled, and is data all the same: one row isn't taken for another."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        one, same, other, renamed = (
            connection.execute(query).fetchone()
            for query in ("SELECT 1 AS a", "SELECT 1 AS a", "SELECT 2 AS a", "SELECT 1 AS b")
        )
    assert of(one).exact == of(same).exact
    assert len({of(row).exact for row in (one, other, renamed, (1,))}) == 4
    assert not of(one).weak


@pytest.mark.parametrize("make", ["default_rng", "PCG64", "SeedSequence"])
def test_what_draws_random_numbers_counts_by_its_seed(make: str) -> None:
    """However much was drawn: a task that draws isn't run where it is replayed."""
    random = pytest.importorskip("numpy").random
    one, drawn, other = (getattr(random, make)(seed) for seed in (1, 1, 2))
    random.Generator(drawn).random() if make == "PCG64" else drawn.spawn(1)
    assert of(one).exact == of(drawn).exact
    assert len({of(each).exact for each in (one, other, *other.spawn(2))} if make != "PCG64" else "abcd") == 4
    assert of(one).weak


def test_what_draws_by_a_seed_of_the_system_counts_by_its_type() -> None:
    """Each attempt has another one."""
    random = pytest.importorskip("numpy").random
    assert of(random.default_rng()).exact == of(random.default_rng()).exact


def test_an_estimator_counts_by_its_parameters() -> None:
    """Of scikit-learn's protocol, as many libraries have it; fitting it changes nothing."""

    class Regression:
        def __init__(self, C: float) -> None:
            self.C = C

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {"C": self.C}

        def set_params(self, **params: Any) -> None:
            vars(self).update(params)

        def fit(self, x: Any) -> None:
            self.coefficients = x

    one, fitted, other = Regression(1), Regression(1), Regression(2)
    fitted.fit([1])
    assert of(one).exact == of(fitted).exact != of(other).exact
    assert of([one]).weak
