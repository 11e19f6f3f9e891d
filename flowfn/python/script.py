"""The script that runs: what it holds, and the name by which others would import it.

Rule: `__main__` is no name. The same script is `__main__` when it is started and has its own name when it is
imported, and both must mean one task and one class. It is `sys.modules["__main__"]`, unless a tool is that module and
runs the script in a namespace beside it, as `python -m cProfile` and `python -m trace` do: that is learnt
from the functions that were defined there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from os.path import basename, splitext
from typing import Any

from flowfn.python.unicode import escaped

__all__ = ["MAIN", "learn_from", "named_in", "namespace_of", "script_name"]

MAIN = ("__main__", "__mp_main__")
"""What the script's module calls itself; the second in a spawned process, of its parent's."""

_beside: tuple[Any, Mapping[str, Any]] | None = None
"""The module that is a tool, and the namespace beside it in which it runs the script."""


def learn_from(function: Any) -> None:
    """Learn from a function of `__main__` whether the script runs beside the module of that name."""
    global _beside
    namespace, main = getattr(function, "__globals__", None), sys.modules.get("__main__")
    if type(namespace) is dict and namespace.get("__name__") in MAIN and "__file__" in namespace:
        _beside = None if namespace is _held_by(main) else (main, namespace)


def script_name() -> str:
    """The module name that `python -m` was given, else the script's file without its suffix; `__main__` where there is
    none, as in a prompt."""
    namespace = namespace_of("__main__")
    spec = namespace.get("__spec__")
    if spec is not None and spec.name not in MAIN:
        return str(spec.name)
    file = namespace.get("__file__")
    return _module_of(str(file)) if file else "__main__"


def namespace_of(module: str) -> Mapping[str, Any]:
    """What a module holds that is loaded, and empty if it isn't; under the names of the script, what that holds."""
    if module in MAIN and _beside is not None and _beside[0] is sys.modules.get("__main__"):
        return _beside[1]
    return _held_by(sys.modules.get(module))


def named_in(namespace: Mapping[str, Any], qualname: str) -> Any:
    """What stands in a namespace under a qualified name, through classes as they are: no code of a metaclass runs. None
    where nothing does."""
    first, *rest = qualname.split(".")
    found = namespace.get(first)
    for name in rest:
        found = _held_by_class(found).get(name) if isinstance(found, type) else None
    return found


_held_by_class = type.__dict__["__dict__"].__get__


def _held_by(module: Any) -> Mapping[str, Any]:
    """The namespace of a module as it is: no code of a subclass of it, or of its `__getattr__`, runs."""
    if not issubclass(type(module), type(sys)):
        return {}
    namespace: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return namespace


@lru_cache(maxsize=16)
def _module_of(file: str) -> str:
    name = basename(file.replace("\\", "/"))
    stem, suffix = splitext(name)
    return escaped(stem if suffix in (".py", ".pyc", ".pyw") else name)
