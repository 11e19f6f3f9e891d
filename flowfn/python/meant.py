"""Types that pydantic reads otherwise than code means them.

Rule: what is given for an `Iterable` is validated item by item, and stays what can be read twice; pydantic makes of it
what is read once. Nothing is an instance of a protocol that can't be asked, or of `TextIO`: what is given is taken.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Collection, Iterable
from typing import Any

from flowfn.python.typed_dicts import with_parts

__all__ = ["as_meant"]

_FILES = (typing.IO, typing.TextIO, typing.BinaryIO)


def as_meant(kind: Any) -> Any:
    """A type with other words for what pydantic misreads; itself if it has none of it."""
    origin = typing.get_origin(kind) or kind
    if origin is Iterable:
        from pydantic import WrapValidator

        return typing.Annotated[with_parts(kind, as_meant), WrapValidator(_collected)]
    if origin in _FILES or _cannot_be_asked(origin):
        return Any
    return with_parts(kind, as_meant)


def _cannot_be_asked(cls: Any) -> bool:
    """Whether it is a protocol without `@runtime_checkable`."""
    return getattr(cls, "_is_protocol", False) is True and not getattr(cls, "_is_runtime_protocol", False)


def _collected(value: Any, validated: Callable[[Any], Iterable[Any]]) -> Any:
    """What is given, if its items are what they should be, or may be read once alone; else those that pydantic made of
    them."""
    found = validated(value)
    if not isinstance(value, Collection):
        return found
    items = list(found)
    if all(map(_is_same, items, value)):
        return value
    kind: Any = type(value)
    return kind(items) if kind in (tuple, set, frozenset) else items


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and type(one) in _ATOMS and one == other)


_ATOMS = (str, bytes, int, float, bool)
