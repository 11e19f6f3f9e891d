"""What gives another value each time: the clock, and sources of chance.

Rule: code names one itself; what its modules and datetimes have under a name is looked at, and nothing is called.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import ModuleType
from typing import Any, Literal

from flowfn.identity.code.scopes import Chain, names_in
from flowfn.identity.code.unwrapping import attribute
from flowfn.python.project import is_own

__all__ = ["Source", "called_without_a_seed", "meant", "names_a_source", "source_of"]

Source = Literal["chance", "clock"]

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


def names_a_source(tree: ast.AST, namespace: Mapping[str, Any]) -> bool:
    """Whether code in a module names the clock or a source of chance."""
    return any(source_of(meant(chain, namespace)) is not None for chain in names_in(tree))


def called_without_a_seed(tree: ast.AST, namespace: Mapping[str, Any]) -> Iterator[Source]:
    """What code draws as it gives no seed to what takes one."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and not (call.args or call.keywords):
            called = meant(tuple(ast.unparse(call.func).split(".")), namespace)
            name, module = (str(attribute(called, each)) for each in ("__name__", "__module__"))
            if name in _UNSEEDED.get(module, ()):
                yield "chance"


def meant(chain: Chain, namespace: Mapping[str, Any]) -> Any:
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


def source_of(value: Any) -> Source | None:
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
