"""The source of a function or class, reduced to what it does.

Rule: decorators, docstrings, comments, annotations and layout don't count; the annotations of a class
body do, as they make the fields of dataclasses and models. Files are parsed whole and once, so that a
function is found by its position in the tree and never by guessing where its text ends. A file that was
changed while the process ran needn't be what the process runs: of such a file only that counts which is
compiled to the very code.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple

from flowfn.identity.code.compiled import MUTATING, all_code, code_inside, parameters_of
from flowfn.identity.code.fstrings import FString
from flowfn.identity.code.scopes import Chain, imports_in, names_in
from flowfn.python.began import BEGAN
from flowfn.python.script import namespace_of

__all__ = ["Index", "Unit", "class_unit", "function_unit", "index_of", "index_of_text", "parse"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = _Function | ast.ClassDef
_Binding = ast.stmt | ast.NamedExpr | ast.withitem
"""What gives a name a value: an assignment, also within an expression, a loop, an item of a `with`, or a function that
says `global`; and what changes the value that it has, as a `del` or a call of `append` does."""

_Heads = tuple[ast.expr, ...]
"""What decides whether a statement runs, and how often: the conditions and loops that it stands under."""

_SLACK: Final = 1.0
"""Seconds by which the clock of a file system may be behind."""
_LONG: Final = 500
"""Lines of an assignment from which on it is a table."""
_STARTING: Final = 0.1
"""Seconds that a process takes before it reads a module, and by which its beginning may be told too early."""


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
        return Unit(_describe(code), _names_of_code(code), False)
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
    methods = (member.name for node in nodes for member in node.body if isinstance(member, _Function))
    skipped = frozenset(filter(skip, methods))
    units = [_unit_without(node, skipped, index) for node in nodes]
    names = frozenset[Chain]().union(*(unit.names for unit in units))
    decorators = tuple(each for unit in units for each in unit.decorators)
    text = "\n".join(unit.text for unit in units)
    return units[0] if len(units) == 1 else Unit(text, names, True, decorators)


@lru_cache(maxsize=1024)
def _unit_without(node: ast.ClassDef, skipped: frozenset[str], index: Index) -> Unit:
    """The unit of a class without these methods; kept, as functions that are made anew on each call name it again."""
    body = [member for member in node.body if not (isinstance(member, _Function) and member.name in skipped)]
    rest = ast.ClassDef(node.name, node.bases, node.keywords, body, [], **_NO_TYPE_PARAMETERS)
    return _unit(rest, index)._replace(decorators=index.decorators(node))


_NO_TYPE_PARAMETERS: dict[str, Any] = {"type_params": []} if sys.version_info >= (3, 12) else {}


def _unit(node: ast.AST, index: Index) -> Unit:
    return Unit(ast.unparse(node), names_in(node), True, index.decorators(node))


# -- finding --------------------------------------------------------------------------------------


class Index(ast.NodeVisitor):
    """Where the functions, lambdas and classes of a file are, and what it gives the names at its top.

    `codes` is what the file compiles to, by what describes it; None if it is what the process loaded. `is_older` says
    that it was there before the process was.
    """

    def __init__(
        self,
        tree: ast.Module,
        lines: list[str],
        codes: dict[str, list[CodeType]] | None,
        *,
        is_older: bool,
        is_cell: bool,
    ) -> None:
        self._codes = codes
        self._lines = lines
        self._is_cell = is_cell
        self.is_older = is_older
        self.functions: dict[tuple[int, str], _Function] = {}
        self.lambdas: dict[int, list[ast.Lambda]] = {}
        self.classes: dict[str, list[ast.ClassDef]] = {}
        self._assignments: dict[str, list[tuple[_Heads, _Binding]]] = {}
        self._definitions: dict[str, list[tuple[_Heads, list[ast.expr], _Definition]]] = {}
        self._decorators: dict[ast.AST, list[ast.expr]] = {}
        self.imports: dict[str, list[tuple[str, str]]] = {}
        """The names that the top of the file has from other modules: from which, of several the last one last, and what
        they are called there; the empty name is the module itself."""
        self.stars: list[str] = []
        """The modules of which it has all names, the first first."""
        self._scope: list[str] = []
        self._heads: _Heads = ()
        self._top: _Definition
        self.visit(tree)

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
        return [(heads, self._text(node)) for heads, node in found if counts(node, name)]

    def _under_heads(self, found: list[tuple[_Heads, str]]) -> str | None:
        return "\n".join(line for heads, text in found for line in (*map(self._text, heads), text)) or None

    def _is_flowfns(self, decorator: ast.expr) -> bool:
        """Whether a decorator is flowfn's, whose options change nothing of what a function gives."""
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        places = self.imports.get(_root(called), ())
        return any(
            module.partition(".")[0] in ("flowfn", "graph_compat", "langgraph") for module, _ in places
        )

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
        told = _told_of(node)
        first, last = told.lineno - 1, told.end_lineno or told.lineno
        return ast.unparse(told) if last - first <= _LONG else "".join(self._lines[first:last])

    def decorators(self, node: ast.AST) -> tuple[tuple[str, ...], ...]:
        """Those of each function and class in a node, reduced."""
        stacks = (self._decorators.get(each) for each in ast.walk(node))
        return tuple(tuple(map(_decorator, stack)) for stack in stacks if stack)

    def find(self, code: CodeType) -> ast.AST | None:
        """The node that the code was compiled from, or None if the file no longer has it."""
        if self._codes is not None:
            same = self._codes.get(_describe_code(code))
            if same is None:
                return None
            line = code.co_firstlineno
            code = min(same, key=lambda each: abs(each.co_firstlineno - line))
        if code.co_name == "<lambda>":
            return self._find_lambda(code)
        node = self.functions.get((code.co_firstlineno, code.co_name))
        return node if node is not None and _parameters(node.args) == parameters_of(code) else None

    def has(self, cls: type, filename: str) -> bool:
        """Whether the class may be the one that the file defines: its methods are there."""
        codes = [member.__code__ for member in vars(cls).values() if type(member) is FunctionType]
        own = (code for code in codes if code.co_filename == filename)
        return self._codes is None or all(_describe_code(code) in self._codes for code in own)

    def _find_lambda(self, code: CodeType) -> ast.Lambda | None:
        """Several lambdas may share a line; instructions know their columns."""
        found = [
            node
            for node in self.lambdas.get(code.co_firstlineno, ())
            if _parameters(node.args) == parameters_of(code)
        ]
        if len(found) > 1:
            spans = set(code.co_positions())
            found = [node for node in found if _span(node.body) in spans]
        return found[0] if len(found) == 1 else None

    def visit_FunctionDef(self, node: _Function) -> None:
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        self.functions[first, node.name] = node
        self._define(node)
        self._inside(node, node.name, "<locals>")

    visit_AsyncFunctionDef = visit_FunctionDef

    def _define(self, node: _Definition) -> None:
        self._decorators[node] = node.decorator_list
        if not self._scope:
            self._definitions.setdefault(node.name, []).append((self._heads, node.decorator_list, node))
            self._top = node

    def visit_Global(self, node: ast.Global) -> None:
        if self._scope:
            for name in node.names:
                self._assignments.setdefault(name, []).append((self._heads, self._top))

    def visit_Expr(self, node: ast.Expr) -> None:
        self._assignment(node, self._changed(node.value) if isinstance(node.value, ast.Call) else [])

    def _changed(self, call: ast.Call) -> list[ast.expr]:
        """What a call whose result nobody takes was there to change: the object of the method, and what it was given,
        unless it runs the program. In a cell it may be there to be shown: only methods that are known to change do."""
        method = [call.func] if isinstance(call.func, ast.Attribute) else []
        if self._is_cell:
            return [each for each in method if each.attr in MUTATING]
        decorators = (each for _, found, _ in self._definitions.get(_root(call.func), ()) for each in found)
        runs = any(map(self._is_flowfns, decorators)) or "__name__" in map(_root, self._heads)
        given = [*call.args, *(each.value for each in call.keywords)]
        return [*method, *(each for each in given if isinstance(each, ast.Name) and not runs)]

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
        for target in targets if not self._scope else ():
            for each in ast.walk(target):
                if isinstance(each, ast.Name):
                    self._assignments.setdefault(each.id, []).append((self._heads, node))

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for name, module, original in () if self._scope else imports_in(node):
            if name == "*":
                self.stars.append(module)
            else:
                self.imports.setdefault(name, []).append((module, original))

    visit_ImportFrom = visit_Import

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.lambdas.setdefault(node.lineno, []).append(node)
        self._inside(node, "<lambda>", "<locals>")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.classes.setdefault(".".join([*self._scope, node.name]), []).append(node)
        self._define(node)
        self._inside(node, node.name)

    def _inside(self, node: ast.AST, *scope: str) -> None:
        self._scope.extend(scope)
        self.generic_visit(node)
        del self._scope[-len(scope) :]


