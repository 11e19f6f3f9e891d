"""What the top of a file gives names: their values, what is done to those, and what is imported.

Rule: whatever stands outside of functions and classes counts, wherever it stands there: under conditions and in loops,
which count with it, as they decide whether and how often it runs; and what a function does to a name by `global`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import takewhile
from typing import Final

from flowfn.identity.code.aliases import (
    changed_by_methods,
    changed_inside,
    name_in_namespace,
    parts_given_by,
)
from flowfn.identity.code.compiled import MUTATING
from flowfn.identity.code.reducing import Definition, Function, reduced_decorator
from flowfn.identity.code.scopes import imports_in

__all__ = ["Top"]

_Binding = ast.stmt | ast.NamedExpr | ast.withitem
"""What gives a name a value: an assignment, also within an expression, a loop, an item of a `with`, or a function that
says `global`; and what changes the value that it has, as a `del` or a call of `append` does."""

_Heads = tuple[ast.expr, ...]
"""What decides whether a statement runs, and how often: the conditions and loops that it stands under."""

_DEFINING: Final = ("__init_subclass__", "__set_name__", "__new__", "__init__", "__prepare__")
"""The methods that run while a class is defined: its base's, its metaclass's, and those of what its body makes."""

_LONG: Final = 500
"""Lines of an assignment from which on it is a table."""


class Top(ast.NodeVisitor):
    """What the top of a file gives the names there, and the decorators of all that the file defines.

    Nodes are shown by `visit`, before they are reduced; what is asked for is told by what they are by then. In a cell,
    the call of a method may be there to be shown.
    """

    def __init__(self, lines: list[str], *, is_cell: bool) -> None:
        self._lines = lines
        self._is_cell = is_cell
        self._assignments: dict[str, list[tuple[_Heads, _Binding]]] = {}
        self._aliases: dict[str, dict[str, None]] = {}
        """Of a name those that its value, or a part of it, has as well."""
        self._definitions: dict[str, list[tuple[_Heads, list[ast.expr], Definition]]] = {}
        self._decorators: dict[ast.AST, list[ast.expr]] = {}
        self.imports: dict[str, list[tuple[str, str]]] = {}
        """The names that the top of the file has from other modules: from which, of several the last one last, and what
        they are called there; the empty name is the module itself."""
        self._calls: list[tuple[str, _Heads, ast.expr, Definition | None]] = []
        """What the top of the file calls of other modules', or decorates with."""
        self.stars: list[str] = []
        """The modules of which it has all names, the first first."""
        self._texts: dict[_Binding | ast.expr, str] = {}
        """What bindings are told by: one that changes a table is told once for each name of what is in that."""
        self._only_given: dict[str, bool] = {}
        """See `_is_only_given`: a table is asked about once for each name of what is in it."""
        self._scope: list[str] = []
        self._heads: _Heads = ()
        self._top: Definition

    def assigned(self, name: str) -> str | None:
        """What the top of the file assigns to a name, or does to what it has, and defines under it, reduced, with what
        that stands under."""
        assigned = self._assigned(name)
        defined = (
            (heads, _defined([each for each in decorators if not self._is_flowfns(each)], node))
            for heads, decorators, node in self._definitions.get(name, ())
        )
        return self._under_heads([*assigned, *defined])

    def changed(self, name: str) -> str | None:
        """What the top of the file gives parts of what a name has (`Shop.rates = {}`), reduced, with what that stands
        under; and what several definitions of it do, as it decides which one runs."""
        several = self._definitions.get(name, ())
        heads = [(heads[:-1], self._text(heads[-1])) for heads, *_ in several if heads]
        return self._under_heads([*(heads if several[1:] else []), *self._assigned(name, _changes_a_part)])

    def _assigned(
        self, name: str, counts: Callable[[_Binding, str], bool] = lambda *_: True
    ) -> list[tuple[_Heads, str]]:
        found = self._assignments.get(name, ())
        own = [(heads, self._text(node)) for heads, node in found if counts(node, name)]
        return [*own, *self._done_under_other_names(name)]

    def _done_under_other_names(self, name: str) -> Iterator[tuple[_Heads, str]]:
        """What is done to the value of a name, or to parts of it, under others; and what gives it these."""
        for other in self._other_names(name):
            if not self._is_only_given(other):
                yield from ((heads, self._text(node)) for heads, node in self._assignments[other])

    def _is_only_given(self, name: str) -> bool:
        """Whether all that the top of the file does to a name is to give it a value of its own."""
        if name not in self._only_given:
            self._only_given[name] = all(_gives(node, name) for _, node in self._assignments[name])
        return self._only_given[name]

    def _other_names(self, name: str) -> list[str]:
        known, new = dict.fromkeys([name]), [name]
        while new:
            new = [other for each in new for other in self._aliases.get(each, ()) if other not in known]
            known |= dict.fromkeys(new)
        return [*known][1:]

    def _under_heads(self, found: Iterable[tuple[_Heads, str]]) -> str | None:
        return "\n".join(line for heads, text in found for line in (*map(self._text, heads), text)) or None

    def _is_flowfns(self, decorator: ast.expr) -> bool:
        """Whether a decorator is flowfn's, whose options change nothing of what a function gives."""
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        places = self.imports.get(_root(called), ())
        return any(
            module.partition(".")[0] in ("flowfn", "graph_compat", "langgraph") for module, _ in places
        )

    @property
    def calls(self) -> set[str]:
        """What the top of the file calls, or decorates with, of what other modules have."""
        return {name for name, *_ in self._calls}

    def calling(self, names: Collection[str]) -> str:
        """All such calls of these, reduced, each with what it stands under and what it decorates."""
        told = (
            (heads, ast.unparse(call) if on is None else _defined([call], on))
            for name, heads, call, on in self._calls
            if name in names
        )
        return self._under_heads(told) or ""

    def changed_by(self, function: str) -> set[str]:
        """The names of the file whose values a function of it changes in place, or exchanges."""
        nodes = [node for *_, node in self._definitions.get(function, ()) if isinstance(node, Function)]
        exchanged = (each.names for node in nodes for each in ast.walk(node) if isinstance(each, ast.Global))
        return {name for node in nodes for name in changed_inside(node)}.union(*exchanged)

    @property
    def given(self) -> Iterable[str]:
        """The names that the top of the file gives a value of its own."""
        return self._assignments.keys() | self._definitions.keys()

    def makes(self, name: str) -> bool:
        """Whether what is assigned gives the name a value of its own: neither changes nor uses the one that it has."""
        return name in self._definitions or any(
            _gives(node, name) for _, node in self._assignments.get(name, ())
        )

    def _text(self, node: _Binding | ast.expr) -> str:
        """What a binding is told by, reduced; a long table as it stands, since writing it anew takes seconds."""
        if node not in self._texts:
            told = _told_of(node)
            first, last = told.lineno - 1, told.end_lineno or told.lineno
            is_short = last - first <= _LONG
            self._texts[node] = ast.unparse(told) if is_short else "".join(self._lines[first:last])
        return self._texts[node]

    def decorators(self, node: ast.AST) -> tuple[tuple[str, ...], ...]:
        """Those of each function and class in a node, reduced."""
        stacks = (self._decorators.get(each) for each in ast.walk(node))
        return tuple(tuple(map(reduced_decorator, stack)) for stack in stacks if stack)

    # -- seeing -----------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: Function) -> None:
        self._define(node)
        self._inside(node, node.name, "<locals>")

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inside(node, "<lambda>", "<locals>")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._define(node)
        if not self._scope:
            self._note(self._changed_by_defining(node), node)
        self._inside(node, node.name)

    def _changed_by_defining(self, node: ast.ClassDef) -> Iterator[str]:
        """The names whose values classes of the file change as one is derived from them, or they are its metaclass, or
        an object of theirs gets a name in it."""
        makers = [*node.bases, *(each.value for each in node.keywords)]
        makers += [each.func for inner in node.body for each in ast.walk(inner) if isinstance(each, ast.Call)]
        for cls in (each for name in map(_root, makers) for *_, each in self._definitions.get(name, ())):
            for method in cls.body if isinstance(cls, ast.ClassDef) else ():
                if isinstance(method, Function) and method.name in _DEFINING:
                    yield from changed_inside(method)

    def _inside(self, node: ast.AST, *scope: str) -> None:
        self._scope.extend(scope)
        self.generic_visit(node)
        del self._scope[-len(scope) :]

    def _define(self, node: Definition) -> None:
        self._decorators[node] = node.decorator_list
        if not self._scope:
            self._definitions.setdefault(node.name, []).append((self._heads, node.decorator_list, node))
            self._top = node
            for decorator in takewhile(
                lambda each: not self._is_flowfns(each), reversed(node.decorator_list)
            ):
                self._note(self._changed_by(decorator), _as_statement(decorator), node)
                self._note_call(decorator, node)

    def visit_Global(self, node: ast.Global) -> None:
        if self._scope:
            for name in node.names:
                self._assignments.setdefault(name, []).append((self._heads, self._top))

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._assigned_to(node, self._changed(node.value))
        self.generic_visit(node)

    def _changed(self, call: ast.Call) -> list[ast.expr]:
        """What a call whose result nobody takes was there to change: the object of the method, and what it was given,
        unless it runs the program. In a cell it may be there to be shown: only methods that are known to change do."""
        method = [call.func] if isinstance(call.func, ast.Attribute) else []
        if self._is_cell:
            return [each for each in method if each.attr in MUTATING]
        if self._runs_the_program(call):
            return [*method]
        return [*method, *(each for each in _given(call) if isinstance(each, ast.Name))]

    def _runs_the_program(self, call: ast.Call) -> bool:
        called = self._definitions.get(_root(call.func), ())
        return "__name__" in map(_root, self._heads) or any(
            self._is_flowfns(each) for _, on, _ in called for each in on
        )

    def visit_Call(self, node: ast.Call) -> None:
        if not (self._scope or self._is_cell or self._runs_the_program(node)):
            changed = [*changed_by_methods(node.func, *_given(node)), *self._changed_by(node)]
            self._note(dict.fromkeys(changed), _as_statement(node))
            self._note_call(node)
        self.generic_visit(node)

    def _note_call(self, call: ast.expr, on: Definition | None = None) -> None:
        name = _dotted(call.func if isinstance(call, ast.Call) else call)
        if name.partition(".")[0] in self.imports:
            self._calls.append((name, self._heads, call, on))

    def _changed_by(self, call: ast.expr) -> list[str]:
        """The names whose values a call of a function of the file changes in place, or a call under another name for a
        method; a decorator is one, too. What it is given counts where the function changes what it is given."""
        called, given = (call.func, _given(call)) if isinstance(call, ast.Call) else (call, [])
        if not isinstance(called, ast.Name):
            return []
        functions = [node for *_, node in self._definitions.get(called.id, ()) if isinstance(node, Function)]
        changed = {name for node in functions for name in changed_inside(node)}
        parameters = {
            each.arg for node in functions for each in ast.walk(node.args) if isinstance(each, ast.arg)
        }
        handed = [each.id for each in given if isinstance(each, ast.Name)] if changed & parameters else []
        method = [called.id] if any(called.id in others for others in self._aliases.values()) else []
        return [*dict.fromkeys([*sorted(changed - parameters), *handed, *method])]

    def _note(self, names: Iterable[str], *statements: ast.Expr | Definition) -> None:
        """Note what is done to values under these names, unless it is the call that was noted last."""
        for name in names:
            noted = self._assignments.setdefault(name, [])
            if not (noted and _is_the_call(noted[-1][1], statements[0])):
                noted.extend((self._heads, each) for each in statements)

    def _over(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        around = self._heads
        for each in node.generators:
            self._heads = (*self._heads, each.iter, *each.ifs)
        self.generic_visit(node)
        self._heads = around

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _over

    def visit_Assign(self, node: ast.Assign | ast.Delete) -> None:
        self._assignment(node, node.targets)

    visit_Delete = visit_Assign

    def visit_If(self, node: ast.If | ast.While) -> None:
        self._under(node.test, node)

    visit_While = visit_If

    def visit_Match(self, node: ast.Match) -> None:
        self._under(node.subject, node)

    def _under(self, head: ast.expr, node: ast.stmt) -> None:
        around, self._heads = self._heads, (*self._heads, head)
        self.generic_visit(node)
        self._heads = around

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._assignment(node, [node.target] if node.value is not None else [])

    def visit_AugAssign(self, node: ast.AugAssign | ast.NamedExpr) -> None:
        self._assignment(node, [node.target])

    visit_NamedExpr = visit_AugAssign

    def visit_For(self, node: ast.For) -> None:
        self._assigned_to(node, [node.target])
        self._under(node.iter, node)

    def visit_withitem(self, node: ast.withitem) -> None:
        self._assignment(node, [node.optional_vars] if node.optional_vars is not None else [])

    def _assignment(self, node: _Binding, targets: list[ast.expr]) -> None:
        self._assigned_to(node, targets)
        self.generic_visit(node)

    def _assigned_to(self, node: _Binding, targets: list[ast.expr]) -> None:
        if self._scope:
            return
        parts = [each for target in targets for each in ast.walk(target)]
        names = [each for each in parts if isinstance(each, ast.Name)]
        said = () if self._is_cell else filter(None, map(name_in_namespace, parts))
        for name in (*(each.id for each in names), *said):
            self._assignments.setdefault(name, []).append((self._heads, node))
        self._note_aliases(
            node, [each.id for each in names if isinstance(each.ctx, ast.Store)], len(targets) > 1
        )

    def _note_aliases(self, node: _Binding, stored: list[str], are_one: bool) -> None:
        """Note which other names have what a binding gives these, wholly or in part; `are_one`: each other's, too."""
        for name in (*parts_given_by(node), *(stored if are_one else ())):
            self._aliases.setdefault(name, {}).update(dict.fromkeys(stored))

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for name, module, original in () if self._scope else imports_in(node):
            if name == "*":
                self.stars.append(module)
            else:
                self.imports.setdefault(name, []).append((module, original))

    visit_ImportFrom = visit_Import


def _root(expression: ast.expr) -> str:
    """The name that an expression begins with."""
    return ast.unparse(expression).partition(".")[0].partition(" ")[0]


def _dotted(expression: ast.expr) -> str:
    """A name, and those of attributes after it; empty for what is none."""
    match expression:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner, attr=attribute) if root := _dotted(inner):
            return f"{root}.{attribute}"
    return ""


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _as_statement(expression: ast.expr) -> ast.Expr:
    return ast.copy_location(ast.Expr(expression), expression)


