"""Names and modules that are imported when they are first used: what a library costs, its users pay."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any

__all__ = ["Later", "lazily", "lend"]


_NOWHERE: Mapping[str, str] = {}


def lazily(
    package: str,
    homes: Mapping[str, str],
    modules: Collection[str] = (),
    elsewhere: Mapping[str, str] = _NOWHERE,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's `__getattr__` and `__dir__`; `homes` says in which of its modules each name is, and `modules` are
    those that are attributes before anybody has imported them. `elsewhere` has names that are looked for here, and what
    is meant, such as `checkpointers.SqliteSaver`: the error says what to write.
    """
    names = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name in elsewhere:
            home, _, meant = elsewhere[name].rpartition(".")
            said = f"{name} is not in {package}: write from {home} import {meant}"
            raise ImportError(said, name=package) if _is_import() else AttributeError(said)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = names[name] = getattr(import_module(homes[name], package), name)
        return value

    return get, lambda: sorted({*names, *homes, *modules})


def _is_import() -> bool:
    """Whether it is a `from … import …` that asks a package for a name: of an AttributeError it would keep nothing, and
    say that there is no such name."""
    return sys._getframe(2).f_code.co_name == "_handle_fromlist"


def lend(
    package: str,
    homes: Mapping[str, str] = _NOWHERE,
    modules: Collection[str] = (),
    elsewhere: Mapping[str, str] = _NOWHERE,
) -> None:
    """Have a package answer as `lazily` says. Its own code says nothing of it: to a type checker a `__getattr__` there
    means that there is every name. The price: what `homes` has, it has to import for type checkers.
    """
    vars(sys.modules[package]).update(
        zip(("__getattr__", "__dir__"), lazily(package, homes, modules, elsewhere), strict=True)
    )


class Later:
    """A module that is imported when something of it is first asked for.

    For what many calls need: an `import` in their function takes half a microsecond of each. The price: a name is
    looked up there once, and whoever sets another value in the module later isn't heard.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever looks at all that there is in a module needs nothing of it
            raise AttributeError(f"{self._module} isn't asked for {name!r} here")
        value = vars(self)[name] = getattr(import_module(self._module), name)
        return value
