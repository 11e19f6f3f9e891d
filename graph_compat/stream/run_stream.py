"""A run as stream events v3 show it: its projections, its result, and its raw events.

Rule: nothing runs but while somebody asks for more: each reader, of whichever projection, drives the whole run on, and
what belongs to other readers waits for them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from flowfn.context import current_frame
from graph_compat.stream._mux import StreamMux
from graph_compat.stream.protocol import ProtocolEvent, event_of
from graph_compat.stream.source import Source
from graph_compat.stream.stream_channel import StreamChannel

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

__all__ = ["AsyncGraphRunStream", "AsyncSubgraphRunStream", "GraphRunStream", "SubgraphRunStream"]

SubgraphStatus = Literal["started", "completed", "failed", "interrupted", "drained"]
"""Where a nested graph's run stands."""


class _Seen:
    """What a run's events come to; `extensions` has its projections, those of programs' transformers included."""

    def __init__(self, mux: StreamMux) -> None:
        self._mux = mux
        self._latest: Any = None
        self._interrupts: list[Any] = []
        self.extensions = mux.extensions
        vars(self).update(mux.native)

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):  # a property raised this, which is the run's error
            self._came_to()
        told = (
            f"registered projections: {', '.join(sorted(self._mux.native))}" if "_mux" in vars(self) else ""
        )
        if told and name in self.extensions:
            told = f"that projection is run.extensions[{name!r}]"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r} ({told})")

    def _observe_event(self, event: ProtocolEvent) -> None:
        """Note the state, and the open questions, of the graph itself."""
        params = event["params"]
        if event["method"] != "values" or tuple(params["namespace"]) != self._mux.scope:
            return
        self._latest = params["data"]
        known = {question.id for question in self._interrupts}
        asked = params.get("interrupts", ())
        self._interrupts.extend(question for question in asked if question.id not in known)

    def _came_to(self) -> None:
        """Raise what the run failed with."""
        if (error := self._mux._events._error) is not None:
            raise error

    @property
    def _is_over(self) -> bool:
        return self._mux._events._closed


class GraphRunStream(_Seen):
    """A run for a blocking caller; made by `stream_events(version="v3")`.

    Iterate it for the raw events, or its projections: `values`, `messages`, `lifecycle`, `subgraphs`, and those of the
    transformers. Each is read once, from when somebody begins to. As a context manager it is aborted at the end.
    """

    def __init__(self, graph_iter: Iterator[Any] | None, mux: StreamMux, *, wire_pump: bool = True) -> None:
        super().__init__(mux)
        self._parts = graph_iter
        if wire_pump:
            mux.bind_pump(self._pump_next)

    def _pump_next(self) -> bool:
        """Run until something happens, and show it; False at the end of the run."""
        if self._is_over or self._parts is None:
            return False
        try:
            part = next(self._parts, None)
            if part is None:
                self._mux.close()
                return False
            event = event_of(part)
            self._observe_event(event)
            self._mux.push(event)
        except BaseException as error:
            self._mux.fail(error)
            self._close_parts()
            return False
        return True

    def _close_parts(self) -> None:
        if (close := getattr(self._parts, "close", None)) is not None:
            close()

    def abort(self) -> None:
        """Stop the run, as leaving `stream()` early does; its projections end here."""
        if not self._is_over:
            self._close_parts()
            self._mux.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.abort()

    def _run_to_the_end(self) -> None:
        while self._pump_next():
            pass
        self._came_to()

    @property
    def output(self) -> Any:
        """The result: runs to the end. None where there was no state to show.

        Raises:
            Exception: the run failed with it.
        """
        self._run_to_the_end()
        return self._latest

    @property
    def interrupted(self) -> bool:
        """Whether the run stopped for answers: runs to the end. As `output`."""
        self._run_to_the_end()
        return bool(self._interrupts)

    @property
    def interrupts(self) -> list[Any]:
        """The questions that it stopped for: runs to the end. As `output`."""
        self._run_to_the_end()
        return list(self._interrupts)

    def __iter__(self) -> Iterator[ProtocolEvent]:
        """The raw events from now on, those of nested graphs included.

        Raises:
            RuntimeError: somebody reads them already.
        """
        return iter(self._mux._events)

    def interleave(self, *names: str) -> Iterator[tuple[str, Any]]:
        """The items of several projections in the order of the run, each with the projection's name.

        Raises:
            KeyError: there is no such projection.
            TypeError: it is no channel.
            RuntimeError: somebody reads it already.
        """
        channels = {name: self.extensions[name] for name in names}
        for name, channel in channels.items():
            if not isinstance(channel, StreamChannel):
                raise TypeError(f"the projection {name!r} is no StreamChannel: it is {channel!r}")
        waiting: deque[tuple[str, Any]] = deque()
        for name, channel in channels.items():
            channel._subscribe("tee", _labelled(waiting, name), name=f"{name!r} ")
        try:
            while waiting or self._pump_next() or waiting:
                if waiting:
                    yield waiting.popleft()
            self._came_to()
        finally:
            for channel in channels.values():
                channel._sinks.clear()  # it had no other reader


