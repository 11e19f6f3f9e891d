"""`run.messages`: a chat model's call each, to be read while the model writes, and each message that a node returns.

Rule: a message is shown once. It is one of LangChain's `ChatModelStream`s, whole ones included; where LangChain isn't
installed, it is the dict that it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from graph_compat.langchain import is_installed
from graph_compat.langchain.messages import id_of
from graph_compat.stream.protocol import ProtocolEvent
from graph_compat.stream.stream_channel import StreamChannel
from graph_compat.stream.transformer import TransformerOfStreams

__all__ = ["MessagesTransformer"]


class MessagesTransformer(TransformerOfStreams):
    """Shows the messages of its own graph, those of graphs in it by their handles."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ("messages",)

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._log: StreamChannel[Any] = StreamChannel()
        self._open: dict[str, Any] = {}
        self._shown: set[str] = set()

    def init(self) -> dict[str, Any]:
        return {"messages": self._log}

    def process(self, event: ProtocolEvent) -> bool:
        params = event["params"]
        if event["method"] == "messages" and tuple(params["namespace"]) == self.scope:
            payload, metadata = params["data"]
            node = (metadata or {}).get("langgraph_node")
            if isinstance(payload, dict) and "event" in payload:
                self._route_piece(payload, metadata["run_id"], node)
            elif payload is not None:
                self._route_whole(payload, node)
        return True

    def _route_piece(self, piece: Mapping[str, Any], run_id: str, node: str | None) -> None:
        """A piece of what a model writes in its call `run_id`."""
        if piece["event"] == "message-start":
            if piece.get("role") == "tool":
                return
            name = piece.get("id")
            self._open[run_id] = stream = self._begun(name, node)
            self._shown.add(str(name))
            stream.dispatch(piece)
            self._log.push(stream)
        elif (stream := self._open.get(run_id)) is not None:
            stream.dispatch(piece)
            if piece["event"] in ("message-finish", "error"):
                del self._open[run_id]

    def _route_whole(self, message: Any, node: str | None) -> None:
        """A message that a model, or a node, came with at once."""
        name = id_of(message)
        if name is not None and name in self._shown:
            return
        self._shown.add(str(name))
        if not is_installed():
            self._log.push(message)
            return
        from langchain_core.language_models._compat_bridge import message_to_events

        stream = self._begun(name, node)
        self._log.push(stream)
        for piece in message_to_events(message, message_id=name):
            stream.dispatch(piece)

    def _begun(self, message_id: str | None, node: str | None) -> Any:
        from langchain_core.language_models.chat_model_stream import AsyncChatModelStream, ChatModelStream

        said: dict[str, Any] = {"namespace": list(self.scope), "node": node, "message_id": message_id}
        if self._is_async:
            awaited = AsyncChatModelStream(**said)
            awaited.set_arequest_more(self._apump)
            return awaited
        stream = ChatModelStream(**said)
        if self._pump is not None:
            stream.set_request_more(self._pump)
        return stream

    def fail(self, err: BaseException) -> None:
        for stream in self._open.values():
            stream.fail(err)
        self._open.clear()
