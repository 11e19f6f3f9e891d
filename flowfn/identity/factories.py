"""What a factory was given tells the workflows that it makes from each other.

Rule: of what a workflow captured only that counts which can't change in place, and flags don't: they say how to run,
not what. Nor does what code beside it assigns (`nonlocal`), which is a state, nor a time or a random token. A function
without parameters is no factory: what it makes is told by its code alone, which may be edited.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

from flowfn.identity.captured import function_of, is_local
from flowfn.identity.dependencies import is_constant

__all__ = ["given_to_factory"]

_VARIADIC = 0x04 | 0x08
"""The flags of code that takes `*args` or `**kwargs`."""


def given_to_factory(function: Any) -> dict[str, Any]:
    """What tells a function from others that were made by the same code, by name; empty if no factory made it.

    What the functions inside it were given is among it, as where a decorator is around the workflow's own.
    """
    return _given(function, ())


def _given(function: Any, around: tuple[FunctionType, ...]) -> dict[str, Any]:
    target = function_of(function)
    if target is None or not target.__closure__ or not is_local(target) or target in around:
        return {}
    makers = list(_makers(target))
    if makers and not any(map(_takes_parameters, makers)):
        return {}
    states = set(_states(makers[0] if makers else target.__code__))
    found: dict[str, Any] = {}
    for name, cell in zip(target.__code__.co_freevars, target.__closure__, strict=True):
        with suppress(ValueError):  # not assigned yet
            value = cell.cell_contents
            if is_constant(value) and not isinstance(value, bool | None) and name not in states:
                found[name] = value
            elif type(value) is FunctionType and (inner := _given(value, (*around, target))):
                found[name] = inner
    return found


def _makers(function: FunctionType) -> Iterator[CodeType]:
    """The code of the functions around it, the outermost first; none where they can't be found."""
    outer, *inner = function.__qualname__.split(".<locals>.")[:-1] or [""]
    found: Any = sys.modules.get(function.__module__)
    for name in outer.split("."):
        found = getattr(found, name, None)
    code = getattr(function_of(found), "__code__", None)
    while code is not None:
        yield code
        if not inner:
            return
        name = inner.pop(0).rpartition(".")[2]
        code = next((each for each in _inside(code) if each.co_name == name), None)


def _takes_parameters(code: CodeType) -> bool:
    return bool(code.co_argcount or code.co_kwonlyargcount or code.co_flags & _VARIADIC)


def _inside(code: CodeType) -> Iterator[CodeType]:
    return (each for each in code.co_consts if isinstance(each, CodeType))


def _states(code: CodeType) -> Iterator[str]:
    """The names that it, or a function inside it, assigns as another function's."""
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars:
            yield step.argval
    for each in _inside(code):
        yield from _states(each)
