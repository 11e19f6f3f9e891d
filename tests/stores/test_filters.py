"""What a filter asks is asked of the value alone; that SQL asks no more is a property."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flowfn.serde import DEFAULT
from flowfn.stores.conformance.searching import MATCHING, PASSING, VALUE
from flowfn.stores.encoding import encode
from flowfn.stores.filters import OPERATORS, matches
from flowfn.stores.pushdown import conditions

NAMES = st.sampled_from(["a", "b", "a.b", "ü", "", "it's", 'quo"te', "c d"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, 9, 10, -1, 10**15, 2**53 + 1, 2**63, 2**64, 10**400])
    | st.floats()
    | st.sampled_from(["", "9", "10", "1e2", "inf", "a", "b", "ab", "\x00", "a\x00b", "2026-01-02", "\ud800"])
    | st.text(max_size=3)
)
VALUES = st.dictionaries(
    NAMES, SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(NAMES, SCALARS, max_size=2)
)
FILTERS = st.dictionaries(
    NAMES,
    SCALARS
    | st.lists(SCALARS, max_size=2)
    | st.dictionaries(NAMES, SCALARS, max_size=2)
    | st.dictionaries(st.sampled_from(sorted(OPERATORS)), SCALARS, min_size=1, max_size=2),
    min_size=1,
    max_size=2,
)

DATABASE = sqlite3.connect(":memory:")


@pytest.mark.parametrize("asked", MATCHING, ids=repr)
def test_what_matches(asked: dict[str, Any]) -> None:
    """The contract's table, without a store."""
    assert matches(VALUE, asked)


@pytest.mark.parametrize("asked", PASSING, ids=repr)
def test_what_does_not(asked: dict[str, Any]) -> None:
    """These values don't match: the other table of the contract."""
    assert not matches(VALUE, asked)


def lets_through(value: dict[str, Any], asked: dict[str, Any]) -> bool:
    """Whether SQLite, given the conditions that a filter becomes, keeps a row of this value."""
    found = list(conditions(asked))
    where = " AND ".join(sql for sql, _ in found) or "1"
    parameters = [parameter for _, each in found for parameter in each]
    sql = f"SELECT count(*) FROM (SELECT ? AS value) WHERE {where}"
    (count,) = DATABASE.execute(sql, [encode(value, DEFAULT), *parameters]).fetchone()
    return bool(count)


@settings(max_examples=1500)
@given(VALUES, FILTERS, st.booleans())
@example({"a": 0.1 + 0.2}, {"a": {"$gte": 0.30000000000000004}}, False)
@example({"a": "a\x00b"}, {"a": {"$gt": "a"}}, False)
@example({"a": 2.0**53}, {"a": 2**53}, False)
def test_sql_holds_back_nothing_that_matches(
    value: dict[str, Any], asked: dict[str, Any], same: bool
) -> None:
    """Whatever the filter, a value that it lets through is let through by the conditions in SQL."""
    if same:  # by chance alone hardly anything matches
        asked = {key: value.get(key) for key in asked}
    try:
        encode(value, DEFAULT)
    except TypeError:
        return  # no store would hold it
    if matches(value, asked):
        assert lets_through(value, asked)


@pytest.mark.parametrize(
    ("value", "asked"),
    [
        ({"a": "x"}, {"a": "y"}),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": True, "b": 1}),
        ({"a": 1}, {"a": {"$gt": 2}}),
        ({"a": 1}, {"a": {"$lt": 0.5}}),
        ({"a": "x"}, {"a": {"$gte": "y"}}),
        ({"a": 1}, {"a": None}),
        ({}, {"a": {"$gt": 0}}),
        ({"a": []}, {"a": {"$gt": 0}}),
    ],
    ids=repr,
)
def test_sql_holds_back_what_is_plain(value: dict[str, Any], asked: dict[str, Any]) -> None:
    """Text, numbers and what is missing are decided before a row is loaded."""
    assert not lets_through(value, asked)
