"""G5 and section 5: any bytes give a value or one of three errors; nothing crashes or hangs."""

import warnings
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowfn.serde import (
    DEFAULT,
    CorruptDataError,
    NewerFormatError,
    Serde,
    TypeChangedError,
    UntrustedTypeError,
    unpack,
)
from flowfn.serde.format import Kind, Leaf
from flowfn.values import Command, Interrupt

EXPECTED = (CorruptDataError, UntrustedTypeError, TypeChangedError)
SAMPLE = DEFAULT.dumps(
    [
        {"a": 1, "b": [1.5, None, "text"], 3: (1, {2})},
        Interrupt({"q": Decimal("1.5")}, "id"),
        Command(resume=Fraction(1, 2)),
        datetime(2024, 1, 1, tzinfo=UTC),
        ValueError("x", b"y"),
        bytearray(b"z"),
        2**90,
    ]
)
marks = st.sampled_from(Kind).map(lambda kind: ormsgpack.Ext(int(Leaf.MARK), bytes([kind])))
extensions = st.builds(ormsgpack.Ext, st.integers(0, 127), st.binary(max_size=12))
atoms = (
    st.none()
    | st.booleans()
    | st.integers(-3, 300)
    | st.floats()
    | st.text(max_size=4)
    | st.binary(max_size=4)
)
documents = st.recursive(
    atoms | extensions | marks | st.sampled_from(["flowfn.values:Send", "builtins:ValueError", "a:B"]),
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.tuples(marks, st.lists(inner, max_size=8)).map(lambda pair: [pair[0], *pair[1]])
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


def _forms(document: bytes) -> tuple[bytes, bytes]:
    """A document as a stored value, in each format that is read."""
    return b"\x01" + document, b"\x92" + document + b"\x7f"


def _read(data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # re warns about odd patterns
        with suppress(*EXPECTED):
            DEFAULT.loads(data)


@given(st.binary(max_size=200))
def test_random_bytes_raise_only_the_errors_of_the_contract(data: bytes) -> None:
    """Neither as they are nor in our formats."""
    for stored in (data, *_forms(data)):
        _read(stored)


@given(documents)
def test_well_formed_nonsense_raises_only_the_errors_of_the_contract(document: Any) -> None:
    """Marks, extensions and parts in any order, which random bytes rarely are."""
    for stored in _forms(ormsgpack.packb(document)):
        _read(stored)


@given(st.data())
def test_changed_bytes_raise_only_the_errors_of_the_contract(data: st.DataObject) -> None:
    """A valid document with some bytes changed."""
    changed = bytearray(SAMPLE)
    for place in data.draw(st.lists(st.integers(0, len(changed) - 1), min_size=1, max_size=4)):
        changed[place] = data.draw(st.integers(0, 255))
    _read(bytes(changed))


def test_every_truncation_is_corrupt() -> None:
    """A write that was cut short is told from a value."""
    for length in range(len(SAMPLE)):
        with pytest.raises(CorruptDataError):
            DEFAULT.loads(SAMPLE[:length])


@pytest.mark.parametrize("stored", _forms(b"\xc0"))
@pytest.mark.parametrize("more", [b"\x01", b"\0", b"\x7f\0", b"\xc0" * 9])
def test_bytes_after_the_value_are_corrupt(stored: bytes, more: bytes) -> None:
    """A page that was written over by part of another."""
    assert DEFAULT.loads(stored) is None
    with pytest.raises(CorruptDataError):
        DEFAULT.loads(stored + more)


@pytest.mark.parametrize("opening", [b"\x91", b"\x81\xa0", b"\x92\xd4\x0f\x01", b"\x92\xd4\x0f\x04\xc0"])
def test_endless_nesting_is_corrupt(opening: bytes) -> None:
    """Neither a stack overflow nor a RecursionError."""
    for stored in _forms(opening * 100_000 + b"\xc0"):
        with pytest.raises(CorruptDataError):
            DEFAULT.loads(stored)


def test_a_size_that_the_bytes_do_not_have_is_corrupt() -> None:
    """No memory is taken on the word of a header."""
    for header in (
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\x01",
    ):
        for stored in _forms(header):
            with pytest.raises(CorruptDataError):
                DEFAULT.loads(stored)


@pytest.mark.parametrize(
    "body",
    [
        b"\xd4\x0f\x01",
        b"\xc7\x01\x0f\x01",
        b"\x92\x01\xd4\x0f\x01",
        b"\x81\xa1a\xd4\x0f\x01",
        b"\xd4\x0f\xff",
    ],
)
def test_a_mark_outside_of_a_composite_is_corrupt(body: bytes) -> None:
    """Nothing of the format's own leaks into a value."""
    for stored in _forms(body):
        with pytest.raises(CorruptDataError):
            DEFAULT.loads(stored)


def test_a_value_that_is_read_in_the_midst_of_another_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finalizer may run at any instruction, and load something: what is under way is neither lost nor mixed up."""
    others: list[Any] = []

    def disturbed(data: bytes) -> UUID:
        others.append(DEFAULT.loads(DEFAULT.dumps([(1, 2), {3}])))
        return decode(data)

    code = int(Leaf.UUID)
    decode = unpack._DECODERS[code]
    monkeypatch.setitem(unpack._DECODERS, code, disturbed)
    value = [("a", UUID(int=1)), ({4}, UUID(int=2), ("b",))]
    assert DEFAULT.loads(DEFAULT.dumps(value)) == value
    assert others == [[(1, 2), {3}]] * 2


@pytest.mark.parametrize("key", [b"../../etc/passwd", b"/etc/passwd", b"a.b/c", b"no/such/zone", b""])
def test_a_zone_that_is_none_is_corrupt(key: bytes) -> None:
    """A zone's name leads to a file and to an import, so it is checked first."""
    for stored in _forms(ormsgpack.packb(ormsgpack.Ext(int(Leaf.ZONE), key))):
        with pytest.raises(CorruptDataError):
            DEFAULT.loads(stored)


def test_a_newer_format_says_so() -> None:
    """The remedy is an upgrade, not a backup."""
    with pytest.raises(NewerFormatError, match=r"written by a newer one\. Upgrade flowfn"):
        DEFAULT.loads(b"\x02\xc0")


def test_max_bytes_bounds_what_is_read() -> None:
    """Before any of it is looked at."""
    with pytest.raises(CorruptDataError, match="max_bytes is 10"):
        Serde(max_bytes=10).loads(DEFAULT.dumps("x" * 1000))
