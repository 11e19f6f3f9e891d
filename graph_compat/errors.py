"""The errors that LangGraph's users catch, by the names that they know.

Rule: an error is flowfn's wherever flowfn has it; what only graphs raise is defined here. Control signals
derive from `BaseException`, so that `except Exception` in a node can't swallow a question to a human (G8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

from checkpointers.foreign.errors import SaverRaised
from flowfn.errors import (
    AmbiguousAnswer,
    EmptyChannelError,
    EmptyCommand,
    FlowError,
    GraphRecursionError,
    InvalidUpdateError,
    NoCheckpointer,
    Signal,
    TaskTimeout,
)
from flowfn.errors import Drained as GraphDrained
from flowfn.errors import Suspended as GraphInterrupt
from flowfn.values import Command, Interrupt
from graph_compat.warnings import LangGraphDeprecatedSinceV10, warn

__all__ = [
    "EmptyChannelError",
    "EmptyInputError",
    "ErrorCode",
    "GraphBubbleUp",
    "GraphDrained",
    "GraphInterrupt",
    "GraphRecursionError",
    "InvalidUpdateError",
    "NodeCancelledError",
    "NodeError",
    "NodeInterrupt",
    "NodeTimeoutError",
    "ParentCommand",
    "TaskNotFound",
    "UnknownInterruptError",
    "create_error_message",
    "is_invalid_resume",
]

GraphBubbleUp = Signal


class ErrorCode(Enum):
    """What LangGraph's troubleshooting pages are named by."""

    GRAPH_RECURSION_LIMIT = "GRAPH_RECURSION_LIMIT"
    INVALID_CONCURRENT_GRAPH_UPDATE = "INVALID_CONCURRENT_GRAPH_UPDATE"
    INVALID_GRAPH_NODE_RETURN_VALUE = "INVALID_GRAPH_NODE_RETURN_VALUE"
    MULTIPLE_SUBGRAPHS = "MULTIPLE_SUBGRAPHS"
    INVALID_CHAT_HISTORY = "INVALID_CHAT_HISTORY"


def create_error_message(*, message: str, error_code: ErrorCode) -> str:
    """A message that ends with the address of the page on it."""
    page = f"https://docs.langchain.com/oss/python/langgraph/errors/{error_code.value}"
    return f"{message}\nFor troubleshooting, visit: {page}"


class EmptyInputError(FlowError):
    """A graph got no input, and has nothing to go on with."""


class NodeInterrupt(GraphInterrupt):
    """Raised by a node to stop its graph with a question. Deprecated in favour of `interrupt()`."""

    def __init__(self, value: Any, id: str | None = None) -> None:
        warn("NodeInterrupt is deprecated. Use `interrupt()` instead.", LangGraphDeprecatedSinceV10)
        super().__init__([Interrupt(value, id or "placeholder-id")])


class ParentCommand(GraphBubbleUp):
    """Carries a `Command(graph=Command.PARENT)` out of a graph to the one around it; `args[0]` is the command."""

    def __init__(self, command: Command[Any]) -> None:
        super().__init__(command)


class Arrived(ParentCommand):
    """A `ParentCommand` that has left its graph: its command is for the node that the graph runs in."""


class NodeTimeoutError(Exception):
    """A node took too long. `kind` is "run" or "idle"; times are in seconds."""

    def __init__(
        self,
        node: str,
        elapsed: float,
        *,
        kind: str = "run",
        run_timeout: float | None = None,
        idle_timeout: float | None = None,
    ) -> None:
        self.node = node
        self.elapsed = elapsed
        self.kind = kind
        self.run_timeout = run_timeout
        self.idle_timeout = idle_timeout
        limit = (run_timeout if kind == "run" else idle_timeout) or 0.0
        self.timeout = limit
        progress = "" if kind == "run" else " without making progress"
        super().__init__(
            f"Node '{node}' exceeded its {kind} timeout of {limit:.3f}s{progress} (elapsed: {elapsed:.3f}s)."
        )


class NodeCancelledError(Exception):
    """A node raised `asyncio.CancelledError` itself."""

    def __init__(self, node: str, message: str | None = None) -> None:
        self.node = node
        super().__init__(message or f"Node '{node}' raised asyncio.CancelledError")


