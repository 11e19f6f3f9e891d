"""The dotted names in the source of a function or class, but for the variables of what is inside it.

Rule: a name that a comprehension, a lambda or an inner function binds is its own, and means nothing outside. The source
tells, the same on every Python: since 3.12 compiled code has a comprehension's variables among its function's own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

__all__ = ["Chain", "imports_in", "names_in", "names_in_text", "parts_of_names"]

Chain = tuple[str, ...]
"""A dotted name, as a whole: `helpers.clean` is `("helpers", "clean")`, and `helpers` none beside it."""

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def names_in(node: ast.AST) -> frozenset[Chain]:
    """The names that a function or lambda has, its own variables among them, or those that a class uses."""
    names = _Names(of_class=isinstance(node, ast.ClassDef))
    names.generic_visit(node)
    return frozenset(names.found)


def names_in_text(hint: str) -> frozenset[Chain]:
    """The names in an annotation that is text; none in what is no code."""
    try:
        return names_in(ast.parse(hint, mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()


def imports_in(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    """The names that imports in code give: each with the module, and what it is called there; empty if it is that."""
    for each in ast.walk(node):
        if isinstance(each, ast.ImportFrom):
            module = "." * each.level + (each.module or "")
            yield from ((alias.asname or alias.name, module, alias.name) for alias in each.names)
        elif isinstance(each, ast.Import):
            for alias in each.names:
                root = alias.name.partition(".")[0]
                yield (alias.asname, alias.name, "") if alias.asname else (root, root, "")


def parts_of_names(chains: Iterable[Chain]) -> set[Chain]:
    """Dotted names, and all that they lead through: of `helpers.table.rows` also `helpers` and `helpers.table`."""
    return {chain[:length] for chain in chains for length in range(1, len(chain) + 1)}


class _Names(ast.NodeVisitor):
    """Collects dotted names."""

    def __init__(self, *, of_class: bool) -> None:
        self.found: set[Chain] = set()
        self._of_class = of_class
        self._hidden: frozenset[str] = frozenset()
        """The variables of the scopes around what is visited, up to the outermost one."""

    def visit_Name(self, node: ast.expr) -> None:
        is_field = self._of_class and isinstance(node, ast.Name) and _is_stored(node)
        if not is_field:  # nor an `FString`, which comes here as well
            self._note(node)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not self._note(node):
            self.generic_visit(node)

    def _note(self, node: ast.expr) -> bool:
        """Note a dotted name, and say whether it is one."""
        chain = _chain(node)
        if chain and chain[0] not in self._hidden:
            self.found.add(chain)
        return bool(chain)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        for text in _quoted_in(node.annotation):
            self.found |= names_in_text(text)

    def visit_FunctionDef(self, node: _Function) -> None:
        self._function(node.args, node.body, node.decorator_list)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node.args, [node.body])

    def _function(
        self,
        arguments: ast.arguments,
        body: list[ast.stmt] | list[ast.expr],
        decorators: Iterable[ast.expr] = (),
    ) -> None:
        for each in (arguments, *decorators):  # defaults and decorators are worked out outside
            self.visit(each)
        parameters = {each.arg for each in ast.walk(arguments) if isinstance(each, ast.arg)}
        self._inside(parameters | _bound_in(body), body)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        self._comprehension(node, [node.elt])

    visit_SetComp = visit_GeneratorExp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node, [node.key, node.value])

    def _comprehension(self, node: _Comprehension, items: list[ast.expr]) -> None:
        first, *others = node.generators
        self.visit(first.iter)  # worked out outside
        bound = {name for generator in node.generators for name in _stored(generator.target)}
        self._inside(bound, [*items, *first.ifs, *others])

    def _inside(self, bound: set[str], parts: Iterable[ast.AST]) -> None:
        around, self._hidden = self._hidden, self._hidden | bound
        for each in parts:
            self.visit(each)
        self._hidden = around


def _chain(node: ast.AST) -> Chain:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        root = _chain(node.value)
        return (*root, node.attr) if root else ()
    return ()


def _quoted_in(annotation: ast.AST) -> Iterator[str]:
    """The texts in an annotation that stand for types: not the values of a `Literal`, nor what `Annotated` adds."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield annotation.value
    inner: Iterable[ast.AST] = ast.iter_child_nodes(annotation)
    if isinstance(annotation, ast.Subscript):
        name = (_chain(annotation.value) or ("",))[-1]
        given = annotation.slice
        parts = given.elts if isinstance(given, ast.Tuple) else [given]
        inner = () if name == "Literal" else parts[:1] if name == "Annotated" else parts
    for each in inner:
        yield from _quoted_in(each)


def _stored(target: ast.AST) -> Iterator[str]:
    return (each.id for each in ast.walk(target) if isinstance(each, ast.Name) and _is_stored(each))


def _is_stored(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _bound_in(body: Iterable[ast.AST]) -> set[str]:
    """The variables that a function's statements make, but for those that they say are another's."""
    bound: set[str] = set()
    others: set[str] = set()
    waiting = [*body]
    while waiting:
        each = waiting.pop()
        match each:
            case ast.Name():
                bound.update({each.id} if _is_stored(each) else ())
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(each.name)
                continue
            case ast.Lambda():
                continue
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                named = (inner.target for inner in ast.walk(each) if isinstance(inner, ast.NamedExpr))
                bound.update(target.id for target in named)
                continue
            case ast.Import() | ast.ImportFrom():
                bound.update(name for name, _, _ in imports_in(each))
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                bound.update({each.name} if each.name else ())
            case ast.MatchMapping():
                bound.update({each.rest} if each.rest else ())
            case ast.Global() | ast.Nonlocal():
                others.update(each.names)
        waiting += ast.iter_child_nodes(each)
    return bound - others
