"""Graphs as LangChain's runnables: `prompt | graph`, `graph.with_retry()`, `isinstance(graph, Runnable)`.

Rule: a graph is registered as a `Runnable` when the program imports LangChain, not before. What its class doesn't
define itself it has from `Runnable`, bound to the graph, and the class shows it: a mock that is made of the class has
what a graph has.
"""

from __future__ import annotations

import inspect
from typing import Any

import wrapt

from graph_compat.langchain import is_installed, is_loaded

MEMBERS = (
    "abatch abatch_as_completed as_tool assign astream astream_events astream_log atransform batch batch_as_completed "
    "bind config_schema config_specs get_config_jsonschema get_graph get_input_jsonschema get_input_schema "
    "get_output_jsonschema get_output_schema get_prompts input_schema map output_schema pick pipe stream stream_events "
    "transform with_alisteners with_config with_fallbacks with_listeners with_retry with_types"
)
"""What every `Runnable` has, but for what `AsRunnable` defines."""


def of_runnables(name: str, graph: Any, owner: type[Any]) -> Any:
    """A member of `Runnable`'s, bound to the graph, or, where there is none, that of the class `owner`.

    Raises:
        AttributeError: there is none, or LangChain isn't installed; or, of a private one, isn't imported.
    """
    found = None
    if is_loaded() if name.startswith("_") else is_installed():
        from langchain_core.runnables import Runnable

        found = inspect.getattr_static(Runnable, name, None)
    if found is None:
        raise AttributeError(f"{owner.__name__!r} object has no attribute {name!r}")
    return found.__get__(graph, owner)


class _Lent:
    """A member of `Runnable`'s in the namespace of a class of ours."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, graph: Any, owner: type[Any]) -> Any:
        return of_runnables(self._name, graph, owner)


class AsRunnable:
    """What makes a class of graphs LangChain's runnables; it has `invoke` and `ainvoke`."""

    name: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Lend the class what it doesn't define."""
        super().__init_subclass__(**kwargs)
        for name in MEMBERS.split():
            if not any(name in vars(base) for base in cls.__mro__):
                setattr(cls, name, _Lent(name))

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
        """What `Runnable`'s own methods ask for; and, of type checkers, what is lent."""
        if not name.startswith("_") or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return of_runnables(name, self, type(self))


def _sequence(operator: str, graph: Any, other: Any) -> Any:
    if not is_installed():
        return NotImplemented
    from langchain_core.runnables import Runnable

    return getattr(Runnable, operator)(graph, other)


def _register(module: Any) -> None:
    """Have LangChain take graphs for runnables, from when it is imported."""
    module.Runnable.register(AsRunnable)


wrapt.register_post_import_hook(_register, "langchain_core.runnables.base")