class TaskNotFound(Exception):
    """A distributed executor doesn't know a task. Never raised here; kept for code that names it."""


class UnknownInterruptError(Exception):
    """An answer names no question that waits. Never raised here: such an answer is refused by flowfn's own errors."""

    def __init__(
        self,
        message: str,
        *,
        reason: Literal["not_pending", "empty_map", "ambiguous"],
        interrupt_ids: Sequence[str] = (),
        pending_ids: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.interrupt_ids = tuple(interrupt_ids)
        self.pending_ids = tuple(pending_ids)


def invalid_resume(error: ValueError) -> ValueError:
    """The error of an answer that doesn't fit its `response_schema`, marked as such."""
    error.__dict__["invalid_resume"] = True
    return error


def is_invalid_resume(error: BaseException) -> bool:
    """Whether an error is that of an answer that doesn't fit its `response_schema`."""
    return getattr(error, "invalid_resume", False) is True


@dataclass(frozen=True)
class NodeError:
    """What an error handler is given: which node failed, and how."""

    node: str
    error: BaseException


class _Asked(GraphInterrupt):
    """A question by LangGraph's name of it: of what ends a run, callbacks write down the name of its class."""

    def __reduce__(self) -> tuple[Any, ...]:
        return GraphInterrupt, self.args


_Asked.__name__ = _Asked.__qualname__ = "GraphInterrupt"


class _Left(ParentCommand, Exception):
    """A `ParentCommand` that has left the outermost graph: nothing is left there to swallow it, and it is an error."""

    def __reduce__(self) -> tuple[Any, ...]:
        return ParentCommand, self.args


_Left.__name__ = _Left.__qualname__ = "ParentCommand"


def told_to_callbacks(error: BaseException) -> BaseException:
    """What ends a run, by the name that LangGraph has for it."""
    if type(error) is GraphInterrupt:
        return _Asked(*error.args).with_traceback(error.__traceback__)
    if type(error) is Arrived:
        return ParentCommand(*error.args).with_traceback(error.__traceback__)
    return error


def no_input(channels: str | Sequence[str], why: object) -> EmptyInputError:
    """The error of a call without an input, or of an input without anything in it."""
    return EmptyInputError(f"Received no input for {channels}. {why}")


def translated(error: BaseException) -> BaseException:
    """An error of the engine as LangGraph's users know it."""
    translate = _TRANSLATIONS.get(type(error))
    if translate is None:
        return error
    known = translate(error)
    if known is error:
        return error
    for note in getattr(error, "__notes__", ()):
        known.add_note(note)
    return known


def timed_out(error: TaskTimeout) -> Exception:
    """The error of a task that took too long, as its retry policies and its error handler know it."""
    return NodeTimeoutError(
        error.name, error.elapsed, kind=error.kind, **{f"{error.kind}_timeout": error.timeout}
    )


def _with_page(error: BaseException, code: ErrorCode) -> BaseException:
    """The error itself, whose message now ends with the address of the page on it."""
    if code.value not in str(error):
        error.args = (create_error_message(message=str(error), error_code=code),)
    return error


def _update(error: InvalidUpdateError) -> BaseException:
    several = "Can receive only one value per step" in str(error)
    return _with_page(error, ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE) if several else error


_TRANSLATIONS: dict[type[BaseException], Callable[[Any], BaseException]] = {
    EmptyCommand: lambda error: EmptyInputError(f"Received empty Command input. {error}"),
    NoCheckpointer: lambda error: RuntimeError(
        f"Cannot use Command(resume=...) without checkpointer. {error}"
    ),
    AmbiguousAnswer: lambda error: RuntimeError(
        "When there are multiple pending interrupts, you must specify the interrupt id when resuming."
        f" {error}"
    ),
    TaskTimeout: timed_out,
    SaverRaised: lambda error: error.__cause__,
    ParentCommand: lambda error: _Left(*error.args).with_traceback(error.__traceback__),
    InvalidUpdateError: _update,
    GraphRecursionError: lambda error: _with_page(error, ErrorCode.GRAPH_RECURSION_LIMIT),
}
