"""Where a file has its functions, lambdas and classes.

Rule: files are parsed whole and once, so that a function is found by its position in the tree and never by guessing
where its text ends. A file that was changed while the process ran needn't be what the process runs: of such a file only
that counts which is compiled to the very code.
"""

from __future__ import annotations

import ast
import linecache
import os
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Final

from flowfn.identity.code.compiled import all_code, code_inside, parameters_of
from flowfn.identity.code.reducing import Function, reduce
from flowfn.identity.code.top import Top
from flowfn.identity.code.unsourced import instructions_of
from flowfn.python.began import BEGAN

__all__ = ["Index", "index_of", "index_of_text", "parse"]

_SLACK: Final = 1.0
"""Seconds by which the clock of a file system may be behind."""
_STARTING: Final = 0.1
"""Seconds that a process takes before it reads a module, and by which its beginning may be told too early."""


class Index(Top):
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
        super().__init__(lines, is_cell=is_cell)
        self._codes = codes
        self.is_older = is_older
        self._functions: dict[tuple[int, str], Function] = {}
        self._lambdas: dict[int, list[ast.Lambda]] = {}
        self.classes: dict[str, list[ast.ClassDef]] = {}
        self.visit(tree)

    def visit_FunctionDef(self, node: Function) -> None:
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        self._functions[first, node.name] = node
        super().visit_FunctionDef(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._lambdas.setdefault(node.lineno, []).append(node)
        super().visit_Lambda(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.classes.setdefault(".".join([*self._scope, node.name]), []).append(node)
        super().visit_ClassDef(node)

    def find(self, code: CodeType) -> ast.AST | None:
        """The node that the code was compiled from, or None if the file no longer has it."""
        if self._codes is not None:
            same = self._codes.get(instructions_of(code))
            if same is None:
                return None
            line = code.co_firstlineno
            code = min(same, key=lambda each: abs(each.co_firstlineno - line))
        if code.co_name == "<lambda>":
            return self._find_lambda(code)
        node = self._functions.get((code.co_firstlineno, code.co_name))
        return node if node is not None and _parameters(node.args) == parameters_of(code) else None

    def has(self, cls: type, filename: str) -> bool:
        """Whether the class may be the one that the file defines: its methods are there."""
        codes = [member.__code__ for member in vars(cls).values() if type(member) is FunctionType]
        own = (code for code in codes if code.co_filename == filename)
        return self._codes is None or all(instructions_of(code) in self._codes for code in own)

    def _find_lambda(self, code: CodeType) -> ast.Lambda | None:
        """Several lambdas may share a line; instructions know their columns."""
        found = [
            node
            for node in self._lambdas.get(code.co_firstlineno, ())
            if _parameters(node.args) == parameters_of(code)
        ]
        if len(found) > 1:
            spans = set(code.co_positions())
            found = [node for node in found if _span(node.body) in spans]
        return found[0] if len(found) == 1 else None


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
    reduce(tree)
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
            found.setdefault(instructions_of(code), []).append(code)
    return found
