"""`ToolCallTransformer`: the calls of tools of a run, as `run.tool_calls`."""

from __future__ import annotations

from typing import Any, ClassVar

from graph_compat.langchain.messages import is_message, is_of_tool
from graph_compat.prebuilt._tool_call_stream import ToolCallStream
from graph_compat.stream.protocol import ProtocolEvent
from graph_compat.stream.stream_channel import StreamChannel
from graph_compat.stream.transformer import TransformerOfStreams

__all__ = ["ToolCallTransformer"]


class ToolCallTransformer(TransformerOfStreams):
    """Shows a `ToolCallStream` for each call of a tool in its graph when it begins."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ("tools",)

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._log: StreamChannel[ToolCallStream] = StreamChannel()
        self._open: dict[str, ToolCallStream] = {}

    def init(self) -> dict[str, Any]:
        return {"tool_calls": self._log}

    def process(self, event: ProtocolEvent) -> bool:
        params = event["params"]
        if event["method"] == "tools" and tuple(params["namespace"]) == self.scope:
            self._told(params["data"])
        return True

    def _told(self, data: dict[str, Any]) -> None:
        call = data["tool_call_id"]
        if data["event"] == "tool-started":
            self._open[call] = self._new_stream(call, data["tool_name"], data["input"])
            self._log.push(self._open[call])
        elif (stream := self._open.get(call)) is None:
            return
        elif data["event"] == "tool-output-delta":
            stream._push_delta(data["delta"])
        elif data["event"] == "tool-finished":
            self._open.pop(call)._finish(_content(data["output"]))
        elif data["event"] == "tool-error":
            self._open.pop(call)._fail(data["message"])

    def _new_stream(
        self, tool_call_id: str, tool_name: str, tool_input: dict[str, Any] | None
    ) -> ToolCallStream:
        stream = ToolCallStream(tool_call_id, tool_name, tool_input)
        stream._bind(is_async=self._is_async)
        stream._driven_by(self._pump, self._apump)
        return stream

    def finalize(self) -> None:
        for stream in self._open.values():  # they asked, and go on in another run
            stream._finish(None)
        self._open.clear()

    def fail(self, err: BaseException) -> None:
        for stream in self._open.values():
            stream._fail(str(err))
        self._open.clear()


def _content(output: Any) -> Any:
    """What a tool came to: of an answer the content."""
    if not is_message(output) or not is_of_tool(output):
        return output
    return output["content"] if isinstance(output, dict) else output.content
