"""The code that arguments bring along: that of functions, and of the classes of objects, among them.

Rule: of a function its name is the whole value, and of an object what it holds; a kept result is stale once the code
behind them was edited, as it is for a helper that the task itself names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from flowfn.identity.dependencies import Dependencies
from flowfn.identity.fingerprint import is_project_class, is_project_code

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})

_MAX_HELD = 1000
"""In a container that is looked through: what holds more holds data."""

_MAX_DEPTH = 10

_known: WeakKeyDictionary[Any, Dependencies] = WeakKeyDictionary()


def code_of(arguments: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The digests of the project's code behind each argument that brings any, as if it were one more argument."""
    found = {
        name: set(_definitions(value, 0)) for name, value in arguments.items() if type(value) not in _PLAIN
    }
    return {f"code of {name}": tuple(sorted(map(_digest, each))) for name, each in found.items() if each}


def _definitions(value: Any, depth: int) -> Iterator[Any]:
    if type(value) in _PLAIN or depth > _MAX_DEPTH:
        return
    if is_project_code(value) or (isinstance(value, type) and is_project_class(value)):
        yield value
    elif not isinstance(value, FunctionType | type) and is_project_class(type(value)):
        yield type(value)
    for each in _held(value):
        yield from _definitions(each, depth + 1)


def _held(value: Any) -> Iterator[Any]:
    if isinstance(value, MethodType):
        yield value.__self__
    elif isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, dict | list | tuple | set | frozenset) and len(value) <= _MAX_HELD:
        yield from value.values() if isinstance(value, dict) else value


def _digest(definition: Any) -> str:
    known = _known.get(definition)
    if known is None or not known.hold:
        known = _known[definition] = Dependencies(definition)
    return known.digest
