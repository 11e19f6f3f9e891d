"""`run.subgraphs`: the graphs that a graph's nodes call, each as a run of its own that can be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from graph_compat.stream._mux import StreamMux
from graph_compat.stream.lifecycle import (
    Namespace,
    _TasksLifecycleBase,
    _Transition,
    ending_by,
    is_called_in,
)
from graph_compat.stream.protocol import ProtocolEvent
from graph_compat.stream.run_stream import AsyncSubgraphRunStream, SubgraphRunStream, SubgraphStatus
from graph_compat.stream.stream_channel import StreamChannel

__all__ = ["SubgraphTransformer"]

_Handle = SubgraphRunStream | AsyncSubgraphRunStream


class SubgraphTransformer(_TasksLifecycleBase):
    """Shows a handle on each nested graph when it has started, and hands the events in it on to that."""

    _native: ClassVar[bool] = True
    supports_sync: ClassVar[bool] = True

    def __init__(self, scope: Namespace = ()) -> None:
        super().__init__(scope)
        self._log: StreamChannel[_Handle] = StreamChannel()
        self._handles: dict[Namespace, _Handle] = {}
        self._early: dict[Namespace, list[ProtocolEvent]] = {}
        """What happened in graphs before their first tasks started: the state that they begin with."""
        self._mux: StreamMux | None = None

    def init(self) -> dict[str, Any]:
        return {"subgraphs": self._log}

    def _on_register(self, mux: StreamMux) -> None:
        self._mux = mux

    def _should_track(self, ns: Namespace) -> bool:
        return is_called_in(ns, self.scope)

    def _on_started(self, ns: Namespace, graph_name: str | None, trigger_call_id: str | None) -> None:
        if self._mux is None:
            return
        mux = self._mux._make_child(ns)
        kind = AsyncSubgraphRunStream if mux.is_async else SubgraphRunStream
        handle = kind(mux, path=ns, graph_name=graph_name, trigger_call_id=trigger_call_id)
        self._handles[ns] = handle
        mux._hold()
        self._log.push(handle)

    # -- events -----------------------------------------------------------------------------------------

    def process(self, event: ProtocolEvent) -> bool:
        kept = super().process(event)
        for handle, each in self._forwarded(event):
            handle._mux.push(each)
        return kept

    async def aprocess(self, event: ProtocolEvent) -> bool:
        for nested, status, error in self._transitions(event):
            await self._aon_terminal(nested, status, error)
        kept = self._started(event)
        for handle, each in self._forwarded(event):
            await handle._mux.apush(each)
        return kept

    def _forwarded(self, event: ProtocolEvent) -> Iterator[tuple[_Handle, ProtocolEvent]]:
        """The handle of the graph, of those called here, that an event is in, and what is to be handed on to it."""
        ns, depth = tuple(event["params"]["namespace"]), len(self.scope) + 1
        depth += len(ns) > depth and ns[depth].isdigit()
        place = ns[:depth]
        if len(ns) < depth or place[: len(self.scope)] != self.scope:
            return
        if (handle := self._handles.get(place)) is None:
            if place == ns:
                self._early.setdefault(place, []).append(event)
            return
        if handle._is_over:
            return
        early = self._early.pop(place, None)
        if early is None:
            handle._mux._release()
        for each in (*(early or ()), event):
            handle._observe_event(each)
            yield handle, each

    # -- ends -------------------------------------------------------------------------------------------

    def _on_terminal(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> None:
        if (handle := self._ended(ns, status, error)) is not None:
            if status == "failed":
                handle._mux.fail(self._raised(error))
            else:
                handle._mux.close()

    async def _aon_terminal(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> None:
        if (handle := self._ended(ns, status, error)) is not None:
            if status == "failed":
                await handle._mux.afail(self._raised(error))
            else:
                await handle._mux.aclose()

    def _pop_terminal_transitions(self, ns: Namespace, data: dict[str, Any]) -> list[_Transition]:
        caller = (*ns, f"{data['name']}:{data['id']}")
        for early in [each for each in self._early if each[: len(caller)] == caller]:
            del self._early[early]  # it came to no task
        return super()._pop_terminal_transitions(ns, data)

    def _ended(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> _Handle | None:
        """The handle of a graph whose run is over; None if nothing of it is open."""
        self._early.pop(ns, None)
        handle = self._handles.pop(ns, None)
        if handle is None:
            return None
        handle.status, handle.error, handle._seen_terminal = status, error, True
        return None if handle._is_over else handle

    async def afinalize(self) -> None:
        for ns in self._pop_within(self.scope):
            await self._aon_terminal(ns, self._last_status(ns), None)

    async def afail(self, err: BaseException) -> None:
        self._failure = err
        status, error = ending_by(err)
        for ns in self._pop_within(self.scope):
            await self._aon_terminal(ns, status, error)

    def _raised(self, error: str | None) -> RuntimeError:
        raised = RuntimeError(error or "the nested graph failed")
        raised.__cause__ = self._failure
        return raised
