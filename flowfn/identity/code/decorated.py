"""What the decorators say of functions and classes, which their reduced sources don't have.

Rule: a decorator may do anything by what it is given: check another field, have objects compared otherwise, register a
function under another name. So it counts for a kept result. flowfn's don't, and neither does what is above one, which
has a task; nor does how much is remembered (`lru_cache`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from flowfn.identity.code.chance import meant
from flowfn.identity.code.source import Unit
from flowfn.identity.code.unwrapping import attribute, definition_of

__all__ = ["decorators_of"]

_REMEMBERING = (cache, lru_cache)


def decorators_of(unit: Unit, namespace: Mapping[str, Any]) -> str:
    """The decorators that count of a function or class in a module, and of those in it, a line each."""
    return "\n".join(line for stack in unit.decorators for line in _below_flowfns(stack, namespace))


def _below_flowfns(stack: tuple[str, ...], namespace: Mapping[str, Any]) -> Iterator[str]:
    called = [_called(line, namespace) for line in stack]
    last = max((at for at, each in enumerate(called) if _is_flowfns(each)), default=-1)
    for line, each in zip(stack[last + 1 :], called[last + 1 :], strict=True):
        if not any(each is remembering for remembering in _REMEMBERING):
            yield line


def _called(decorator: str, namespace: Mapping[str, Any]) -> Any:
    """The function that a decorator names, with or without what it gives it."""
    tree = ast.parse(decorator, mode="eval").body
    named = ast.unparse(tree.func if isinstance(tree, ast.Call) else tree)
    return meant(tuple(named.split(".")), namespace)


def _is_flowfns(function: Any) -> bool:
    module = attribute(definition_of(function), "__module__")
    return isinstance(module, str) and module.partition(".")[0] in ("flowfn", "graph_compat", "langgraph")
