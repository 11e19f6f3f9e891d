"""Whether a name has another value in each process: the time at which its module was loaded, or what was drawn there.

Rule: the line that makes it says so, or one that makes what that line names. Where one draws by chance, the value is
another one in each process, whatever it looks like. Of a clock only what a glance can't clear of being a time is: a
day, or a year, is one value for many processes. A token that the environment has, a measure with many digits, what a
seed gives and what a function of the project's reads from a file are inputs.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from time import struct_time
from types import ModuleType
from typing import Any, Literal

from flowfn.identity.code.assigned import lines
from flowfn.identity.code.scopes import Chain, names_in
from flowfn.identity.code.source import parse
from flowfn.identity.code.unwrapping import attribute
from flowfn.identity.constant import is_constant
from flowfn.identity.forms.canonical import Walk
from flowfn.python.project import is_own

__all__ = ["is_drawn", "names_a_source"]

_Source = Literal["chance", "clock"]

_NOW = frozenset({"now", "utcnow", "today"})
_CLOCKS: Mapping[str, frozenset[str]] = {
    "time": frozenset(
        {
            *("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime"),
            *("strftime", "gmtime", "localtime", "ctime", "asctime"),
        }
    ),
    "builtins": frozenset({"hash", "id"}),  # of a number it's the same in all processes, and small
}
_OF_THE_SYSTEM = frozenset({"urandom", "getpid", "getppid"})
_OF_FILES = {"mkdtemp", "mkstemp", "mktemp", "NamedTemporaryFile", "TemporaryDirectory", "TemporaryFile"}
_CHANCE: Mapping[str, frozenset[str]] = {
    "uuid": frozenset({"uuid1", "uuid4", "uuid6", "uuid7"}),
    "tempfile": frozenset(_OF_FILES),
    "posix": _OF_THE_SYSTEM,
    "nt": _OF_THE_SYSTEM,
    "_thread": frozenset({"get_ident", "get_native_id"}),
    "random": frozenset({"SystemRandom"}),
}
"""By the module that a function or class says it is of."""

_UNSEEDED = {
    "random": frozenset({"Random"}),
    "numpy.random": frozenset({"default_rng"}),
    "numpy.random._generator": frozenset({"default_rng"}),
    "numpy.random.mtrand": frozenset({"RandomState"}),
}
"""What draws by chance if it is given no seed."""

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


def _sources(namespace: Mapping[str, Any], name: str, seen: set[tuple[int, str]]) -> Iterator[_Source]:
    """What the lines that make a value draw from, and those that make what these name."""
    if (id(namespace), name) in seen:
        return
    seen.add((id(namespace), name))
    for text, there in [(text, there) for there, text in lines(namespace, name)]:
        try:
            tree = parse(text)
        except SyntaxError:  # a long table as it stands in a block
            continue
        yield from _drawn_by_calls(tree, there)
        for chain in names_in(tree):
            meant = _meant(chain, there)
            if (source := _source(meant)) is not None:
                yield source
                if source == "clock" and _WITHIN_A_DAY.search(text):
                    yield "chance"
            elif len(chain) == 1 and (is_constant(meant) or type(meant) in (list, dict, set)):
                yield from _sources(there, chain[0], seen)


def _drawn_by_calls(tree: ast.AST, namespace: Mapping[str, Any]) -> Iterator[_Source]:
    """What draws as it is given no seed."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and not (call.args or call.keywords):
            meant = _meant(tuple(ast.unparse(call.func).split(".")), namespace)
            name, module = (str(attribute(meant, each)) for each in ("__name__", "__module__"))
            if name in _UNSEEDED.get(module, ()):
                yield "chance"


def names_a_source(value: ast.expr, namespace: Mapping[str, Any]) -> bool:
    """Whether an expression in a module names the clock or a source of chance."""
    return any(_source(_meant(chain, namespace)) is not None for chain in names_in(ast.Expression(value)))


def _meant(chain: Chain, namespace: Mapping[str, Any]) -> Any:
    """What a dotted name means in a module; nothing is looked at but modules and datetimes."""
    root, *rest = chain
    found = namespace[root] if root in namespace else getattr(builtins, root, None)
    for name in rest:
        if isinstance(found, ModuleType):
            found = vars(found).get(name)
        else:
            is_datetime = isinstance(found, type) and issubclass(found, datetime)
            found = getattr(found, name, None) if is_datetime else None
    return found


def _source(value: Any) -> _Source | None:
    """What a function or class draws from; None of any other."""
    try:
        name, module, owner = value.__name__, str(value.__module__), getattr(value, "__self__", None)
    except Exception:  # no function, or a proxy with nothing behind it
        return None
    if module == "secrets" or name in _CHANCE.get(module, ()) or _is_unseeded(owner):
        return "chance"
    if isinstance(value, type):
        return None
    if isinstance(owner, type):
        return "clock" if issubclass(owner, datetime) and name in _NOW else None
    if name.removesuffix("_ns") in _CLOCKS.get(module, ()):
        return "clock"
    return "clock" if name in _NOW and callable(value) and not is_own(value) else None


def _is_unseeded(owner: Any) -> bool:
    """Whether it draws for the functions of `random` or numpy's, or from the system; who has another one has its
    seed."""
    random = sys.modules.get("random")
    if owner is None or random is None:
        return False
    of_numpy = getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None)
    return owner is random._inst or owner is of_numpy or isinstance(owner, random.SystemRandom)
