"""What each line of a function's code names: variables, attributes, keywords and constants.

Rule: what is written, and the same on every Python. Compilers differ in the instructions for it, and add some for
variables that nobody wrote there: for the end of an `except … as error`, for a comprehension within a function's code,
for `super()`, and for what a class says of its source. A keyword of a call over several lines is of the line on which
its value begins: where it stands itself no instruction says. So is a text of an f-string that goes over several lines
of that of the value behind it, or of the last value, as Python 3.11 doesn't tell where it stands. An empty text is
nothing: some have one where a value's format is made of others.
"""

from __future__ import annotations

import dis
import sys
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
_JUMPS = ("JUMP_FORWARD", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE")
"""What Python 3.11 alone has, and is of all of `a if b else c`."""
_OF_SOURCE = ("__firstlineno__", "__static_attributes__")
"""What a class says of its source since Python 3.13."""
_KNOWS_TEXTS = sys.version_info >= (3, 12)
"""Whether a text of an f-string has its own place, and not that of the whole."""

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
    added, carried, texts, keywords = _added(steps), _carried(steps), _texts(steps), _keywords(steps, code)
    for place, step in enumerate(steps):
        span: Span = step.positions
        if place in keywords:
            yield from zip(keywords[place], _value_of(step, code), strict=True)
        elif _names(step) and place not in added:
            value = _value_of(step, code)
            yield texts.get(place, span.lineno), _but_for(carried[span], value) if span in carried else value
    for inside in code_inside(code):
        if inside.co_name in COMPREHENSIONS:
            yield from ((line, value) for line, value in _named(inside) if value != _ITERATED)


def _names(step: dis.Instruction) -> bool:
    """Whether it names something, on a line."""
    span: Span = step.positions
    return step.opcode in _NAMING and span is not None and span.lineno is not None


def _value_of(step: dis.Instruction, code: CodeType) -> Any:
    """What an instruction names: `dis` of Python 3.11 doesn't know the keywords of a call."""
    return code.co_consts[step.arg] if step.opcode == _KEYWORDS and step.arg is not None else step.argval


def _added(steps: Sequence[dis.Instruction]) -> set[int]:
    """The places of instructions that forget the error of a handler, load what `super()` is of, or tell of a class."""
    found: set[int] = set()
    for place, step in enumerate(steps):
        if step.opname == "STORE_NAME" and step.argval in _OF_SOURCE:
            found |= {place - 1, place}
    for place, (first, second, third) in enumerate(zip(steps, steps[1:], steps[2:], strict=False)):
        if third.opname == "LOAD_SUPER_ATTR" and first.argval == "__class__":
            found |= {place, place + 1}
        elif third.opname.startswith("DELETE_") and second.argval == third.argval and first.argval is None:
            found |= {place + 1, place + 2}
    return found


def _keywords(steps: Sequence[dis.Instruction], code: CodeType) -> dict[int, list[int]]:
    """The places of the keywords of calls over several lines, and the line on which the value of each begins.

    Where the values can't be told from each other, as one that is of several, `a if b else c`, they stay on the call's.
    """
    found: dict[int, list[int]] = {}
    for place, step in enumerate(steps):
        if step.opcode == _KEYWORDS:
            call = next(steps[at] for at in range(place, len(steps)) if steps[at].opname == "CALL")
        elif step.opname == "CALL_KW":
            call, place = step, next(at for at in range(place, 0, -1) if steps[at].opname == "LOAD_CONST")
        else:
            continue
        whole: Span = call.positions
        if not _is_over_lines(whole):
            continue
        values = _outermost(steps, place, whole)[1:]  # behind what is called
        if len(values) == call.argval:
            found[place] = [span.lineno for span in values[-len(_value_of(steps[place], code)) :]]
    return found


def _outermost(steps: Sequence[dis.Instruction], end: int, whole: Span) -> list[Span]:
    """From where to where the expressions go that make up one whose instructions end before a place, in their order."""
    found: list[Span] = []
    for place in _within(steps, end, whole):
        span: Span = steps[place].positions
        if span == whole or steps[place].opname in _JUMPS:
            continue
        while found and _is_within(found[-1], span):
            found.pop()
        if not found or not _is_within(span, found[-1]):
            found.append(span)
    return found[::-1]


def _texts(steps: Sequence[dis.Instruction]) -> dict[int, int]:
    """The places of the texts in f-strings over several lines, and the line that each is of."""
    found: dict[int, int] = {}
    for end, built in enumerate(steps):
        whole: Span = built.positions
        if built.opname == "BUILD_STRING" and _is_over_lines(whole):
            inside = [*_within(steps, end, whole)][::-1]
            texts = _texts_of(whole, steps, inside)
            found |= _by_values(texts, [place for place in inside if place not in texts], steps, whole.lineno)
    return found


def _texts_of(whole: Span, steps: Sequence[dis.Instruction], inside: Sequence[int]) -> set[int]:
    """Which of the places inside an f-string are those of its own texts."""
    spans: dict[int, Span] = {place: steps[place].positions for place in inside}
    if not _KNOWS_TEXTS:
        return {
            place for place, span in spans.items() if span == whole and steps[place].opname == "LOAD_CONST"
        }
    values = [span for place, span in spans.items() if steps[place].opname.startswith("FORMAT_")]
    return {
        place
        for place, span in spans.items()
        if steps[place].opname == "LOAD_CONST" and not any(_is_within(span, value) for value in values)
    }


def _by_values(
    texts: set[int], values: Sequence[int], steps: Sequence[dis.Instruction], first: int
) -> dict[int, int]:
    """The lines of texts, by the values before and behind them; the first one where there are none."""
    spans: list[tuple[int, Span]] = [
        (place, steps[place].positions) for place in values if _names(steps[place])
    ]
    last = spans[-1][1].lineno if spans else first
    return {text: next((span.lineno for place, span in spans if place > text), last) for text in texts}


def _within(steps: Sequence[dis.Instruction], end: int, whole: Span) -> Iterator[int]:
    """The places before one whose instructions are of the same expression, from the last to the first."""
    for place in range(end - 1, -1, -1):
        span: Span = steps[place].positions
        if span is None or span.col_offset is None:
            continue
        if not _is_within(span, whole):
            return
        yield place


def _is_over_lines(span: Span) -> bool:
    """Whether it goes over several lines, and says so: with `-X no_debug_ranges` none does."""
    return span is not None and span.col_offset is not None and span.lineno != span.end_lineno


def _is_within(span: Span, whole: Span) -> bool:
    begins = (whole.lineno, whole.col_offset) <= (span.lineno, span.col_offset)
    return begins and (span.end_lineno, span.end_col_offset) <= (whole.end_lineno, whole.end_col_offset)


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
    elif type(value) in _ATOMS and value != "":
        yield str(value)
