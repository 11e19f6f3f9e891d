"""`run.subgraphs`: the graphs that a graph's nodes call, each as a run of its own that can be looked at."""

from __future__ import annotations

from typing import Any, ClassVar

from graph_compat.stream.lifecycle import Namespace, _TasksLifecycleBase, ending_by, is_called_in
from graph_compat.stream.mux import StreamMux
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
        self._log.push(handle)

    # -- events -----------------------------------------------------------------------------------------

    def process(self, event: ProtocolEvent) -> bool:
        kept = super().process(event)
        if (handle := self._handle_for_event(event)) is not None:
            handle._observe_event(event)
            handle._mux.push(event)
        return kept

    async def aprocess(self, event: ProtocolEvent) -> bool:
        # The end of a graph is told apart: its transformers may have to be awaited.
        ns, data = tuple(event["params"]["namespace"]), event["params"]["data"]
        if event["method"] == "tasks" and "result" in data:
            kept = False
            for nested, status, error in self._pop_terminal_transitions(ns, data):
                await self._aon_terminal(nested, status, error)
        else:
            kept = super().process(event)
        if (handle := self._handle_for_event(event)) is not None:
            handle._observe_event(event)
            await handle._mux.apush(event)
        return kept

    def _handle_for_event(self, event: ProtocolEvent) -> _Handle | None:
        """The handle of the graph, of those called here, that an event is in."""
        ns, depth = tuple(event["params"]["namespace"]), len(self.scope) + 1
        depth += len(ns) > depth and ns[depth].isdigit()
        handle = self._handles.get(ns[:depth])
        return None if handle is None or handle._is_over else handle

    # -- ends -------------------------------------------------------------------------------------------

    def _on_terminal(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> None:
        if (handle := self._ended(ns, status, error)) is not None:
            if status == "failed":
                handle._mux.fail(_failure(error))
            else:
                handle._mux.close()

    async def _aon_terminal(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> None:
        if (handle := self._ended(ns, status, error)) is not None:
            if status == "failed":
                await handle._mux.afail(_failure(error))
            else:
                await handle._mux.aclose()

    def _ended(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> _Handle | None:
        """The handle of a graph whose run is over; None if nothing of it is open."""
        handle = self._handles.pop(ns, None)
        if handle is None:
            return None
        handle.status, handle.error, handle._seen_terminal = status, error, True
        return None if handle._is_over else handle

    async def afinalize(self) -> None:
        for ns in self._pop_within(self.scope):
            await self._aon_terminal(ns, "interrupted", None)

    async def afail(self, err: BaseException) -> None:
        status, error = ending_by(err)
        for ns in self._pop_within(self.scope):
            await self._aon_terminal(ns, status, error)


def _failure(error: str | None) -> RuntimeError:
    return RuntimeError(error or "the nested graph failed")
