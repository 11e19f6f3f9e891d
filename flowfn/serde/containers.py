"""Composites of the standard library: containers, and scalars that have parts.

Rule: an encoder gives an array that opens with its mark; a builder gets that array, its elements
already built, and the finder of named types, which nothing here needs.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, time, timezone, tzinfo
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from flowfn.errors import CorruptDataError
from flowfn.serde.format import Kind, Refused, mark
from flowfn.serde.leaves import Encoder, plain_date, plain_datetime, plain_time
from flowfn.serde.names import Names, is_trusted

Builder = Callable[[list[Any], Names], Any]
"""Makes a value of its array: `[mark, part, ...]`."""

_TUPLE = mark(Kind.TUPLE)
_RANGE = mark(Kind.RANGE)
_SLICE = mark(Kind.SLICE)
_ZONED_DATETIME = mark(Kind.ZONED_DATETIME)
_ZONED_TIME = mark(Kind.ZONED_TIME)
_TIMEZONE = mark(Kind.TIMEZONE)
_FRACTION = mark(Kind.FRACTION)
_PATTERN = mark(Kind.PATTERN)
_DEQUE = mark(Kind.DEQUE)
_DEFAULTDICT = mark(Kind.DEFAULTDICT)
_ORDERED_DICT = mark(Kind.ORDERED_DICT)
_COUNTER = mark(Kind.COUNTER)

_FACTORIES: dict[str | None, Any] = {
    None: None,
    **{cls.__name__: cls for cls in (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)},
}


def _tuple(value: tuple[Any, ...]) -> list[Any]:
    return [_TUPLE, *value]


def _range(value: range) -> list[Any]:
    return [_RANGE, value.start, value.stop, value.step]


def _slice(value: slice) -> list[Any]:
    return [_SLICE, value.start, value.stop, value.step]


def _zone(value: tzinfo | None) -> tzinfo | None:
    """A zone as it is stored: of a library's own that has one offset at all times, as a `timezone` of that."""
    if value is None or type(value) in (timezone, ZoneInfo) or is_trusted(type(value)):
        return value
    with suppress(Exception):
        if (fixed := _fixed(value)) is not None:
            return fixed
    raise Refused(
        f"its zone is a {type(value).__module__}.{type(value).__qualname__}. "
        "Use zoneinfo.ZoneInfo or datetime.timezone"
    )


def _fixed(zone: tzinfo) -> timezone | None:
    """A zone that has an offset, whatever the date."""
    offset, name = zone.utcoffset(None), zone.tzname(None)
    if offset is None:
        return None
    plain = timezone(offset)
    return plain if name in (None, plain.tzname(None)) else timezone(offset, name)


def _datetime(value: datetime) -> Any:
    zone = value.tzinfo
    if (zone is None or zone is UTC) and not value.fold:
        return plain_datetime(value)
    zone = _zone(zone)
    if zone is UTC and not value.fold:  # in the words of a library
        return plain_datetime(value.replace(tzinfo=UTC))
    return [_ZONED_DATETIME, value.replace(tzinfo=None).isoformat(), value.fold, zone]


_FROZEN: dict[str, Encoder] = {"FakeDatetime": _datetime, "FakeDate": plain_date}


def frozen_encoder_of(cls: type) -> Encoder | None:
    """The encoder of what freezegun puts in a class's place for a test: the time is stored; None of any other class."""
    return _FROZEN.get(cls.__name__) if cls.__module__ == "freezegun.api" else None


def _time(value: time) -> Any:
    if value.tzinfo is None and not value.fold:
        return plain_time(value)
    return [_ZONED_TIME, value.replace(tzinfo=None).isoformat(), value.fold, _zone(value.tzinfo)]


def _timezone(value: timezone) -> list[Any]:
    return [_TIMEZONE, *value.__getinitargs__()]  # type: ignore[attr-defined]


def _fraction(value: Fraction) -> list[Any]:
    return [_FRACTION, value.numerator, value.denominator]


def _pattern(value: re.Pattern[Any]) -> list[Any]:
    return [_PATTERN, value.pattern, value.flags & ~re.DEBUG]


def _deque(value: deque[Any]) -> list[Any]:
    return [_DEQUE, value.maxlen, *value]


def _defaultdict(value: defaultdict[Any, Any]) -> list[Any]:
    factory = value.default_factory
    name = None if factory is None else getattr(factory, "__name__", "")
    if _FACTORIES.get(name, ...) is not factory:
        raise Refused(
            f"its default_factory {factory!r} is code. Use a builtin type such as list, or store dict(value)"
        )
    return [_DEFAULTDICT, name, dict(value)]


def _ordered_dict(value: OrderedDict[Any, Any]) -> list[Any]:
    return [_ORDERED_DICT, dict(value)]


def _counter(value: Counter[Any]) -> list[Any]:
    return [_COUNTER, dict(value)]


ENCODERS: dict[type, Encoder] = {
    tuple: _tuple,
    range: _range,
    slice: _slice,
    datetime: _datetime,
    time: _time,
    timezone: _timezone,
    Fraction: _fraction,
    re.Pattern: _pattern,
    deque: _deque,
    defaultdict: _defaultdict,
    OrderedDict: _ordered_dict,
    Counter: _counter,
}


def _build_map(items: list[Any], _: Names) -> dict[Any, Any]:
    return dict(zip(items[1::2], items[2::2], strict=True))


def _build_datetime(items: list[Any], _: Names) -> datetime:
    _, text, fold, zone = items
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold)


def _build_time(items: list[Any], _: Names) -> time:
    _, text, fold, zone = items
    return time.fromisoformat(text).replace(tzinfo=zone, fold=fold)


def _build_fraction(items: list[Any], _: Names) -> Fraction:
    """Without Fraction's own reduction, whose cost on hostile numbers has no bound."""
    _, numerator, denominator = items
    if type(numerator) is not int or type(denominator) is not int or denominator <= 0:
        raise CorruptDataError("A stored fraction has no positive whole denominator")
    value: Any = object.__new__(Fraction)
    value._numerator, value._denominator = numerator, denominator
    return value  # type: ignore[no-any-return]


def _build_counter(items: list[Any], _: Names) -> Counter[Any]:
    value: Counter[Any] = Counter()
    dict.update(value, items[1])
    return value


BUILDERS: dict[Kind, Builder] = {
    Kind.TUPLE: lambda items, _: tuple(items[1:]),
    Kind.SET: lambda items, _: set(items[1:]),
    Kind.FROZENSET: lambda items, _: frozenset(items[1:]),
    Kind.MAP: _build_map,
    Kind.RANGE: lambda items, _: range(*items[1:]),
    Kind.SLICE: lambda items, _: slice(*items[1:]),
    Kind.ZONED_DATETIME: _build_datetime,
    Kind.ZONED_TIME: _build_time,
    Kind.TIMEZONE: lambda items, _: timezone(*items[1:]),
    Kind.FRACTION: _build_fraction,
    Kind.PATTERN: lambda items, _: re.compile(items[1], items[2] & ~re.DEBUG),
    Kind.DEQUE: lambda items, _: deque(items[2:], items[1]),
    Kind.DEFAULTDICT: lambda items, _: defaultdict(_FACTORIES[items[1]], items[2]),
    Kind.ORDERED_DICT: lambda items, _: OrderedDict(items[1]),
    Kind.COUNTER: _build_counter,
}
