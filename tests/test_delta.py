"""Deltas between encoded values (G6): what they cost, and that they give back exactly what was put."""

import os
from itertools import pairwise, takewhile

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowfn import delta
from flowfn.errors import SerializationError

pieces = st.lists(st.sampled_from([os.urandom(size) for size in (1, 7, 40, 400, 5000)]), max_size=12)


def packed(value: object) -> bytes:
    return ormsgpack.packb(value)


def messages(count: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"{number}: " + "so it goes " * 20} for number in range(count)]


@given(pieces, pieces)
def test_a_delta_gives_back_the_new_value(old: list[bytes], new: list[bytes]) -> None:
    """Whatever was put in, taken out, moved or repeated."""
    before, after = b"".join(old), b"".join(new)
    change = delta.make(before, after)
    assert change is None or delta.applied(before, [change]) == after


@given(st.lists(pieces, min_size=2, max_size=6))
def test_deltas_are_applied_one_after_another(versions: list[list[bytes]]) -> None:
    """Each to what the one before it gave."""
    values = [b"".join(version) for version in versions]
    changes = [delta.make(old, new) for old, new in pairwise(values)]
    known = list(takewhile(lambda change: change is not None, changes))
    assert delta.applied(values[0], known) == values[len(known)]  # type: ignore[arg-type]


@given(st.binary(), st.binary())
def test_a_delta_is_never_made_at_a_loss(old: bytes, new: bytes) -> None:
    """What it puts in is at most half of the value."""
    change = delta.make(old, new)
    assert change is None or len(change) <= len(new) // 2 + 20


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.append({"role": "ai", "content": "again"}),
        lambda value: value.insert(0, {"role": "system", "content": "first"}),
        lambda value: value.pop(50),
        lambda value: value[70].update(content="edited"),
        lambda value: value[20].update(seen=True) or value[80].update(seen=True),
    ],
    ids=["grown", "grown in front", "shortened", "edited", "edited twice"],
)
def test_a_change_costs_what_changed(change: object) -> None:
    """G6: of a list of 24 kB in which an entry is new, gone or edited, some bytes are kept."""
    value = messages(100)
    before = packed(value)
    change(value)  # type: ignore[operator]
    made = delta.make(before, packed(value))
    assert made is not None
    assert len(made) < 400
    assert delta.applied(before, [made]) == packed(value)


def test_a_dict_that_grows_costs_its_new_part() -> None:
    """G6: also past the sizes at which the header of the dict grows."""
    value: dict[str, int] = {}
    for number in range(70_000):
        value[f"key {number}"] = number
        if number in (15, 16, 40, 65_534, 65_535):
            before = packed(dict(list(value.items())[:-1]))
            made = delta.make(before, packed(value))
            assert made is not None
            assert len(made) < 50


def test_what_is_altogether_new_has_no_delta() -> None:
    """A value that shares next to nothing with the old one has no delta, and is stored whole."""
    assert delta.make(os.urandom(5000), os.urandom(5000)) is None
    assert delta.make(b"", b"something") is None


@given(st.binary(max_size=60))
def test_a_damaged_delta_is_refused(damaged: bytes) -> None:
    """Hostile bytes either give a value of the length that they name, or a SerializationError."""
    try:
        made = delta.applied(b"a value that was stored", [damaged])
    except SerializationError:
        return
    assert len(made) == ormsgpack.unpackb(damaged)[1]


@pytest.mark.parametrize("edits", [(5, 0, b"x", 0, 0, b"y"), (0, -9, b"", 3, 0, b""), (0, 1), (0, 1, "text")])
def test_edits_that_no_delta_has_are_refused(edits: tuple[object, ...]) -> None:
    """Those that overlap would let a few bytes put a value together that has no bound."""
    with pytest.raises(SerializationError):
        delta.applied(b"a value", [packed([7, 9, *edits])])


def test_a_delta_of_another_value_is_refused() -> None:
    """G2: rows that don't belong together are no value."""
    old, new = packed(messages(20)), packed(messages(21))
    change = delta.make(old, new)
    assert change is not None
    with pytest.raises(SerializationError, match="missing or were changed"):
        delta.applied(old[:-1], [change])
