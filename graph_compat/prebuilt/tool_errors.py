"""What becomes of a tool's error: an answer that tells the model, or the error itself (`handle_tool_errors=`).

| `handle_tool_errors` | is answered |
|---|---|
| not given | arguments that don't fit, with what is wrong with them |
| `True` | every error, with its repr |
| a string | every error, with that string |
| an exception type, or a tuple of such | errors of these types, with their repr |
| a function of the error | errors of the types that its parameter is annotated with, with what it returns |
| `False` | none |

A question to a human and a cancellation are no errors: they derive from `BaseException` and pass (G8).
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from graph_compat.prebuilt.chat import ToolCall

Handling = bool | str | Callable[..., str] | type[Exception] | tuple[type[Exception], ...]

TOOL_CALL_ERROR_TEMPLATE = "Error: {error}\n Please fix your mistakes."
"""The answer to an error of any kind."""

INVALID_TOOL_NAME_ERROR_TEMPLATE = (
    "Error: {requested_tool} is not a valid tool, try one of [{available_tools}]."
)
"""The answer to a call of a tool that there isn't."""

TOOL_INVOCATION_ERROR_TEMPLATE = (
    "Error invoking tool '{tool_name}' with kwargs {tool_kwargs} with error:\n {error}\n"
    " Please fix the error and try again."
)
"""The answer to arguments that don't fit."""

TOOL_EXECUTION_ERROR_TEMPLATE = (
    "Error executing tool '{tool_name}' with kwargs {tool_kwargs} with error:\n {error}\n"
    " Please fix the error and try again."
)
"""An answer to a tool's own error, for programs that word theirs so."""


def invalid_arguments_only(error: Exception) -> str:
    """The default: the text of a `ToolInvocationError`; every other error is raised again."""
    from graph_compat.prebuilt.marks import ToolInvocationError

    if isinstance(error, ToolInvocationError):
        return error.message
    raise error


class ErrorHandler:
    """`handle_tool_errors=`, looked at.

    Raises, when an error comes:
        ValueError: the function is for something else than errors, or the handling is of no known type.
    """

    def __init__(self, handling: Handling) -> None:
        self.handling = handling

    def content(self, error: Exception) -> str:
        """The content of the answer to an error; raises the error where it isn't answered."""
        handling = self.handling
        if not handling or not isinstance(error, self._types()):
            raise error
        if isinstance(handling, str):
            return handling
        if isinstance(handling, bool | tuple | type):
            return TOOL_CALL_ERROR_TEMPLATE.format(error=repr(error))
        if not callable(handling):
            raise ValueError(
                "Got unexpected type of `handle_tool_error`. Expected bool, str or callable. Received: "
                f"{handling}"
            )
        content: str = handling(error)
        return content

    def _types(self) -> tuple[type[Exception], ...]:
        handling = self.handling
        if isinstance(handling, tuple):
            return handling
        if _is_error(handling):
            return (typing.cast("type[Exception]", handling),)
        if callable(handling):
            return error_types(handling)
        return (Exception,)


def error_types(handler: Callable[..., Any]) -> tuple[type[Exception], ...]:
    """The errors that a function handles: those that its first parameter is annotated with.

    Raises:
        ValueError: the annotation names something else.
    """
    parameters = list(inspect.signature(handler).parameters)
    if not parameters:
        return (Exception,)
    body = handler if inspect.isroutine(handler) else type(handler).__call__
    hint = typing.get_type_hints(body).get(parameters[0])
    if hint is None:
        return (Exception,)
    if get_origin(hint) in (typing.Union, types.UnionType):
        kinds = get_args(hint)
        if not all(map(_is_error, kinds)):
            raise ValueError(
                "All types in the error handler error annotation must be Exception types. For example, "
                f"`def custom_handler(e: Union[ValueError, TypeError])`. Got '{hint}' instead."
            )
        return kinds
    if _is_error(hint):
        return (hint,)
    raise ValueError(
        "Arbitrary types are not supported in the error handler signature. Please annotate the error with either a"
        " specific Exception type or a union of Exception types. For example, `def custom_handler(e: ValueError)` or"
        f" `def custom_handler(e: Union[ValueError, TypeError])`. Got '{hint}' instead."
    )


def _is_error(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)


def explained(error: Exception, call: ToolCall, filled: Mapping[str, Any]) -> Exception:
    """A tool's error; where the arguments are to blame, in words for the model, which knows what it wrote itself."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return error
    from graph_compat.prebuilt.marks import ToolInvocationError

    theirs = [told for told in error.errors() if not told["loc"] or told["loc"][0] not in filled]
    failure = ToolInvocationError(call["name"], error, call["args"], theirs)
    failure.__cause__ = error
    return failure
