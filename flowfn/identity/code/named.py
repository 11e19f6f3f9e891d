"""What each line of a function's code names: variables, attributes, keywords and constants.

Rule: what is written, and the same on every Python. Compilers differ in the instructions for it, and add some for
variables that nobody wrote there: for the end of an `except … as error`, for a comprehension within a function's code,
and for `super()`.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from flowfn.identity.code.compiled import code_inside

__all__ = ["COMPREHENSIONS", "named_by_line"]

COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>")
"""The names of comprehensions that have code of their own, as before Python 3.12: a part of the code around."""
_ITERATED = ".0"
"""What such code calls that which it goes over."""
_ATOMS = (str, bytes, int, float, complex)
_SMALL = dis.opmap.get("LOAD_SMALL_INT")  # a constant of Python 3.14's
_NAMING = frozenset((*dis.hasname, *dis.haslocal, *dis.hasfree, *dis.hasconst, _SMALL))
_KEYWORDS = dis.opmap.get("KW_NAMES")

Span = Any
"""From where to where in the source an instruction is of."""


def named_by_line(code: CodeType) -> dict[int, set[str]]:
    """What the lines of code name, and of the comprehensions in it, by the number of the line."""
    found: dict[int, set[str]] = {}
    for line, value in _named(code):
        found.setdefault(line, set()).update(_words(value))
    return found


def _named(code: CodeType) -> Iterator[tuple[int, Any]]:
    steps = [*dis.get_instructions(code)]
    added, carried = _added(steps), _carried(steps)
    for place, step in enumerate(steps):
        span = step.positions
        if step.opcode in _NAMING and place not in added and span is not None and span.lineno is not None:
            value = _value_of(step, code)
            yield span.lineno, _but_for(carried[span], value) if span in carried else value
    for inside in code_inside(code):
        if inside.co_name in COMPREHENSIONS:
            yield from ((line, value) for line, value in _named(inside) if value != _ITERATED)


def _value_of(step: dis.Instruction, code: CodeType) -> Any:
    """What an instruction names: `dis` of Python 3.11 doesn't know the keywords of a call."""
    return code.co_consts[step.arg] if step.opcode == _KEYWORDS and step.arg is not None else step.argval


def _added(steps: Sequence[dis.Instruction]) -> set[int]:
    """The places of instructions that forget the error of a handler, or that load what `super()` is of."""
    found: set[int] = set()
    for place, (first, second, third) in enumerate(zip(steps, steps[1:], steps[2:], strict=False)):
        if third.opname == "LOAD_SUPER_ATTR" and first.argval == "__class__":
            found |= {place, place + 1}
        elif third.opname.startswith("DELETE_") and second.argval == third.argval and first.argval is None:
            found |= {place + 1, place + 2}
    return found


def _carried(steps: Sequence[dis.Instruction]) -> dict[Span, set[Any]]:
    """The variables that are carried into comprehensions, or kept from them, by where these stand."""
    made = {each.positions for each in steps if getattr(each.argval, "co_name", "") in COMPREHENSIONS}
    found: dict[Span, set[Any]] = {}
    for step in steps:
        span = step.positions
        if step.opname == "LOAD_FAST_AND_CLEAR" or (step.opname == "LOAD_CLOSURE" and span in made):
            found.setdefault(span, set()).add(step.argval)
    return found


def _but_for(carried: set[Any], value: Any) -> Any:
    """What is left of one variable, or of several that one instruction is for."""
    return tuple(each for each in (value if type(value) is tuple else (value,)) if each not in carried)


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, tuple):
        for each in value:
            yield from _words(each)
    elif type(value) in _ATOMS:
        yield str(value)
