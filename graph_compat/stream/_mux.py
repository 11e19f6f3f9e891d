"""What distributes a run's events: to each transformer in turn, and to who reads the raw events.

Rule: a nested graph that is looked at has a mux of its own, with transformers of its own, made by the same factories.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any

from graph_compat.stream.protocol import ProtocolEvent, event_that
from graph_compat.stream.stream_channel import StreamChannel
from graph_compat.stream.transformer import (
    StreamTransformer,
    TransformerFactory,
    transformer_requires_async,
)

__all__ = ["StreamMux", "TransformerFactory"]


class StreamMux:
    """The transformers of one graph of a run, and their projections.

    Args:
        transformers: instances.
        is_async: whether an asyncio caller drives the run.
        factories: what makes more transformers for `scope`, and those of nested graphs for theirs.
        scope: the namespace of the graph.

    Raises:
        TypeError: a factory made something else, or `init()` returned something else than a dict.
        ValueError: two transformers show something under one name.
        RuntimeError: a transformer is for asyncio callers only, and the run isn't.
    """

    def __init__(
        self,
        transformers: Sequence[StreamTransformer] | None = None,
        *,
        is_async: bool = False,
        factories: Sequence[TransformerFactory] | None = None,
        scope: tuple[str, ...] = (),
        _assign_seq: bool = True,
    ) -> None:
        self.is_async = is_async
        self.scope = scope
        self.extensions: dict[str, Any] = {}
        self.native: dict[str, Any] = {}
        self._factories = factories
        self._owners: dict[str, StreamTransformer] = {}
        self._transformers: list[StreamTransformer] = []
        self._numbers = count(1) if _assign_seq else None
        self._pump: Callable[[], bool] | None = None
        self._apump: Callable[[], Awaitable[bool]] | None = None
        self._events: StreamChannel[ProtocolEvent] = StreamChannel()
        self._events._bind(is_async=is_async)
        made = [*(transformers or ()), *(_made(factory, scope) for factory in factories or ())]
        for transformer in sorted(made, key=lambda each: not each.before_builtins):
            self._register(transformer)

    def _register(self, transformer: StreamTransformer) -> None:
        name = type(transformer).__name__
        if not self.is_async and transformer_requires_async(transformer):
            raise RuntimeError(
                f"{name} requires an async run — it overrides aprocess/afinalize/afail or sets requires_async=True."
                " Use astream_events(), not stream_events()."
            )
        projections = transformer.init()
        if not isinstance(projections, dict):
            raise TypeError(f"StreamTransformer.init() must return a dict, got {type(projections).__name__}")
        if taken := sorted(self.extensions.keys() & projections.keys()):
            owners = ", ".join(f"{key!r} (owned by {type(self._owners[key]).__name__})" for key in taken)
            raise ValueError(
                f"Transformer {name} returned projection keys that conflict with already-registered keys: {owners}"
            )
        self.extensions.update(projections)
        self._owners.update(dict.fromkeys(projections, transformer))
        if transformer._native:
            self.native.update(projections)
        self._transformers.append(transformer)
        for channel in _channels(projections):
            self._join(channel, native=transformer._native)
        transformer._on_register(self)

    def _join(self, channel: StreamChannel[Any], *, native: bool) -> None:
        channel._bind(is_async=self.is_async)
        if channel.name is not None:
            method = channel.name if native else f"custom:{channel.name}"
            channel._wire(lambda item: self._show(event_that(method, self.scope, item)))

    def transformer_by_key(self, key: str) -> StreamTransformer | None:
        """The transformer that shows something under this name."""
        return self._owners.get(key)

    def _make_child(self, scope: tuple[str, ...]) -> StreamMux:
        """The mux of a nested graph.

        Raises:
            RuntimeError: this one was given instances, of which there can't be more.
        """
        if self._factories is None:
            raise RuntimeError(
                f"no transformers can be made for {scope}: this StreamMux was made without factories"
            )
        child = StreamMux(factories=self._factories, is_async=self.is_async, scope=scope, _assign_seq=False)
        if self._pump is not None:
            child.bind_pump(self._pump)
        if self._apump is not None:
            child.bind_apump(self._apump)
        return child

    # -- who drives the run -----------------------------------------------------------------------------

    def bind_pump(self, fn: Callable[[], bool]) -> None:
        """Have readers drive a run by this; it says False at the end."""
        self._pump = fn
        self._hand_out(fn, "_request_more", "_bind_pump")

    def bind_apump(self, fn: Callable[[], Awaitable[bool]]) -> None:
        """`bind_pump` for asyncio."""
        self._apump = fn
        self._hand_out(fn, "_arequest_more", "_bind_apump")

    def _hand_out(self, pump: Callable[[], Any], asked_by: str, told_by: str) -> None:
        """Give a pump to each channel, as what it asks for more by, and to each transformer that wants to be told."""
        for channel in self._all():
            setattr(channel, asked_by, pump)
        for transformer in self._transformers:
            if (bind := getattr(transformer, told_by, None)) is not None:
                bind(pump)

    def _all(self) -> list[StreamChannel[Any]]:
        return [*_channels(self.extensions), self._events]

    def _hold(self) -> None:
        """Keep what is shown first for who is only being told of this graph."""
        for channel in self._all():
            channel._hold()

    def _release(self) -> None:
        """Keep it no longer."""
        for channel in self._all():
            channel._release()

    # -- events -----------------------------------------------------------------------------------------

    def push(self, event: ProtocolEvent) -> None:
        """Show an event to each transformer, and to who reads raw events unless one of them keeps it out."""
        kept = [transformer.process(event) for transformer in self._transformers]
        if all(kept):
            self._show(event)

    async def apush(self, event: ProtocolEvent) -> None:
        """`push` for asyncio."""
        kept = [await transformer.aprocess(event) for transformer in self._transformers]
        if all(kept):
            self._show(event)

    def _show(self, event: ProtocolEvent) -> None:
        if self._numbers is not None:
            event["seq"] = next(self._numbers)
        self._events.push(event)

    def close(self) -> None:
        """End every projection; if a transformer fails at that, with its error, which is raised."""
        try:
            for transformer in self._transformers:
                transformer.finalize()
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)

    async def aclose(self) -> None:
        """`close` for asyncio; waits for what transformers have scheduled."""
        try:
            for transformer in self._transformers:
                await transformer.afinalize()
            await self._settle()
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)

    def fail(self, err: BaseException) -> None:
        """End every projection with an error; a transformer that fails at being told doesn't hide it."""
        for transformer in self._transformers:
            try:
                transformer.fail(err)
            except Exception as error:
                err.add_note(f"{type(transformer).__name__}.fail() raised {error!r}")
        self._end(err)

    async def afail(self, err: BaseException) -> None:
        """`fail` for asyncio; what transformers have scheduled is cancelled."""
        for transformer in self._transformers:
            try:
                await transformer.afail(err)
            except Exception as error:
                err.add_note(f"{type(transformer).__name__}.afail() raised {error!r}")
        for task in self._collect_scheduled_tasks():
            task.cancel()
        self._end(err)

    def _end(self, err: BaseException | None) -> None:
        for channel in self._all():
            if err is None:
                channel.close()
            else:
                channel.fail(err)

    async def _settle(self) -> None:
        """Wait for what is scheduled, what that schedules included, and raise the first error of it."""
        while pending := [task for task in self._collect_scheduled_tasks() if not task.done()]:
            await asyncio.wait(pending)
        for task in self._collect_scheduled_tasks():
            if not task.cancelled():
                task.result()

    def _collect_scheduled_tasks(self) -> list[asyncio.Task[Any]]:
        return [task for each in self._transformers for task in each._scheduled_task_set()]


def _made(factory: TransformerFactory, scope: tuple[str, ...]) -> StreamTransformer:
    made = factory(scope)
    if not isinstance(made, StreamTransformer):
        raise TypeError(f"{factory!r} is no factory of transformers: it returned {made!r}")
    return made


def _channels(projections: dict[str, Any]) -> list[StreamChannel[Any]]:
    return [each for each in projections.values() if isinstance(each, StreamChannel)]