def _root(expression: ast.expr) -> str:
    """The name that an expression begins with."""
    return ast.unparse(expression).partition(".")[0].partition(" ")[0]


def _gives(statement: _Binding, name: str) -> bool:
    """Whether a statement gives a name a value of its own; of a plain assignment what is assigned may be all of it."""
    nodes = (each for each in ast.walk(statement) if isinstance(each, ast.Name) and each.id == name)
    is_stored = {type(each.ctx) is ast.Store for each in nodes}
    if isinstance(statement, ast.Expr):
        return not is_stored
    if isinstance(statement, _Definition):
        return statement.name == name
    return is_stored == {True} and not isinstance(statement, ast.AugAssign)


def _changes_a_part(statement: _Binding, name: str) -> bool:
    """Whether a statement surely changes what an object has that is called so: by its attributes, or `setattr`."""
    if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
        match call.func:
            case ast.Attribute(value=ast.Attribute(), attr=method):
                return method in MUTATING
            case ast.Name(id=function):
                return function in ("setattr", "delattr")
        return False
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


def _defined(decorators: list[ast.expr], node: _Definition) -> str:
    """A function or class below its decorators, which it has no longer itself."""
    return "\n".join([*(f"@{_decorator(each)}" for each in decorators), ast.unparse(node)])


