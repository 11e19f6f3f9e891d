"""The attributes of a function that tell it from others, as it was given them.

Rule: what its own code assigns is its state. What the function around it takes off the clock or draws at random
(`inner.id = uuid4().hex`) is another one in each process. That is told by the code around it: what it assigns under the
name, or what a variable of its own that is assigned there was, names a source of either. A parameter, or a variable,
that is called as one is (`id`) is none.
"""

from __future__ import annotations

import ast
import sys
from collections import ChainMap
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any

from flowfn.identity.code.around import function_around
from flowfn.identity.code.chance import names_a_source
from flowfn.identity.code.compiled import assigned_attributes
from flowfn.identity.code.functions import is_special
from flowfn.identity.code.index import parse
from flowfn.identity.code.source import function_unit
from flowfn.python.script import namespace_of

__all__ = ["attributes_of_function"]


def attributes_of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The attributes that a function was given and doesn't assign itself, by `.name`, as they are; none that was drawn
    for it."""
    attributes = {name: value for name, value in vars(function).items() if not is_special(name)}
    if attributes:
        left_out = assigned_attributes(function.__code__) | _drawn_attributes(function)
        yield from ((f".{name}", value) for name, value in attributes.items() if name not in left_out)


def _drawn_attributes(function: FunctionType) -> frozenset[str]:
    """The names of a function's attributes that are drawn anew in each process."""
    module = str(function.__globals__.get("__name__"))
    around = function_around(sys.modules.get(module), function.__code__.co_qualname)
    if around is None:
        return frozenset()
    unit = function_unit(around)
    return _drawn_in(unit.text, around.__module__) if unit.is_source else frozenset()


@lru_cache(maxsize=1024)
def _drawn_in(text: str, module: str) -> frozenset[str]:
    variables, attributes = dict[str, list[ast.expr]](), dict[str, list[ast.expr]]()
    tree = parse(text)
    for target, value in _assigned(tree):
        if isinstance(target, ast.Name):
            variables.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Attribute):
            attributes.setdefault(target.attr, []).append(value)
    namespace = ChainMap(dict.fromkeys(_bound(tree)), {**namespace_of(module)})
    return frozenset(
        name
        for name, values in attributes.items()
        if any(names_a_source(ast.Expression(each), namespace) for each in _led_to(values, variables))
    )


def _bound(tree: ast.AST) -> Iterator[str]:
    """The names of the variables of functions in code, parameters among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _assigned(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What code assigns, each with what is assigned."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _unpacked(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield node.target, node.value


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of `a, b = c, d`, each with what it is assigned, as far as that is told; any other as it is."""
    if not isinstance(target, ast.Tuple):
        yield target, value
        return
    parts = value.elts if isinstance(value, ast.Tuple) else []
    one_by_one = len(parts) == len(target.elts)
    for each, part in zip(target.elts, parts if one_by_one else [value] * len(target.elts), strict=True):
        yield from _unpacked(each, part)


def _led_to(values: list[ast.expr], variables: Mapping[str, list[ast.expr]]) -> list[ast.expr]:
    """Expressions, and those that the variables in them were assigned."""
    found = [*values]
    seen = set[str]()
    for value in found:
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} & variables.keys()
        found += [each for name in sorted(names - seen) for each in variables[name]]
        seen |= names
    return found
