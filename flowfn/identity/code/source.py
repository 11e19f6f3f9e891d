"""The source of a function or class, as what it does and the names in it.

Rule: what the file says counts, reduced, where it is found there (`index`); else the compiled code does.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from flowfn.identity.code.index import Index, index_of
from flowfn.identity.code.reducing import Function
from flowfn.identity.code.scopes import Chain, names_in
from flowfn.identity.code.unsourced import names_compiled_in, text_of
from flowfn.python.script import namespace_of

__all__ = ["Unit", "class_unit", "function_unit"]


class Unit(NamedTuple):
    """One function or class: its reduced text, and the dotted names in it.

    `is_source` is False where no source was found: the text then describes the compiled code. `decorators` are those of
    it, and of each function and class in it, as written.
    """

    text: str
    names: frozenset[Chain]
    is_source: bool
    decorators: tuple[tuple[str, ...], ...] = ()


def function_unit(function: FunctionType) -> Unit:
    """The unit of a function."""
    code = function.__code__
    linecache.lazycache(code.co_filename, function.__globals__)  # in a zip file, its loader finds the source
    return _code_unit(_Itself(code))


class _Itself:
    """Code, equal to no other: that of two files, or of two runs of a module, may be equal where the sources aren't,
    as a parameter's default is no part of it."""

    __slots__ = ("code",)

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.code is other.code

    def __hash__(self) -> int:
        return id(self.code)


@lru_cache(maxsize=4096)
def _code_unit(its: _Itself) -> Unit:
    """The unit of a function's code."""
    code = its.code
    index = index_of(code.co_filename)
    node = index.find(code) if index is not None else None
    if index is None or node is None:
        return Unit(text_of(code), names_compiled_in(code), False)
    return _unit(node, index)


def class_unit(cls: type, skip: Callable[[str], bool]) -> Unit | None:
    """The unit of a class without the members that `skip` names; None where no source is found. Where its file defines
    several of that name (`if … else`, `try … except ImportError`), all of them count."""
    namespace = namespace_of(cls.__module__)
    filename: str = namespace.get("__file__") or ""
    linecache.lazycache(filename, {**namespace})
    index = index_of(filename) if filename else None
    nodes = index.classes.get(cls.__qualname__, ()) if index is not None else ()
    if index is None or not nodes or not index.has(cls, filename):
        return None
    methods = (member.name for node in nodes for member in node.body if isinstance(member, Function))
    skipped = frozenset(filter(skip, methods))
    units = [_unit_without(node, skipped, index) for node in nodes]
    names = frozenset[Chain]().union(*(unit.names for unit in units))
    decorators = tuple(each for unit in units for each in unit.decorators)
    text = "\n".join(unit.text for unit in units)
    return units[0] if len(units) == 1 else Unit(text, names, True, decorators)


@lru_cache(maxsize=1024)
def _unit_without(node: ast.ClassDef, skipped: frozenset[str], index: Index) -> Unit:
    """The unit of a class without these methods; kept, as functions that are made anew on each call name it again."""
    body = [member for member in node.body if not (isinstance(member, Function) and member.name in skipped)]
    rest = ast.ClassDef(node.name, node.bases, node.keywords, body, [], **_NO_TYPE_PARAMETERS)
    return _unit(rest, index)._replace(decorators=index.decorators(node))


_NO_TYPE_PARAMETERS: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}


def _unit(node: ast.AST, index: Index) -> Unit:
    return Unit(ast.unparse(node), names_in(node), True, index.decorators(node))