def _labelled(waiting: deque[tuple[str, Any]], name: str) -> Callable[[Any], None]:
    return lambda item: waiting.append((name, item))


class AsyncGraphRunStream(_Seen):
    """`GraphRunStream` for asyncio; made by `await astream_events(version="v3")`.

    Several tasks may read it at once: who asks for more while the run is being driven waits for what comes of that.
    A reader that is cancelled leaves the run to the others; a node's, which is a part of another run, stops it.
    """

    def __init__(
        self, graph_aiter: AsyncIterator[Any] | None, mux: StreamMux, *, wire_pump: bool = True
    ) -> None:
        super().__init__(mux)
        self._source = None if graph_aiter is None else Source(graph_aiter)
        self._is_part = current_frame.get() is not None
        if wire_pump:
            mux.bind_apump(self._apump_next)

    async def _apump_next(self) -> bool:
        """Run until something happens, and show it; False at the end of the run."""
        if self._is_over or self._source is None:
            return False
        try:
            return await self._source.pull(self, self._take)
        except asyncio.CancelledError:
            if self._is_part:
                await self.abort()
            raise

    async def _take(self, parts: AsyncIterator[Any]) -> bool:
        try:
            part = await anext(parts, None)
            if part is not None:
                event = event_of(part)
                self._observe_event(event)
                await self._mux.apush(event)
                return True
            await self._mux.aclose()
        except asyncio.CancelledError as error:
            await self._fail(error)
            raise
        except BaseException as error:
            await self._fail(error)
        if self._source is not None:
            self._source.ended()
        return False

    async def _fail(self, error: BaseException) -> None:
        if not self._is_over:
            await self._mux.afail(error)
        if self._source is not None:
            await self._source.close()

    async def abort(self) -> None:
        """Stop the run, as leaving `astream()` early does; its projections end here."""
        if not self._is_over:
            await self._mux.aclose()
            if self._source is not None:
                await self._source.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        await self.abort()

    async def _run_to_the_end(self) -> None:
        while await self._apump_next():
            pass
        self._came_to()

    async def output(self) -> Any:
        """The result: runs to the end. None where there was no state to show.

        Raises:
            Exception: the run failed with it.
        """
        await self._run_to_the_end()
        return self._latest

    async def interrupted(self) -> bool:
        """Whether the run stopped for answers: runs to the end. As `output`."""
        await self._run_to_the_end()
        return bool(self._interrupts)

    async def interrupts(self) -> list[Any]:
        """The questions that it stopped for: runs to the end. As `output`."""
        await self._run_to_the_end()
        return list(self._interrupts)

    def __aiter__(self) -> AsyncIterator[ProtocolEvent]:
        """The raw events from now on, those of nested graphs included.

        Raises:
            RuntimeError: somebody reads them already.
        """
        return aiter(self._mux._events)


class _Nested:
    """What is known of a nested graph's run.

    `path` is its namespace, `graph_name` the node that it is in, or the agent that it is; `trigger_call_id` the id of
    the task that called it. `error` is the text of what it failed with.
    """

    path: tuple[str, ...]
    graph_name: str | None
    trigger_call_id: str | None
    status: SubgraphStatus
    error: str | None
    _seen_terminal: bool
    """Whether its end was told; langchain's own transformer of subagents reads it, and writes it."""

    def __init__(
        self,
        mux: StreamMux,
        *,
        path: tuple[str, ...],
        graph_name: str | None = None,
        trigger_call_id: str | None = None,
    ) -> None:
        super().__init__(None, mux, wire_pump=False)  # type: ignore[call-arg]  # of the kind of run beside it
        self.path = path
        self.graph_name = graph_name
        self.trigger_call_id = trigger_call_id
        self.status = "started"
        self.error = None
        self._seen_terminal = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.graph_name!r} {self.status}>"


class SubgraphRunStream(_Nested, GraphRunStream):
    """The run of a nested graph, as `run.subgraphs` shows it; reading it drives the whole run on."""

    def _pump_next(self) -> bool:
        return not self._is_over and self._mux._pump is not None and self._mux._pump()


class AsyncSubgraphRunStream(_Nested, AsyncGraphRunStream):
    """`SubgraphRunStream` for asyncio."""

    async def _apump_next(self) -> bool:
        return not self._is_over and self._mux._apump is not None and await self._mux._apump()
