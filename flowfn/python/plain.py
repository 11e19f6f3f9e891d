"""The plain value that an instance of a subclass holds.

Rule: it is taken by the base's own methods, past all that the subclass overrides: a `str` that shows itself as `***`,
a list that loads its items when they are looked at. What an instance carries besides is in its attributes.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

__all__ = ["PLAIN"]

PLAIN: Final[dict[type, Callable[[Any], Any]]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    bytearray: lambda value: bytearray.__getitem__(value, slice(None)),
    list: lambda value: list.__getitem__(value, slice(None)),
    tuple: lambda value: tuple.__getitem__(value, slice(None)),
    dict: dict.copy,
    OrderedDict: lambda value: OrderedDict(OrderedDict.items(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    deque: lambda value: deque(deque.__iter__(value), deque.maxlen.__get__(value)),
}
"""By the exact base: a function from an instance of any subclass of it to its plain value."""
