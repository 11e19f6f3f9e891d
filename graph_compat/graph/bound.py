"""An action as a runnable, in LangGraph's shape: `builder.nodes["a"].runnable`, `graph.nodes["a"].bound`.

Rule: it is made when somebody looks; no run uses it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from graph_compat.graph.action import Action, is_runnable
from graph_compat.injection import wanted_by
from graph_compat.langchain import is_installed


def bound(action: Action) -> Any:
    """The runnable or the graph that an author gave; a function as a runnable, where LangChain is installed."""
    source = action.source
    if is_runnable(source):
        return source
    if source is None:  # the hidden node takes the input as it is
        action = Action(action.blocking, action.name, action.blocking, None)
    if not is_installed():
        return _Function(action)
    from graph_compat.langchain.callable import ShownCallable

    if isinstance(source, dict):
        from langchain_core.runnables import RunnableParallel

        return RunnableParallel(source)
    name = None if source is None else action.name
    if action.blocking is None:
        return ShownCallable(None, action.source, name=name, trace=False)
    return ShownCallable(action.source, name=name, trace=False)


class _Function:
    """A function as a runnable, where LangChain isn't installed."""

    def __init__(self, action: Action) -> None:
        self.func = action.source if action.awaited is None else None
        self.afunc = None if action.awaited is None else action.source

    def invoke(self, input: Any, config: Any = None) -> Any:
        return self._called(self.func or self.afunc, input, config)

    async def ainvoke(self, input: Any, config: Any = None) -> Any:
        found = self.invoke(input, config)
        return found if self.afunc is None else await found

    def stream(self, input: Any, config: Any = None) -> Iterator[Any]:
        yield self.invoke(input, config)

    async def astream(self, input: Any, config: Any = None) -> AsyncIterator[Any]:
        yield await self.ainvoke(input, config)

    def _called(self, function: Any, input: Any, config: Any) -> Any:
        wanted = {want.name: want.default for want in wanted_by(function)}
        return function(input, **{**wanted, **({"config": config or {}} if "config" in wanted else {})})
