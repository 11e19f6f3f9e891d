"""What is under wrappers: partials, bound methods, decorators, tasks.

Rule: a wrapper is taken off by what it says of itself (`__wrapped__`, `__func__`, `func`); nothing is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, partialmethod
from types import CodeType, FunctionType, MethodType
from typing import Any

from flowfn.python.annotations import ANNOTATE

__all__ = [
    "attribute",
    "can_be_looked_at",
    "code_of",
    "content_of",
    "definition_of",
    "functions_of",
    "is_definition",
    "layers_of",
    "may_define",
    "unwrapped",
]

_MAX_WRAPPERS = 100
"""Around one function: whatever has more wraps itself."""


def unwrapped(function: Callable[..., Any]) -> Any:
    """The function whose source a callable's fingerprint starts from; wrappers are taken off."""
    *_, innermost = layers_of(definition_of(function))
    return innermost


def functions_of(member: Any) -> Iterator[FunctionType]:
    """The functions of a class's member: of a method of any kind, and of a property all that it has; not the one that
    evaluates annotations."""
    is_property = issubclass(type(member), property)
    for face in (member.fget, member.fset, member.fdel) if is_property else (member,):
        found = definition_of(attribute(face, "func") or face)
        if type(found) is FunctionType and found.__name__ != ANNOTATE:
            yield found


def code_of(member: Any) -> Iterator[CodeType]:
    """The code of a class's member, under all wrappers: of a method of any kind, of a property all that it has."""
    for function in map(unwrapped, functions_of(member)):
        if type(function) is FunctionType:
            yield function.__code__


def definition_of(function: Any) -> Any:
    """The function or class behind a partial, a bound method, an instance with `__call__` or a wrapper."""
    for _ in range(_MAX_WRAPPERS):
        inner = None if is_definition(function) else _inner(function)
        if inner is None:
            break
        function = inner
    return function


def is_definition(value: Any) -> bool:
    """Whether it is a function or a class itself, and no proxy that says so."""
    return type(value) is FunctionType or issubclass(type(value), type)


def may_define(value: Any) -> bool:
    """Whether a value is code. An instance is a value, even if it can be called."""
    return (
        type(value) in (FunctionType, MethodType, staticmethod, classmethod)
        or isinstance(value, type | partial)
        or attribute(value, "__wrapped__") is not None
    )


def _inner(function: Any) -> Any:
    kind = type(function)
    if issubclass(kind, partial | partialmethod):
        return function.func
    if kind in (MethodType, staticmethod, classmethod):
        return function.__func__
    wrapped = attribute(function, "__wrapped__")
    if wrapped is not None:
        return wrapped
    call = attribute(kind, "__call__")
    return call if type(call) is FunctionType else None


def can_be_looked_at(value: Any) -> bool:
    """Whether it says what it is: a proxy may have nothing behind it yet, or no longer."""
    try:
        return value.__class__ is not None
    except Exception:
        return False


def attribute(value: Any, name: str) -> Any:
    """An attribute, or None: objects of strangers may raise anything."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def layers_of(root: Any) -> Iterator[Any]:
    """The function and those that it wraps, the wrapped one last."""
    for _ in range(_MAX_WRAPPERS):
        yield root
        wrapped = attribute(root, "__wrapped__") if type(root) is FunctionType else None
        if wrapped is None:
            break
        root = definition_of(wrapped)


def content_of(cell: Any) -> Any:
    """What a variable holds that functions share; None if it is not assigned yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
