"""LangChain's tools, run so that a `Command` passes through them.

Rule: LangChain turns what a tool returns into a message, except where it is of a class of its own for such
things. So the tool that runs is a copy whose results travel inside an object of that class.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import Any

from langchain_core.messages.tool import ToolOutputMixin

from flowfn.values import Command
from graph_compat.prebuilt.chat import ToolCall


class _Carrier(ToolOutputMixin):
    """What a tool returned that has a `Command` in it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    __str__ = __repr__


def carrying(tool: Any) -> Any:
    """A copy of a tool, through which commands pass."""
    copy = tool.model_copy()

    @wraps(tool._run)
    def run(*args: Any, **kwargs: Any) -> Any:
        return _carried(tool._run(*args, **kwargs))

    @wraps(tool._arun)
    async def arun(*args: Any, **kwargs: Any) -> Any:
        return _carried(await tool._arun(*args, **kwargs))

    object.__setattr__(copy, "_run", run)
    object.__setattr__(copy, "_arun", arun)
    return copy


def _carried(value: Any) -> Any:
    has_command = isinstance(value, Command) or (
        isinstance(value, list) and any(isinstance(item, Command) for item in value)
    )
    return _Carrier(value) if has_command else value


def delivered(result: Any) -> Any:
    """What a tool returned, out of what it travelled in."""
    return result.value if isinstance(result, _Carrier) else result


def request_of(call: ToolCall, arguments: Mapping[str, Any], filled: Mapping[str, Any]) -> dict[str, Any]:
    """A call as LangChain's tools take it, so that they answer with a message."""
    return {**call, "args": {**arguments, **filled}, "type": "tool_call"}
