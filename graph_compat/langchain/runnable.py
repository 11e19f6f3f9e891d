"""Graphs as LangChain's runnables: `prompt | graph`, `graph.with_retry()`, `isinstance(graph, Runnable)`.

Rule: a graph is registered as a `Runnable` when the program imports LangChain, not before. What it doesn't
define itself it then has from `Runnable`, bound to the graph.
"""

from __future__ import annotations

import inspect
from typing import Any

import wrapt

from graph_compat.langchain import is_installed, is_loaded


class AsRunnable:
    """What makes a class of graphs LangChain's runnables; it has `invoke`, `stream` and their async twins."""

    name: str

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Its name, with `suffix` written as the name is."""
        known = name or self.name
        if not suffix:
            return known
        return known + suffix.title() if known[0].isupper() else f"{known}_{suffix.lower()}"

    @property
    def InputType(self) -> Any:
        """The type of its input, as far as that is known."""
        return Any

    @property
    def OutputType(self) -> Any:
        """The type of its result, as far as that is known."""
        return Any

    def __or__(self, other: Any) -> Any:
        """What runs the graph, then `other`: a runnable, a function, or a dict of such."""
        return _sequence("__or__", self, other)

    def __ror__(self, other: Any) -> Any:
        """What runs `other`, then the graph."""
        return _sequence("__ror__", self, other)

    def __getattr__(self, name: str) -> Any:
        """What `Runnable` has and graphs don't define."""
        if name.startswith("__") or not (is_loaded() if name.startswith("_") else is_installed()):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        from langchain_core.runnables import Runnable

        found = inspect.getattr_static(Runnable, name, None)
        if found is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return found.__get__(self, type(self))


def _sequence(operator: str, graph: Any, other: Any) -> Any:
    if not is_installed():
        return NotImplemented
    from langchain_core.runnables import Runnable

    return getattr(Runnable, operator)(graph, other)


def _register(module: Any) -> None:
    """Have LangChain take graphs for runnables, from when it is imported."""
    module.Runnable.register(AsRunnable)


wrapt.register_post_import_hook(_register, "langchain_core.runnables.base")