def _decorator(node: ast.expr) -> str:
    """A decorator, which is no part of what it is of, and so isn't reduced with that."""
    return ast.unparse(_Reducer().visit(node))


def _span(node: ast.expr) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _parameters(arguments: ast.arguments) -> list[str]:
    named = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    return [each.arg for each in named if each is not None]


_indexes: dict[str, tuple[list[str], Index | None]] = {}


def index_of(filename: str) -> Index | None:
    """The index of a file, parsed anew only if the file has changed."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    known = _indexes.get(filename)
    if known is None or known[0] is not lines:
        known = _indexes[filename] = (lines, _parse(filename, lines))
    return known[1]


@lru_cache(maxsize=4096)
def index_of_text(text: str) -> Index | None:
    """The index of code that is in no file."""
    return _parse("", text.splitlines(keepends=True))


def _parse(filename: str, lines: list[str]) -> Index | None:
    text = "".join(lines)
    try:
        tree = parse(text)
        changed = _changed_at(filename) - BEGAN
        now = compile(text, filename, "exec", dont_inherit=True) if changed > -_SLACK else None
    except (SyntaxError, ValueError):
        return None
    # Before decorators go: the first of them is where a function begins.
    codes = None if now is None else _codes(now)
    index = Index(tree, lines, codes, is_older=changed < _STARTING, is_cell=not filename)
    _Reducer().visit(tree)
    return index


def parse(text: str) -> ast.Module:
    """The syntax tree of a module.

    Before Python 3.11.5 one is refused where the garbage collector runs meanwhile and somebody's error is shown, which
    parses the lines that it shows (python/cpython#106905): then it is parsed again.
    """
    try:
        return ast.parse(text)
    except SystemError:
        return ast.parse(text)


def _changed_at(filename: str) -> float:
    """When a file was written, or took another one's place, in seconds since the epoch; 0 where nothing says so."""
    try:
        found = os.stat(filename)
    except (OSError, ValueError):
        return 0.0
    return max(found.st_mtime, found.st_ctime)


def _codes(module: CodeType) -> dict[str, list[CodeType]]:
    """All code inside a module's, by what describes it."""
    found: dict[str, list[CodeType]] = {}
    for function in code_inside(module):
        for code in all_code(function):
            found.setdefault(_describe_code(code), []).append(code)
    return found


# -- reducing -------------------------------------------------------------------------------------


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

    def visit_FunctionDef(self, node: _Function) -> ast.AST:
        node.returns = node.type_comment = None
        self._strip(node)
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def _strip(self, node: _Function | ast.ClassDef) -> None:
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


# -- code without source --------------------------------------------------------------------------


def _describe(code: CodeType) -> str:
    """A text of the compiled code, equal in every process of one Python minor version."""
    minor = f"python {sys.version_info.major}.{sys.version_info.minor}"
    return f"{minor}\n{_describe_code(code)}"


def _describe_code(code: CodeType) -> str:
    names = (code.co_name, code.co_varnames, code.co_names, code.co_freevars, code.co_flags)
    constants = ", ".join(map(_describe_constant, code.co_consts))
    return f"{names!r} {code.co_code.hex()} [{constants}]"


def _describe_constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return _describe_code(value)
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(_describe_constant, value))) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_describe_constant, value)) + ")"
    return repr(value)


def _names_of_code(code: CodeType) -> frozenset[Chain]:
    """All names, and all pairs of them: which is whose attribute cannot be seen."""
    names = [*code.co_names, *code.co_freevars]
    chains: set[Chain] = {(name,) for name in names}
    chains.update((root, name) for root in names for name in code.co_names)
    return frozenset(chains).union(*map(_names_of_code, code_inside(code)))
