"""What a value tells of ids and times, and whether it tells of one that an argument has.

Rule: an id or a time is the same however it is written. An id is known by its text, of a UUID by its number. A time is
known as exactly as the argument has it: to the microsecond, which nothing else has by chance, or to the millisecond or
the second, which something else may. A day, or what isn't told to the second, says nothing of where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from flowfn.identity.digest import is_ordinary_value, leaf_text
from flowfn.identity.forms.canonical import Walk
from flowfn.identity.forms.leaves import without_addresses
from flowfn.identity.times import time_of
from flowfn.identity.volatile import Detector, Window, in_text

__all__ = ["Known", "keys_of", "known_as", "mentions_fractions", "told_in"]

_LAST = 253_402_300_799.0
"""The end of the year 9999, in seconds since the epoch."""

_EVER = 0, lambda: _LAST, lambda: 0
"""A window that all times lie in."""

_MOST = 100_000
"""Items of a value that are looked through; it costs a second or so."""


class Known(NamedTuple):
    """How an id or a time in an argument is known: a value that tells of it tells one of the `keys`, in its own unit,
    and, if it may be told to the microsecond, one of the `exact` ones; `surely`, if it is, or is an id."""

    keys: tuple[str, ...]
    exact: tuple[str, ...]
    surely: bool


@lru_cache(maxsize=4096)
def known_as(text: str) -> Known:
    """How a leaf of an argument is known; without a key, where that says nothing."""
    if (uuid := _UUID.fullmatch(text)) is not None:
        return _id(UUID(uuid[0]).hex)
    written = time_of(text)
    if written is None:
        return _id(text)
    instants, digits, left_open = written
    if left_open > 1:
        return Known((), (), surely=True)
    unit = next(unit for unit in _UNITS if digits > unit.above)
    may_be_exact = digits > 0 and "." in text  # a number leaves out the zeros at its end
    finest, surely = _UNITS[0], unit is _UNITS[0]
    return Known(
        tuple({f"{unit.name}{each // unit.length}" for each in instants}),
        tuple({f"{finest.name}{each}" for each in instants}) if surely or may_be_exact else (),
        surely,
    )


def told_in(value: Any, *, fractions: bool) -> set[str]:
    """The keys of all that a value tells of; of numbers with fractions, which data has many of, if they are sought."""
    if is_ordinary_value(value):
        return set()
    walk = _Told(fractions)
    walk.walk(value, None)
    return {key for text in walk.texts for key in keys_of(text)}


def keys_of(text: str) -> Iterator[str]:
    """All keys of a leaf that a value tells of; of a time those in every unit, as it may be cut or rounded."""
    written = None if _UUID.fullmatch(text) else time_of(text)
    if written is None or written.length > 1:
        yield from known_as(text).keys
        return
    for each in written.instants:
        for unit in _UNITS:
            yield f"{unit.name}{each // unit.length}"
            yield f"{unit.name}{(each + unit.length // 2) // unit.length}"


def mentions_fractions(texts: Iterable[str]) -> bool:
    """Whether some of these leaves is a number with a fraction that is no time."""
    return any(_FRACTION.fullmatch(text) is not None and time_of(text) is None for text in texts)


def _id(text: str) -> Known:
    return Known((text,), (text,), surely=True)


class _Unit(NamedTuple):
    name: str
    length: int
    above: int
    """How many digits of a second a time has more than, to be told in this unit."""


_UNITS = (_Unit("us", 1, 3), _Unit("ms", 1_000, 0), _Unit("s", 1_000_000, -1))
"""With their lengths in microseconds."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(-?)[0-9a-fA-F]{4}(?:\1[0-9a-fA-F]{4}){2}\1[0-9a-fA-F]{12}")
_FRACTION = re.compile(r"-?\d*\.\d+(?:e[+-]?\d+)?|-?\d+(?:\.\d+)?e[+-]?\d+")


class _Never(Window):
    """The time of a call that no time in a text is of."""

    __slots__ = ()

    def meets(self, instant: float, length: float = 0.0) -> bool:
        return False


class _Told(Walk):
    """A walk that lists the texts of all leaves that may be ids or times, also those of keys."""

    __slots__ = ("_ever", "_fractions", "_never", "texts")

    def __init__(self, fractions: bool) -> None:
        super().__init__()
        self.texts: set[str] = set()
        self._fractions = fractions
        self._ever, self._never = Window(*_EVER), _Never(*_EVER)

    def walk(self, value: Any, step: Any) -> Any:
        if self.size > _MOST or not (self._fractions or _may_tell(value)):
            return None
        return super().walk(value, step)

    def of_keys(self) -> Walk:
        return self

    def mapping(self, value: Any) -> dict[str, Any]:
        for key in value:
            self.walk(key, None)
        return super().mapping(value)

    def text(self, value: str) -> Any:
        if _UUID.fullmatch(value) is not None:  # as most ids are, and for less
            self.texts.add(value)
            return None
        value = without_addresses(value)
        found = in_text(value, self._ever)
        if any(part.kind == "clock" for part in found):  # or digits in the middle of an id
            found += in_text(value, self._never)
        self.texts.update(leaf_text(part.text) for part in found if part.kind is not None)
        return None

    def leaf(self, value: Any, form: Any, detect: Detector) -> Any:
        if detect(value, self._ever) is not None:
            self.texts.add(leaf_text(value))
        return None


_NUMBERS = {float, int}


def _may_tell(value: Any) -> bool:
    """Whether a value is something else than numbers below the times, or a list of such."""
    kind = type(value)
    if kind is float:
        return not value < 1e9
    if kind is list and value and {*map(type, value)} <= _NUMBERS:
        return not max(value) < 1e9
    return True
