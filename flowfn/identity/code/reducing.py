"""Code reduced to what it does.

Rule: decorators, docstrings, comments, annotations and layout don't count; the annotations of a class
body do, as they make the fields of dataclasses and models. What Pythons write differently is written in one way.
"""

from __future__ import annotations

import ast
from typing import Any

from flowfn.identity.code.fstrings import FString

__all__ = ["Definition", "Function", "reduce", "reduced_decorator"]

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


def reduce(tree: ast.Module) -> None:
    """Reduce all code of a module, in place."""
    _Reducer().visit(tree)


def reduced_decorator(node: ast.expr) -> str:
    """A decorator, which is no part of what it is of, and so isn't reduced with that."""
    return ast.unparse(_Reducer().visit(node))


class _Reducer(ast.NodeTransformer):
    """Removes, in place, what doesn't change what the code does, and what Pythons write differently."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._strip(node)
        node.body = [self._member(each) for each in node.body]
        return node

    def _member(self, node: ast.stmt) -> Any:
        if not isinstance(node, ast.AnnAssign):
            return self.visit(node)
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: Function) -> ast.AST:
        node.returns = node.type_comment = None
        self._strip(node)
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def _strip(self, node: Definition) -> None:
        node.decorator_list = []
        if hasattr(node, "type_params"):
            node.type_params = []
        node.body = [each for each in node.body if not _is_text(each)] or [ast.Pass()]

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = node.type_comment = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if node.value is None:
            return None
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        self.generic_visit(node)
        return FString(node)


def _is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, be it of what stands above it."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
