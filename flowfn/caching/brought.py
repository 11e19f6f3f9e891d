"""The code that arguments bring along: that of functions, and of the classes of objects, among them.

Rule: of a function its name is the whole value, and of an object what it holds; a kept result is stale once the code
behind them was edited, as it is for a helper that the task itself names.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from flowfn.identity.code.dependencies import Dependencies
from flowfn.identity.code.fingerprint import is_project_code
from flowfn.python.project import is_own

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})

_MOST = 10_000
"""Values of an argument that are looked through, the outer ones first: what holds more holds data."""

_known: WeakKeyDictionary[Any, Dependencies] = WeakKeyDictionary()


def brought_code(arguments: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The digests of the project's code behind each argument that brings any, as if it were one more argument."""
    if _PLAIN.issuperset(map(type, arguments.values())):
        return {}
    found = {name: set(_definitions(value)) for name, value in arguments.items() if type(value) not in _PLAIN}
    return {f"code of {name}": tuple(sorted(map(_digest, each))) for name, each in found.items() if each}


def _definitions(argument: Any) -> Iterator[Any]:
    """The functions and classes of the project in an argument."""
    waiting, seen, left = deque([argument]), set[int](), _MOST
    while waiting and left > 0:
        value = waiting.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if is_project_code(value) or (isinstance(value, type) and is_own(value)):
            yield value
        elif not isinstance(value, FunctionType | type) and is_own(type(value)):
            yield type(value)
        held = _held(value)
        left -= 1 + len(held)
        waiting.extend([each for each in held if type(each) not in _PLAIN])


def _held(value: Any) -> Collection[Any]:
    """What a value is made of, where that may be code."""
    if isinstance(value, MethodType):
        return (value.__self__,)
    if isinstance(value, partial):
        return (value.func, *value.args, *value.keywords.values())
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple | set | frozenset) else ()


def _digest(definition: Any) -> str:
    known = _known.get(definition)
    if known is None or not known.hold:
        known = _known[definition] = Dependencies(definition)
    return known.digest
