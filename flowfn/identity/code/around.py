"""The code of the functions around a function or class that they made."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any

from flowfn.identity.code.compiled import code_inside
from flowfn.identity.code.functions import function_of

__all__ = ["code_around"]


def code_around(module: Any, qualname: str) -> Iterator[CodeType]:
    """The code of the functions around what has a qualified name, the outermost first; none where they can't be found
    in the module."""
    outer, *inner = qualname.split(".<locals>.")[:-1] or [""]
    found: Any = module
    for name in outer.split("."):
        found = getattr(found, name, None)
    code = getattr(function_of(found), "__code__", None)
    while code is not None:
        yield code
        if not inner:
            return
        name = inner.pop(0).rpartition(".")[2]
        code = next((each for each in code_inside(code) if each.co_name == name), None)
