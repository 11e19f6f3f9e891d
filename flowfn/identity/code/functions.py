"""What a function is made of besides its code: its closure, its defaults, and its attributes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache, partial
from types import FunctionType, MethodType
from typing import Any

from flowfn.identity.code.unwrapping import definition_of, is_definition, layers_of
from flowfn.identity.forms.attributes import attributes_of
from flowfn.identity.names import named

__all__ = [
    "default_values",
    "function_of",
    "goes_by_its_name",
    "is_local",
    "is_special",
    "values_of",
]


def function_of(function: Any) -> FunctionType | None:
    """The function behind partials, bound methods and what a cache is around; None where that isn't one of Python's."""
    while isinstance(function, partial | MethodType | _Cached):
        if isinstance(function, partial):
            function = function.func
        else:
            function = function.__func__ if isinstance(function, MethodType) else function.__wrapped__
    return function if type(function) is FunctionType else None


_Cached = type(lru_cache(len))


def is_local(function: Any) -> bool:
    """Whether it is a lambda or was made inside another function, so that others may share its name."""
    target = function_of(function)
    return target is not None and "<" in target.__qualname__


def goes_by_its_name(function: FunctionType) -> bool:
    """Whether its name leads to it, to what is around it, or to an object that has either, as a command does."""
    found = named(function.__module__, function.__qualname__)
    if found is None or found is function:
        return found is function
    roots = [found, *_functions_in(found)]
    return any(each is function for root in roots for each in layers_of(definition_of(root)))


def _functions_in(value: Any) -> list[Any]:
    """The functions that an object has as attributes."""
    try:
        held = () if is_definition(value) else attributes_of(value).values()
    except Exception:  # a proxy has nothing behind it now
        return []
    return [each for each in held if type(each) is FunctionType]


def values_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The values of its closure but for itself, and its defaults."""
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        with suppress(ValueError):  # not assigned yet
            if name != function.__name__:
                yield name, cell.cell_contents
    yield from default_values(function)


def default_values(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The defaults of its parameters."""
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    values = function.__defaults__ or ()
    yield from zip(positional[len(positional) - len(values) :], values, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def is_special(name: str) -> bool:
    """Whether a name is one of Python's own, `__like_this__`."""
    return name.startswith("__") and name.endswith("__")
