"""The code of the functions around a function or class that they made."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from flowfn.identity.code.compiled import code_inside
from flowfn.identity.code.functions import function_of

__all__ = ["code_around", "function_around"]


def function_around(module: Any, qualname: str) -> FunctionType | None:
    """The outermost function around what has a qualified name; None where there is none, or none in the module."""
    outer, *inner = qualname.split(".<locals>.")
    found: Any = module
    for name in outer.split("."):
        found = getattr(found, name, None)
    return function_of(found) if inner else None


def code_around(module: Any, qualname: str) -> Iterator[CodeType]:
    """The code of the functions around what has a qualified name, the outermost first; none where they can't be found
    in the module."""
    code: CodeType | None = getattr(function_around(module, qualname), "__code__", None)
    _, *inner = qualname.split(".<locals>.")[:-1] or [""]
    while code is not None:
        yield code
        if not inner:
            return
        name = inner.pop(0).rpartition(".")[2]
        code = next((each for each in code_inside(code) if each.co_name == name), None)
