"""The classes written in C that a registered class may extend.

Rule: what an instance holds as one of them is taken, and put into a new instance, by that class's own methods, so that
neither `__new__` nor anything else of the class that extends it runs. All else of an instance is in its attributes.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from flowfn.python.plain import PLAIN
from flowfn.serde.format import Refused
from flowfn.serde.leaves import UNNAMED_ZONE


class Base(NamedTuple):
    """How a class written in C takes part in the instances of those that extend it."""

    holds: type
    """Of which type that is which an instance holds of it: of the class itself, or of None."""
    plain: Callable[[Any], Any]
    """What an instance holds of it."""
    made_of: Callable[[type, Any], Any]
    """A new instance of a class that extends it, of what one holds."""


def _without_value(base: Any) -> Base:
    return Base(type(None), lambda value: None, lambda cls, plain: base.__new__(cls))


def _immutable(base: Any, plain: Callable[[Any], Any]) -> Base:
    return Base(base, plain, base.__new__)


def _filled(base: Any, fill: Callable[..., Any]) -> Base:
    def made_of(cls: type, plain: Any) -> Any:
        value = base.__new__(cls)
        fill(value, plain)
        return value

    return Base(base, PLAIN[base], made_of)


def _of_arguments(base: Any, arguments: Callable[[Any], tuple[Any, ...]]) -> Base:
    """Of one that can't be made of an instance of itself, by what tells of which arguments it is made."""
    return Base(
        base,
        lambda value: base(*arguments(value)),
        lambda cls, plain: base.__new__(cls, *arguments(plain)),
    )


def _key(zone: Any) -> tuple[str]:
    key = vars(ZoneInfo)["key"].__get__(zone)
    if key is None:
        raise Refused(UNNAMED_ZONE)
    return (key,)


def _pickled(base: Any) -> Callable[[Any], Any]:
    """What a date or a time gives pickle, whatever a class that extends it says there."""
    by_protocol = vars(base).get("__reduce_ex__")
    return lambda value: (by_protocol(value, 4) if by_protocol else base.__reduce__(value))[1]


BASES: dict[type, Base] = {
    **{base: _without_value(base) for base in (object, tzinfo)},
    **{base: _immutable(base, PLAIN[base]) for base in (str, int, float, bytes, tuple, frozenset)},
    Decimal: _immutable(Decimal, Decimal),
    list: _filled(list, list.extend),
    dict: _filled(dict, dict.update),
    set: _filled(set, set.update),
    bytearray: _filled(bytearray, bytearray.extend),
    OrderedDict: _filled(OrderedDict, OrderedDict.update),
    deque: _filled(deque, lambda value, plain: deque.__init__(value, plain, plain.maxlen)),
    **{base: _of_arguments(base, _pickled(base)) for base in (date, time, datetime, timedelta)},
    ZoneInfo: _of_arguments(ZoneInfo, _key),
}
