"""What a function was made with, besides its code: the values of its closure, and its defaults, as they were when it
was decorated.

Rule: functions of one name may differ in nothing else (`[task(lambda x, k=k: x * k) for k in …]`, a factory's), and
then their records must not be mixed up. What cannot change in place counts by its value; lists, dicts, dataclasses and
models by what was in them then, so that what is done to them later changes nothing; functions, methods, tasks and
workflows by what those were made with in turn; other objects by their type and what they were given. One that was
made alone under its name may have been made with something else, and is still the same function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from flowfn.identity.constant import is_constant
from flowfn.identity.names import qualified_name

__all__ = ["captured", "function_of", "is_local"]

_MAX_PARTS = 1000
"""Values in all that a container holds; what holds more is data rather than what tells two functions apart."""

_MAX_DEPTH = 20

_ATOMS = frozenset({type(None), bool, int, float, str, bytes})


class _TooLarge(Exception):
    """A container holds more than what is looked at."""


def captured(function: Any, ours: Iterable[str] = ()) -> dict[str, Any]:
    """What a function was made with, by name; containers are copied, as nested lists and dicts.

    `ours` are names that the engine fills: under them a closure has what belongs to one run.
    """
    target = function_of(function)
    if target is None:
        return {}
    return {name: _kept(value) for name, value in _values(target) if name not in ours}


def is_local(function: Any) -> bool:
    """Whether it is a lambda or was made inside another function, so that others may share its name."""
    target = function_of(function)
    return target is not None and "<" in target.__qualname__


def _values(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The values of its closure but for itself, and its defaults."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        with suppress(ValueError):  # not assigned yet
            if name != function.__name__:
                yield name, cell.cell_contents
    positional = code.co_varnames[: code.co_argcount]
    values = function.__defaults__ or ()
    yield from zip(positional[len(positional) - len(values) :], values, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def function_of(function: Any) -> FunctionType | None:
    """The function behind partials and bound methods; None where that isn't one of Python's."""
    while isinstance(function, partial | MethodType):
        function = function.func if isinstance(function, partial) else function.__func__
    return function if type(function) is FunctionType else None


def _kept(value: Any) -> Any:
    try:
        return _snapshot(value, [_MAX_PARTS], 0)
    except _TooLarge:
        return qualified_name(type(value))


def _snapshot(value: Any, left: list[int], depth: int) -> Any:
    """The value itself where it can't change; of what can, a copy of what it holds, or its type."""
    left[0] -= 1
    if left[0] < 0:
        raise _TooLarge
    if type(value) in _ATOMS:
        return value
    if depth >= _MAX_DEPTH:
        return qualified_name(type(value))
    if isinstance(value, Mapping) and type(value).__module__ in ("builtins", "collections", "types"):
        return {_key(key): _snapshot(item, left, depth + 1) for key, item in tuple(value.items())}
    if type(value) in (list, tuple, deque):
        return [_snapshot(item, left, depth + 1) for item in tuple(value)]
    if type(value) in (set, frozenset):
        return sorted(repr(_snapshot(item, left, depth + 1)) for item in tuple(value))
    if type(value) is FunctionType:
        held = dict(_values(value)) if is_local(value) else {}
        return {qualified_name(value): _snapshot(held, left, depth + 1)} if held else qualified_name(value)
    if type(value) is MethodType:
        return {qualified_name(value.__func__): _snapshot(value.__self__, left, depth + 1)}
    try:
        wrapped = getattr(value, "__wrapped__", None)
        if type(wrapped) in (FunctionType, MethodType, partial):  # a task, a workflow, what a cache is around
            return _snapshot(wrapped, left, depth + 1)
        return _of_class(value, left, depth)
    except _TooLarge:
        raise
    except Exception:  # objects run their authors' code when looked at
        return qualified_name(type(value))


def _of_class(value: Any, left: list[int], depth: int) -> Any:
    if is_constant(value):
        return value
    if type(value) is partial:
        return _snapshot([value.func, value.args, value.keywords], left, depth)
    fields = _fields(value)
    if fields:
        return {qualified_name(type(value)): _snapshot(fields, left, depth)}
    return qualified_name(value if hasattr(value, "__qualname__") else type(value))


def _fields(value: Any) -> dict[str, Any]:
    """What an instance of a class that declares its fields holds, without running code of the class; of another one,
    what it was given."""
    from flowfn.identity.given import given_to

    cls = type(value)
    declared = ("__dataclass_fields__", "__pydantic_fields__", "__attrs_attrs__")
    if not any(hasattr(cls, mark) for mark in declared):
        return given_to(value)
    names = (*getattr(value, "__dict__", ()), *getattr(cls, "__slots__", ()))
    return {name: getattr(value, name, None) for name in names}


def _key(key: Any) -> str:
    return key if type(key) is str else repr(key)
