"""Under which other names the top of a file reaches a value, and what changes it from there.

Rule: what is written counts, and nothing is run. A name is one more for what it is assigned as it is, or for a part of
that (`eu = RATES["eu"]`, `for table in (LOW, HIGH)`, `put = RATES.update`); what a function makes of a value is another
one. More may seem to be reached than is: then an edit of one line too many makes kept results anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flowfn.identity.code.compiled import MUTATING

__all__ = ["changed_by_methods", "changed_inside", "name_in_namespace", "parts_given_by"]

_GIVING = ("get", "setdefault", "values", "items")
"""The methods of a mapping that give what it holds."""

_NAMESPACES = ("globals", "vars", "locals")


def parts_given_by(binding: ast.AST) -> Iterator[str]:
    """The names whose values, or parts of them, a statement or expression gives its targets as they are."""
    match binding:
        case ast.withitem(context_expr=ast.Call(args=given)):  # it may give what it was given
            for each in given:
                yield from _parts(each)
        case ast.For(iter=given) | ast.withitem(context_expr=given):
            yield from _parts(given)
        case ast.Assign(value=given) | ast.AnnAssign(value=ast.expr() as given) | ast.NamedExpr(value=given):
            yield from _parts(given)


def _parts(given: ast.expr) -> Iterator[str]:
    """The names whose values, or parts of them, an expression may give."""
    match given:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Starred(value=inner):
            yield from _parts(inner)
        case ast.NamedExpr(value=inner):
            yield from _parts(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _GIVING:
            yield from _parts(inner)
        case ast.Tuple(elts=several) | ast.List(elts=several) | ast.BoolOp(values=several):
            for each in several:
                yield from _parts(each)
        case ast.IfExp(body=one, orelse=other):
            yield from _parts(one)
            yield from _parts(other)


def changed_by_methods(*called: ast.expr) -> Iterator[str]:
    """The names whose values, or parts of them, methods change that are called, or given to what calls them."""
    for each in called:
        if isinstance(each, ast.Attribute) and each.attr in MUTATING:
            yield from _parts(each.value)


def changed_inside(function: ast.AST) -> Iterator[str]:
    """The names in a function of which it changes the value in place."""
    for each in ast.walk(function):
        match each:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                changed = [target for target in targets if not isinstance(target, ast.Name)]
            case ast.AugAssign(target=ast.Attribute() | ast.Subscript() as target):
                changed = [target]
            case ast.Call(func=ast.Attribute(value=target, attr=method)) if method in MUTATING:
                changed = [target]
            case _:
                continue
        for target in changed:
            yield from _parts(target)


def name_in_namespace(target: ast.AST) -> str | None:
    """The name that is written as a text where a module's own dict gets a value: `globals()["RATES"] = …`."""
    match target:
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id=function), args=[]), slice=ast.Constant(value=str(name))
        ) if function in _NAMESPACES:
            return name
    return None
