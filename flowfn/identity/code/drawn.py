"""Whether a name has another value in each process: the time at which its module was loaded, or what was drawn there.

Rule: the line that makes it says so, or one that makes what that line names. Where one draws by chance, the value is
another one in each process, whatever it looks like. Of a clock only what a glance can't clear of being a time is: a
day, or a year, is one value for many processes. A token that the environment has, a measure with many digits, what a
seed gives and what a function of the project's reads from a file are inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from time import struct_time
from typing import Any

from flowfn.identity.code.assigned import lines_making
from flowfn.identity.code.chance import Source, called_without_a_seed, meant, source_of
from flowfn.identity.code.index import parse
from flowfn.identity.code.scopes import names_in, parts_of_names
from flowfn.identity.constant import is_constant
from flowfn.identity.forms.canonical import Walk

__all__ = ["is_drawn"]

_WRITTEN = 8
"""Characters of a number that people write."""

_DAY = re.compile(r"\d{4}([-/._]?)\d\d\1\d\d")
_MOMENT = re.compile(r"\d\d:\d\d")

_WITHIN_A_DAY = re.compile(r"%[-#]?[HIMSfXcTrRs]")
"""What of a moment is written, where that is more than its day."""


def is_drawn(value: Any, namespace: Mapping[str, Any], name: str) -> bool:
    """Whether a constant that a module of the project's has under a name was the time, or drawn at random."""
    found = set(_sources(namespace, name, set()))
    return "chance" in found or ("clock" in found and _may_be_a_time(value))


def _may_be_a_time(value: Any) -> bool:
    if type(value) is date or (isinstance(value, str) and _DAY.fullmatch(value)):
        return False
    if isinstance(value, float):  # the seconds since a computer began are no great number
        return len(repr(value)) > _WRITTEN
    if isinstance(value, timedelta):
        return bool(value.microseconds)
    if isinstance(value, struct_time) or (isinstance(value, str) and _MOMENT.search(value)):
        return True
    walk = Walk()
    walk.walk(value, "")
    return walk.suspect


def _sources(namespace: Mapping[str, Any], name: str, seen: set[tuple[int, str]]) -> Iterator[Source]:
    """What the lines that make a value draw from, and those that make what these name."""
    if (id(namespace), name) in seen:
        return
    seen.add((id(namespace), name))
    for there, text in lines_making(namespace, name):
        try:
            tree = parse(text)
        except SyntaxError:  # a long table as it stands in a block
            continue
        yield from called_without_a_seed(tree, there)
        for chain in parts_of_names(names_in(tree)):
            value = meant(chain, there)
            if (source := source_of(value)) is not None:
                yield source
                if source == "clock" and _WITHIN_A_DAY.search(text):
                    yield "chance"
            elif len(chain) == 1 and (is_constant(value) or type(value) in (list, dict, set)):
                yield from _sources(there, chain[0], seen)