def _is_the_call(noted: _Binding, statement: ast.Expr | Definition) -> bool:
    return isinstance(noted, ast.Expr) and isinstance(statement, ast.Expr) and noted.value is statement.value


def _gives(statement: _Binding, name: str) -> bool:
    """Whether a statement gives a name a value of its own; of a plain assignment what is assigned may be all of it."""
    nodes = (each for each in ast.walk(statement) if isinstance(each, ast.Name) and each.id == name)
    is_stored = {type(each.ctx) is ast.Store for each in nodes}
    if isinstance(statement, ast.Expr):
        return not is_stored
    if isinstance(statement, Definition):
        return statement.name == name
    return is_stored == {True} and not isinstance(statement, ast.AugAssign)


def _changes_a_part(statement: _Binding, name: str) -> bool:
    """Whether a statement surely changes what an object has that is called so: by its attributes, or `setattr`."""
    if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
        match call.func:
            case ast.Attribute(value=ast.Attribute(), attr=method):
                return method in MUTATING
            case ast.Attribute(attr="register"):  # an abstract class's: who else counts as one of its own
                return True
            case ast.Name(id=function):
                return function in ("setattr", "delattr")
        return False
    if isinstance(statement, ast.ClassDef):  # a class that the object sees defined
        return statement.name != name
    is_assigned = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Delete)
    return is_assigned and not _gives(statement, name)


def _told_of(node: _Binding | ast.expr) -> ast.stmt | ast.expr:
    """What a binding is told by: the value that is assigned, without its annotation, where that is all; of a loop
    and of a `with` what they go over; or the whole."""
    if isinstance(node, ast.For):
        return node.iter
    if isinstance(node, ast.withitem):
        return node.context_expr
    if isinstance(node, ast.Assign):
        return node.value if all(isinstance(each, ast.Name) for each in node.targets) else node
    return (node.value if isinstance(node, ast.AnnAssign | ast.NamedExpr) else None) or node


def _defined(decorators: list[ast.expr], node: Definition) -> str:
    """A function or class below its decorators, which it has no longer itself."""
    return "\n".join([*(f"@{reduced_decorator(each)}" for each in decorators), ast.unparse(node)])
