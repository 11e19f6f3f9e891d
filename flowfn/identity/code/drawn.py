"""Whether a name has another value in each process: the time at which its module was loaded, or what was drawn there.

Rule: both have to say so. The value is one that a glance can't clear of being a time or random, and the line that makes
it names the clock or a source of chance itself. A token that the environment has, a measure with many digits and what
a function of the project's reads from a file are inputs; so is a day, which is one value for many processes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from datetime import date, datetime
from types import ModuleType
from typing import Any

from flowfn.identity.code.assigned import lines
from flowfn.identity.code.scopes import Chain, names_in
from flowfn.identity.code.source import parse
from flowfn.identity.forms.canonical import Walk

__all__ = ["is_drawn", "names_a_source"]

_CLOCKS = frozenset({"time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime"})
_OF_A_DATETIME = frozenset({"now", "utcnow", "today"})
_CHANCE: Mapping[str, frozenset[str]] = {
    "uuid": frozenset({"uuid1", "uuid4", "uuid6", "uuid7"}),
    "tempfile": frozenset({"mkdtemp", "mkstemp", "mktemp"}),
    "posix": frozenset({"urandom"}),
    "nt": frozenset({"urandom"}),
}
"""By the module that a function says it is of."""

_WRITTEN = 8
"""Characters of a number that people write."""

_DAY = re.compile(r"\d{4}([-/._]?)\d\d\1\d\d")


def is_drawn(value: Any, namespace: Mapping[str, Any], name: str) -> bool:
    """Whether a constant that a module of the project's has under a name was the time, or drawn at random."""
    return _may_be_drawn(value) and any(_draws(text, there) for there, text in lines(namespace, name))


def _may_be_drawn(value: Any) -> bool:
    if type(value) is date or (isinstance(value, str) and _DAY.fullmatch(value)):
        return False
    if isinstance(value, float):  # the seconds since a computer began are no great number
        return len(repr(value)) > _WRITTEN
    walk = Walk()
    walk.walk(value, "")
    return walk.suspect


def _draws(text: str, namespace: Mapping[str, Any]) -> bool:
    """Whether a line names the clock or a source of chance."""
    try:
        names = names_in(parse(text))
    except SyntaxError:  # a long table as it stands in a block
        return False
    return any(_is_source(_meant(chain, namespace)) for chain in names)


def names_a_source(value: ast.expr, namespace: Mapping[str, Any]) -> bool:
    """Whether an expression in a module names the clock or a source of chance."""
    return any(_is_source(_meant(chain, namespace)) for chain in names_in(ast.Expression(value)))


def _meant(chain: Chain, namespace: Mapping[str, Any]) -> Any:
    """What a dotted name means in a module; nothing is looked at but modules and datetimes."""
    root, *rest = chain
    found = namespace.get(root)
    for name in rest:
        if isinstance(found, ModuleType):
            found = vars(found).get(name)
        else:
            is_datetime = isinstance(found, type) and issubclass(found, datetime)
            found = getattr(found, name, None) if is_datetime else None
    return found


def _is_source(value: Any) -> bool:
    try:
        name, module, owner = value.__name__, value.__module__, getattr(value, "__self__", None)
    except Exception:  # no function, or a proxy with nothing behind it
        return False
    if isinstance(value, type):
        return False
    if isinstance(owner, type):
        return issubclass(owner, datetime) and name in _OF_A_DATETIME
    if module == "time":
        return name.removesuffix("_ns") in _CLOCKS
    return module == "secrets" or name in _CHANCE.get(str(module), ()) or _is_unseeded(owner)


def _is_unseeded(owner: Any) -> bool:
    """Whether it draws for the functions of `random`, or from the system; who has another one has its seed."""
    random = sys.modules.get("random")
    if owner is None or random is None:
        return False
    return owner is random._inst or isinstance(owner, random.SystemRandom)
