"""`tools` streams: what LangChain's tools, and those of a `ToolNode`, do with the calls of a chat model.

| `event` | when |
|---|---|
| `tool-started` | a call begins; with `tool_name` and `input` |
| `tool-output-delta` | the tool showed a piece of its output, `delta`: `ToolRuntime.emit_output_delta` |
| `tool-finished` | it returned `output` |
| `tool-error` | it raised; `message` is the error's text |

Each has the call's `tool_call_id`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.events import ToolTold
from graph_compat.langchain import TOOLS

if TYPE_CHECKING:
    from flowfn.context import Frame


def somebody_listens() -> bool:
    """Whether a `tools` stream shows what tools do that are called here."""
    frame = current_frame.get()
    return frame is not None and TOOLS in frame.run.config.rest


@contextmanager
def told_of_call(call: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A call of a tool that tells no callbacks of itself; the body leaves its result as `output`."""
    frame, told = current_frame.get(), call["id"]
    tell_of_tool(frame, "tool-started", told, tool_name=call["name"], input=dict(given))
    result: dict[str, Any] = {"output": None}
    try:
        yield result
    except Exception as error:
        tell_of_tool(frame, "tool-error", told, message=str(error))
        raise
    tell_of_tool(frame, "tool-finished", told, **result)


def tell_of_tool(frame: Frame | None, event: str, tool_call_id: str | None, **said: Any) -> None:
    """Show what a tool does that runs in a frame, if somebody listens."""
    if frame is None or TOOLS not in frame.run.config.rest or (post := frame.run.post) is None:
        return
    post(ToolTold(frame.run.namespace, {"event": event, "tool_call_id": tool_call_id, **said}))
