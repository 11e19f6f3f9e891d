"""Graphs of which a method was replaced, as tools that trace programs put methods of theirs in the place of `Pregel`'s.

Rule: LangGraph's `invoke` goes by way of `stream`, and so do graphs that are nodes; so whoever takes the place of one
sees the calls of all. That is how such a graph's go here; any other one's take the short way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from flowfn.values import MISSING
from flowfn.workflow import ENGINE, Workflow
from graph_compat.graph.surface import Surface
from graph_compat.langchain import is_loaded

if TYPE_CHECKING:
    from flowfn.invocation import Ending

Modes = str | Sequence[str]
M = TypeVar("M", bound=Callable[..., Any])

_wanted: ContextVar[list[Ending] | None] = ContextVar("graph_compat.watched", default=None)
"""Where the next stream to begin leaves what its run came to."""


def ending_for(own: list[Ending]) -> list[Ending]:
    """Where a stream that begins leaves what its run came to: whose call it is may want it."""
    wanted = _wanted.get()
    if wanted is None:
        return own
    _wanted.set(None)
    return wanted


def _like(method: M) -> Callable[[Callable[..., Any]], M]:
    """What takes a method's place has its signature, and its documentation."""
    return cast("Callable[[Callable[..., Any]], M]", wraps(method))


_LISTENED_TO = (
    *ENGINE,
    *("graph_compat.langchain.node_runs", "graph_compat.langchain.handler", "flowfn.history.reading"),
    *("langchain_core.tracers.context", "langchain_core.tracers.stdout", "langsmith.run_helpers"),
)
"""The modules that calls load in a program that has loaded LangChain."""


class Watched(Surface):
    """What calls of a graph go by."""

    def _needed(self) -> tuple[str, ...]:
        return _LISTENED_TO if is_loaded() else ENGINE

    @_like(Workflow.invoke)
    def invoke(self, *args: Any, **kw: Any) -> Any:
        if type(self).stream is not Workflow.stream:
            return self._by_stream(*args, **kw)
        return super().invoke(*args, **kw)

    @_like(Workflow.ainvoke)
    async def ainvoke(self, *args: Any, **kw: Any) -> Any:
        if type(self).astream is not Workflow.astream:
            return await self._by_astream(*args, **kw)
        return await super().ainvoke(*args, **kw)

    def _is_watched(self) -> bool:
        """Whether any of the methods was replaced: of all graphs, of a class of somebody's, or of this one."""
        kind = type(self)
        return not (
            kind.stream is Workflow.stream
            and kind.astream is Workflow.astream
            and getattr(self.invoke, "__func__", None) is Watched.invoke
            and getattr(self.ainvoke, "__func__", None) is Watched.ainvoke
        )

    def _by_stream(
        self, input: Any = MISSING, config: Any = None, *, stream_mode: Modes = "values", **options: Any
    ) -> Any:
        ending: list[Ending] = []
        asked = self._asked(options)
        _wanted.set(ending)
        try:
            chunks = list(self.stream(input, config, stream_mode=_shown(stream_mode, options), **asked))
        finally:
            _wanted.set(None)
        return self._last(ending, chunks, stream_mode, options)

    async def _by_astream(
        self, input: Any = MISSING, config: Any = None, *, stream_mode: Modes = "values", **options: Any
    ) -> Any:
        ending: list[Ending] = []
        asked = self._asked(options)
        _wanted.set(ending)
        try:
            stream = self.astream(input, config, stream_mode=_shown(stream_mode, options), **asked)
            chunks = [chunk async for chunk in stream]
        finally:
            _wanted.set(None)
        return self._last(ending, chunks, stream_mode, options)

    def _asked(self, options: dict[str, Any]) -> dict[str, Any]:
        """What a call that is a stream asks it for: the keys of its output, where it names none."""
        return {**options, "output_keys": self._output(options.get("output_keys"))}

    def _last(self, ending: list[Ending], chunks: list[Any], mode: Modes, options: dict[str, Any]) -> Any:
        """What a call comes to whose stream has ended."""
        if mode != "values":
            return chunks
        if not ending:  # somebody's stream that doesn't come from ours
            return chunks[-1][-1] if chunks else None
        return self._returned(ending[0], options.get("output_keys"), options.get("version", "v1"))


def _shown(mode: Modes, options: dict[str, Any]) -> Modes:
    """What LangGraph asks a stream for."""
    return ["updates", "values"] if mode == "values" and options.get("version") != "v2" else mode
