"""Where in a function's code a call stands, told by what its lines name and not by their numbers.

Rule: a call without arguments (`flowfn.uuid4()`) is told from others by the lines that lead to it, from its own out to
the function that it is recorded under. What is inserted around a line, or moved, changes it as little as the version of
Python. Lines of libraries, such as a decorator's, don't count, nor does the name of that function.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from types import CodeType, FrameType, FunctionType
from typing import Any

from flowfn.identity.code.compiled import all_code
from flowfn.identity.code.fingerprint import reached
from flowfn.identity.code.unwrapping import code_of, unwrapped
from flowfn.python.project import is_own_module

__all__ = ["body_of", "leading_to", "lines_of"]

_ATOMS = (str, bytes, int, float, complex)
_NAMING = frozenset((*dis.hasname, *dis.haslocal, *dis.hasfree, *dis.hasconst))


def leading_to(frame: FrameType, outermost: CodeType | None, began: FrameType | None = None) -> list[bytes]:
    """The lines that lead to a call which is being made in `frame`, its own first, out to that of `outermost`.

    `began` is what began the branch of asyncio code that this is, whether the loop runs it or, as eager tasks, what
    made it. Where neither is under way there, as on a thread of the code's own, they lead out to a library's.
    """
    found: list[bytes] = []
    library: int | None = None
    each: FrameType | None = frame
    while each is not None:
        if is_own_module(each.f_globals.get("__name__", "")):
            found.append(_lines(each.f_code, each.f_code is not outermost).get(each.f_lineno, b""))
        elif library is None:
            library = len(found)
        if each.f_code is outermost or each is began:
            return found
        each = each.f_back
    return found[:library]


def body_of(function: Any) -> CodeType | None:
    """The code of a function under all its wrappers, if it has any."""
    return getattr(unwrapped(function), "__code__", None)


def lines_of(function: Any) -> frozenset[bytes]:
    """All lines of the project's code that a function leads to."""
    outermost = body_of(function)
    codes = (code for unit in reached(function) for code in _codes_of(unit))
    return frozenset(line for code in codes for line in _lines(code, code is not outermost).values())


def _codes_of(unit: Any) -> Iterator[CodeType]:
    """The code of a function, or of all methods of a class, and what is inside it."""
    members = [unit] if type(unit) is FunctionType else vars(unit).values()
    for member in members:
        for code in code_of(member):
            yield from all_code(code)


@lru_cache(maxsize=1024)
def _lines(code: CodeType, named: bool) -> dict[int, bytes]:
    """The lines of a function's code, each by its names and constants: Pythons differ in the instructions for it.

    `named`: by the function's name as well.
    """
    words: dict[int, set[str]] = {}
    for step in dis.get_instructions(code):
        if step.opcode in _NAMING and step.positions is not None and step.positions.lineno is not None:
            words.setdefault(step.positions.lineno, set()).update(_words(step.argval))
    name = code.co_name if named else ""
    texts = {number: "\n".join([name, *sorted(found)]) for number, found in words.items()}
    return {
        number: sha256(text.encode("utf-8", "surrogatepass")).digest()[:8] for number, text in texts.items()
    }


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, tuple):
        for each in value:
            yield from _words(each)
    elif type(value) in _ATOMS:
        yield str(value)
