"""An exception that holds itself in an attribute, or in lists and dicts there, as Django's `ValidationError` does.

Rule: it is stored as none in its place, beside the ways to where it was. Each list and dict is looked through once, or
once per level where it is in several: what leads back to itself isn't stored, and has ways without end.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from flowfn.errors import CorruptDataError

_DEEPEST = 8
"""Lists and dicts in each other through which an exception that holds itself is looked for."""
_MOST = 10_000
"""Of ways: a list that is in lists many times over multiplies them."""

Path = list[Any]
"""Where an exception holds itself: indexes and keys."""


class _Unstorable(Exception):
    """It leads back to itself, or to the exception on too many ways."""


class _Look:
    """A look for an exception through lists and dicts."""

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self._known: dict[tuple[int, int], tuple[Any, list[Path]]] = {}
        self._under_way: set[int] = set()

    def without(self, value: Any, deepest: int) -> tuple[Any, list[Path]]:
        if value is self._error:
            return None, [[]]
        if type(value) not in (list, dict) or not deepest:
            return value, []
        at = id(value), deepest
        if at not in self._known:
            if id(value) in self._under_way:
                raise _Unstorable
            self._under_way.add(id(value))
            self._known[at] = self._inside(value, deepest - 1)
            self._under_way.discard(id(value))
        return self._known[at]

    def _inside(self, value: Any, deepest: int) -> tuple[Any, list[Path]]:
        items = list(value.items() if type(value) is dict else enumerate(value))
        found = [(key, *self.without(item, deepest)) for key, item in items if type(key) in (str, int)]
        paths = [[key, *path] for key, _, inside in found for path in inside]
        if len(paths) > _MOST:
            raise _Unstorable
        if not paths:
            return value, []
        rest = value.copy()
        for key, item, _ in found:
            rest[key] = item
        return rest, paths


def without(value: Any, error: BaseException) -> tuple[Any, list[Path]]:
    """A value without an exception that is in it, and where that was; the very value if it is nowhere, or if such a
    value isn't stored."""
    with suppress(_Unstorable):
        return _Look(error).without(value, _DEEPEST)
    return value, []


def put(error: BaseException, attributes: Any, path: Path) -> None:
    """Have an exception hold itself, where it did."""
    *outer, last = path
    holder = attributes
    for key in outer:
        holder = holder[key]
    if type(holder) not in (list, dict) or holder[last] is not None:
        raise CorruptDataError("A stored exception holds itself where there is no place for it")
    holder[last] = error
