"""The callback handler that shows what LangChain's tools do. Importing it imports LangChain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from flowfn.context import current_frame
from graph_compat.errors import GraphBubbleUp
from graph_compat.langchain.tool_calls import tell_of_tool

if TYPE_CHECKING:
    from flowfn.context import Frame


class ToolHandler(BaseCallbackHandler):
    """Shows the start and the end of each call of a tool to a `tools` stream."""

    run_inline = True

    def __init__(self) -> None:
        self._calls: dict[UUID, tuple[Frame, str]] = {}

    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: UUID,
        inputs: dict[str, Any] | None = None,
        **rest: Any,
    ) -> None:
        """Show that a call begins; one that no model made goes by its run's id."""
        frame = current_frame.get()
        if frame is None:
            return
        call = rest.get("tool_call_id") or str(run_id)
        name = rest.get("name") or (serialized or {}).get("name") or ""
        self._calls[run_id] = frame, call
        tell_of_tool(frame, "tool-started", call, tool_name=name, input=inputs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **rest: Any) -> None:
        """Show what a call came to."""
        if (known := self._calls.pop(run_id, None)) is not None:
            tell_of_tool(known[0], "tool-finished", known[1], output=output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **rest: Any) -> None:
        """Show what a call failed with; one that asks hasn't failed, and comes again."""
        known = self._calls.pop(run_id, None)
        if known is not None and not isinstance(error, GraphBubbleUp):
            tell_of_tool(known[0], "tool-error", known[1], message=str(error))
