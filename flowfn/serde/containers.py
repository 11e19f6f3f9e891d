"""Composites of the standard library: containers, and scalars that have parts.

Rule: an encoder gives an array that opens with its mark; a builder gets that array, its elements
already built, and the finder of named types, which nothing here needs.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flowfn.errors import CorruptDataError
from flowfn.serde.format import Kind, Refused, mark
from flowfn.serde.leaves import Encoder
from flowfn.serde.names import Names

Builder = Callable[[list[Any], Names], Any]
"""Makes a value of its array: `[mark, part, ...]`."""

_TUPLE = mark(Kind.TUPLE)
_RANGE = mark(Kind.RANGE)
_SLICE = mark(Kind.SLICE)
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
    Fraction: _fraction,
    re.Pattern: _pattern,
    deque: _deque,
    defaultdict: _defaultdict,
    OrderedDict: _ordered_dict,
    Counter: _counter,
}


def _build_map(items: list[Any], _: Names) -> dict[Any, Any]:
    return dict(zip(items[1::2], items[2::2], strict=True))


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
    Kind.FRACTION: _build_fraction,
    Kind.PATTERN: lambda items, _: re.compile(items[1], items[2] & ~re.DEBUG),
    Kind.DEQUE: lambda items, _: deque(items[2:], items[1]),
    Kind.DEFAULTDICT: lambda items, _: defaultdict(_FACTORIES[items[1]], items[2]),
    Kind.ORDERED_DICT: lambda items, _: OrderedDict(items[1]),
    Kind.COUNTER: _build_counter,
}
