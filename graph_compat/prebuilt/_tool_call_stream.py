"""`ToolCallStream`: one call of a tool, from its start: the pieces of output that it shows, and what it comes to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from graph_compat.stream.stream_channel import StreamChannel

__all__ = ["ToolCallStream"]


class ToolCallStream:
    """A call of a tool. Iterate it, or `output_deltas`, for the pieces that `ToolRuntime.emit_output_delta` shows.

    `tool_call_id`, `tool_name` and `input` are the call's. Once it is `completed`, `output` is what the tool returned
    (of an answer the content), or `error` the text of what it raised.
    """

    def __init__(self, tool_call_id: str, tool_name: str, input: dict[str, Any] | None = None) -> None:
        self.tool_call_id = tool_call_id
        self.tool_name = tool_name
        self.input = input
        self.output: Any = None
        self.error: str | None = None
        self.completed = False
        self._output_deltas: StreamChannel[Any] = StreamChannel()

    @property
    def output_deltas(self) -> StreamChannel[Any]:
        """The pieces of output; read once."""
        return self._output_deltas

    def _bind(self, *, is_async: bool) -> None:
        """Belong to a blocking or an asyncio run."""
        self._output_deltas._bind(is_async=is_async)

    def _driven_by(
        self, pump: Callable[[], bool] | None, apump: Callable[[], Awaitable[bool]] | None
    ) -> None:
        self._output_deltas._request_more = pump
        self._output_deltas._arequest_more = apump

    def _push_delta(self, delta: Any) -> None:
        self._output_deltas.push(delta)

    def _finish(self, output: Any) -> None:
        self.output, self.completed = output, True
        self._output_deltas.close()

    def _fail(self, message: str) -> None:
        """The tool raised; its pieces end all the same, and the error is the run's, or the model's."""
        self.error, self.completed = message, True
        self._output_deltas.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._output_deltas)

    def __aiter__(self) -> AsyncIterator[Any]:
        return aiter(self._output_deltas)

    def __repr__(self) -> str:
        status = "running" if not self.completed else "completed" if self.error is None else "failed"
        return f"ToolCallStream(tool_call_id={self.tool_call_id!r}, tool_name={self.tool_name!r}, status={status})"
