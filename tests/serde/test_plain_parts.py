"""The parts of the engine's own records: the same bytes as any value's, without a second look."""

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpointers import SqliteSaver
from flowfn import entrypoint, task
from flowfn.errors import CorruptDataError, SerializationError
from flowfn.serde import DEFAULT, Serde

texts = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates too
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | st.binary(max_size=8)
)
parts = st.lists(leaves | st.lists(st.lists(texts, max_size=2), max_size=2), max_size=8)


@given(parts)
def test_plain_parts_have_the_bytes_of_any_value(value: list[Any]) -> None:
    """Who reads them needn't know how they were packed, and digests of them are the same."""
    assert DEFAULT.dumps_plain(value) == DEFAULT.dumps(value)
    assert DEFAULT.loads(DEFAULT.dumps_plain(value)) == value


@given(st.lists(parts, max_size=8))
def test_plain_parts_are_read_together_as_they_are_alone(values: list[list[Any]]) -> None:
    """Also where some hold what msgpack has no form for."""
    many = [DEFAULT.dumps_plain(value) for value in values]
    assert DEFAULT.loads_plain(many) == [DEFAULT.loads(data) for data in many] == values


broken = st.lists(
    st.tuples(
        st.integers(-4, 4),
        st.integers(0, 1),
        st.sampled_from([b"", *map(bytes, zip(b"\x01\x7f\x91\x92\xa1\xc4\xcd", strict=True))]),
    ),
    max_size=3,
)
"""Edits of bytes: where, how many of them go, and what comes there."""


@given(st.lists(st.tuples(leaves, broken), max_size=3))
def test_broken_bytes_among_many_are_what_they_are_alone(values: list[tuple[Any, Any]]) -> None:
    """None are taken for a part of others, and none are believed that are refused alone."""
    many = []
    for value, edits in values:
        data = DEFAULT.dumps_plain(value)
        for at, gone, more in edits:
            at %= len(data) or 1
            data = data[:at] + more + data[at + gone :]
        many.append(data)

    def read(load: Callable[[], list[Any]]) -> object:
        try:
            return repr(load())
        except CorruptDataError as error:
            return str(error)

    assert read(lambda: DEFAULT.loads_plain(many)) == read(lambda: [DEFAULT.loads(data) for data in many])


def test_a_bound_holds_for_plain_parts_too() -> None:
    """`max_bytes` is of whatever is written."""
    with pytest.raises(SerializationError, match="max_bytes is 10"):
        Serde(max_bytes=10).dumps_plain(["long" * 10])


class Deflating(Serde):
    """A serializer of somebody's own, derived from ours."""

    def dumps(self, value: Any) -> bytes:
        return zlib.compress(super().dumps(value))

    def loads(self, data: bytes) -> Any:
        return super().loads(zlib.decompress(data))


def test_a_derived_serializer_packs_plain_parts_its_own_way(tmp_path: Path) -> None:
    """A class that overrides `dumps` and `loads` reads the records of its own runs."""
    ran: list[int] = []

    @task
    def step(number: int) -> int:
        ran.append(number)
        if ran == [1, 2]:
            raise ValueError(number)
        return number

    @entrypoint(checkpointer=SqliteSaver(tmp_path / "runs.db", serde=Deflating()))
    def workflow(count: int) -> int:
        return sum(step(number + 1).result() for number in range(count))

    with pytest.raises(ValueError, match="2"):
        workflow(3)
    assert workflow(3) == 6
    assert ran == [1, 2, 2, 3]
