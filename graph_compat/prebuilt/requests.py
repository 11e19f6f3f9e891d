"""A tool's call as an interceptor sees it."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict

from graph_compat.prebuilt.chat import ToolCall


@dataclass
class ToolCallRequest:
    """What `wrap_tool_call` is given: the call, its tool (None where no tool has that name), state and runtime.

    `override()` gives a changed copy. Setting an attribute works, and warns.
    """

    tool_call: ToolCall
    tool: Any
    state: Any
    runtime: Any

    def __init__(self, tool_call: ToolCall, tool: Any, state: Any, runtime: Any) -> None:
        vars(self).update(tool_call=tool_call, tool=tool, state=state, runtime=runtime)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            warnings.warn(
                f"Setting attribute '{name}' on ToolCallRequest is deprecated. Use the override() method instead to"
                " create a new instance with modified values.",
                DeprecationWarning,
                stacklevel=2,
            )
        super().__setattr__(name, value)

    def override(self, **overrides: Any) -> ToolCallRequest:
        """A copy with other attributes.

        Raises:
            TypeError: there is no such attribute.
        """
        return replace(self, **overrides)


class ToolCallWithContext(TypedDict):
    """The input of a ToolNode that is sent one call, and the state that its tool sees."""

    tool_call: ToolCall
    __type: Literal["tool_call_with_context"]
    state: Any


CALL_WITH_CONTEXT = "tool_call_with_context"

Execute = Callable[[ToolCallRequest], Any]
AExecute = Callable[[ToolCallRequest], Awaitable[Any]]

ToolCallWrapper = Callable[[ToolCallRequest, Execute], Any]
"""`wrapper(request, execute)` gives the answer; `execute(request)` runs the tool, as often as the wrapper calls it."""

AsyncToolCallWrapper = Callable[[ToolCallRequest, AExecute], Awaitable[Any]]
"""A `ToolCallWrapper` for asyncio."""
