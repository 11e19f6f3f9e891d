"""`stream_events(version="v3")`: a graph's run with the transformers that it was compiled with, and its caller's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import Any, NoReturn

from graph_compat.langchain import PROTOCOL
from graph_compat.langchain.tokens import Place
from graph_compat.stream._mux import StreamMux
from graph_compat.stream.run_stream import AsyncGraphRunStream, GraphRunStream
from graph_compat.stream.transformer import StreamTransformer, TransformerFactory
from graph_compat.stream.transformers import BUILTINS

__all__ = ["astarted", "started"]

_OWN = ("stream_mode", "subgraphs")


def started(graph: Any, given: Any, config: Mapping[str, Any] | None, **options: Any) -> GraphRunStream:
    """A run of a graph for a blocking caller; it begins when something of it is read.

    Raises:
        TypeError: a transformer is none, or an option isn't the caller's to give.
        ValueError: two transformers show something under one name.
        RuntimeError: a transformer is for asyncio callers only.
    """
    mux = StreamMux(factories=_factories(graph, options), is_async=False)
    place = Place()
    parts = graph.stream(given, _told(config, place), **_asked(mux), **options)
    return GraphRunStream(_own(parts, place), mux)


async def astarted(
    graph: Any, given: Any, config: Mapping[str, Any] | None, **options: Any
) -> AsyncGraphRunStream:
    """`started` for asyncio."""
    mux = StreamMux(factories=_factories(graph, options), is_async=True)
    place = Place()
    parts = graph.astream(given, _told(config, place), **_asked(mux), **options)
    return AsyncGraphRunStream(_aown(parts, place), mux)


def _own(parts: Iterator[Any], place: Place) -> Iterator[Any]:
    """The chunks of a run as seen from there."""
    with closing(parts):  # type: ignore[type-var]
        for part in parts:
            yield place.own(part)


async def _aown(parts: AsyncIterator[Any], place: Place) -> AsyncIterator[Any]:
    async with aclosing(parts):  # type: ignore[type-var]
        async for part in parts:
            yield place.own(part)


def _asked(mux: StreamMux) -> dict[str, Any]:
    """What a run streams for the transformers."""
    modes = [mode for each in mux._transformers for mode in each.required_stream_modes]
    return {"stream_mode": list(dict.fromkeys(modes)), "subgraphs": True, "version": "v2"}


def _told(config: Mapping[str, Any] | None, place: Place) -> dict[str, Any]:
    own = dict(config or {})
    return {**own, "configurable": {**(own.get("configurable") or {}), PROTOCOL: place}}


def _factories(graph: Any, options: dict[str, Any]) -> Sequence[TransformerFactory]:
    """The transformers of a run; what its caller adds is taken out of the options."""
    for name in _OWN:
        if name in options:
            raise TypeError(
                f"stream_events(version='v3') / astream_events(version='v3') do not accept {name}: a run streams what"
                " its transformers ask for, nested graphs included. Pass transformers=[…] that require the modes"
            )
    found = [*BUILTINS, *graph.stream_transformers, *(options.pop("transformers", None) or ())]
    for factory in found:
        if isinstance(factory, StreamTransformer) or not callable(factory):
            _refuse(factory)
    return found


def _refuse(given: Any) -> NoReturn:
    name = type(given).__name__
    raise TypeError(
        "stream_events(version='v3') transformers must be scope-aware callables, got "
        + (
            f"pre-built instance {name}. Pass the transformer class or a factory like"
            f" `lambda scope: {name}(scope, ...)`."
            if isinstance(given, StreamTransformer)
            else f"{name}."
        )
    )
