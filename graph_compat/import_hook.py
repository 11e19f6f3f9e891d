"""`install()`: from then on, `import langgraph…` is answered by graph_compat.

Rule: a module of LangGraph's is graph_compat's of the same path, one object under both names, so that classes, errors
and `isinstance` agree. What other distributions have put below LangGraph's name, such as savers for other databases, is
taken from where they are installed, and gets graph_compat's modules in turn. Any other path is an ImportError that
names it, even where LangGraph is installed: a program made of halves of both would run on neither.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.metadata import PackagePath

__all__ = ["install"]

_THEIRS: Final = "langgraph"
_OURS: Final = "graph_compat"

_DISTRIBUTIONS: Final = (
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-postgres",
    "langgraph-checkpoint-sqlite",
    "langgraph-prebuilt",
)
"""LangGraph itself."""


def install() -> None:
    """Have graph_compat answer `import langgraph` and every import below it, in this process; twice is once.

    Call it before anything imports LangGraph, or start the program with `python -m graph_compat`, which does. It warns
    where LangGraph itself is installed, which from then on can't be imported.

    Raises:
        ImportError: LangGraph itself has been imported already, so that there would be two of each class.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    loaded = sorted(name for name in sys.modules if name == _THEIRS or name.startswith(f"{_THEIRS}."))
    if loaded:
        raise ImportError(
            f"graph_compat.install() comes too late: {loaded[0]!r} has been imported. Call it before the first import"
            f" of {_THEIRS}, or of a library that imports it; or run the program with `python -m graph_compat`",
            name=loaded[0],
        )
    if (spec := PathFinder.find_spec(_THEIRS)) is not None:
        place = spec.origin or next(iter(spec.submodule_search_locations or []))
        warnings.warn(
            f"graph_compat answers for {_THEIRS}: the one in {place} is passed over",
            UserWarning,
            stacklevel=2,
        )
    sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Answers for every path of LangGraph's."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, _, below = fullname.partition(".")
        if top != _THEIRS:
            return None
        ours = f"{_OURS}.{below}".rstrip(".")
        if _is_there(ours):
            return ModuleSpec(fullname, _Loader(ours))
        if fullname not in _modules_of_langgraph() and (spec := _installed(fullname)) is not None:
            return spec
        raise ModuleNotFoundError(
            f"No module named {fullname!r}: graph_compat answers for {_THEIRS}, and has no {ours!r}",
            name=fullname,
        )


class _Loader(Loader):
    """Loads the module of graph_compat's, and puts it in the place of the one that was asked for."""

    def __init__(self, ours: str) -> None:
        self._ours = ours

    def exec_module(self, module: ModuleType) -> None:
        # Not in create_module: the import system would overwrite the __spec__ of what that returns.
        sys.modules[module.__name__] = importlib.import_module(self._ours)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _installed(module: str) -> ModuleSpec | None:
    """Where Python finds a module without us; what is around it isn't imported for that."""
    spec = None
    places: Sequence[str] | None = None
    names = module.split(".")
    for depth in range(1, len(names) + 1):
        spec = PathFinder.find_spec(".".join(names[:depth]), places)
        if spec is None:
            return None
        places = spec.submodule_search_locations or ()
    return spec


@cache
def _modules_of_langgraph() -> frozenset[str]:
    """The modules that LangGraph itself has installed, and the packages around them."""
    found: set[str] = set()
    for distribution in _DISTRIBUTIONS:
        for file in _files(distribution):
            parts = file.with_suffix("").parts
            found.update(".".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return frozenset(found)


def _files(distribution: str) -> Sequence[PackagePath]:
    from importlib.metadata import PackageNotFoundError, files

    try:
        return files(distribution) or ()
    except PackageNotFoundError:
        return ()
