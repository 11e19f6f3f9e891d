"""What compiled code says in words: the names, constants and operators in it.

Rule: they are the same on every Python, and in the order in which they run. What a comprehension says stands where it
runs, as it has code of its own before Python 3.12. Nothing is said twice, as one Python repeats a condition or the end
of a block, and another doesn't; and what handles errors has its words in alphabetical order, as its blocks stand
elsewhere on each. So code that says other words is other code, and code that says the same may be.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from types import CodeType
from typing import Any

__all__ = ["words_of"]

_ATOMS = frozenset({type(...), bool, int, float, complex, str, bytes})
_CONSTANTS = ("LOAD_CONST", "RETURN_CONST", "LOAD_SMALL_INT")
_SIGNS = ("UNARY_NEGATIVE", "UNARY_INVERT")
_RUN_LATER = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def words_of(code: CodeType) -> list[str]:
    """The words of code, and of all that is inside it."""
    return list(dict.fromkeys(_words(code)))


def _words(code: CodeType) -> Iterable[str]:
    steps = list(dis.get_instructions(code))
    handles_errors = any(step.opname == "PUSH_EXC_INFO" for step in steps)
    return sorted(_as_it_runs(code, steps)) if handles_errors else _as_it_runs(code, steps)


def _as_it_runs(code: CodeType, steps: list[dis.Instruction]) -> Iterator[str]:
    later: list[CodeType] = []
    for step in steps:
        said = step.argval
        if step.opname == "KW_NAMES":  # which Python 3.11 doesn't look up
            yield from _constant(code.co_consts[step.arg or 0])
        elif step.opname in _CONSTANTS and isinstance(said, CodeType):
            if said.co_name in _RUN_LATER:
                later.append(said)
            else:
                yield from _words(said)
        elif step.opname in _CONSTANTS:
            yield from _constant(said)
        elif step.opname == "GET_ITER" and later:
            yield from _words(later.pop())
        elif step.opcode in dis.hasname:
            yield str(said)
        else:
            yield from _operator(step)
    for each in later:
        yield from _words(each)


def _constant(value: Any) -> Iterator[str]:
    """An atom; of a tuple, or a set, those in it. Python 3.13 has docstrings without their indentation."""
    if type(value) is str:
        yield repr(cleandoc(value))
    elif type(value) in _ATOMS:
        yield repr(value)
    elif type(value) is tuple:
        for each in value:
            yield from _constant(each)
    elif type(value) is frozenset:
        yield from sorted(word for each in value for word in _constant(each))


def _operator(step: dis.Instruction) -> Iterator[str]:
    if step.opname == "BINARY_OP" and not step.argrepr.startswith("["):
        yield step.argrepr
    elif step.opname == "COMPARE_OP":
        yield str(step.argval)
    elif step.opname in _SIGNS:
        yield step.opname
