"""The values that graphs are written with. Those of flowfn are flowfn's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from flowfn import interrupt
from flowfn.config import Durability
from flowfn.policies import CachePolicy, RetryPolicy, TimeoutPolicy, default_retry_on
from flowfn.runtime import StreamWriter
from flowfn.values import (
    Command,
    GraphOutput,
    Interrupt,
    Overwrite,
    PregelTask,
    Send,
    StateSnapshot,
    StateUpdate,
)

__all__ = [
    "All",
    "CachePolicy",
    "CheckpointPayload",
    "CheckpointTask",
    "Checkpointer",
    "Command",
    "Durability",
    "GraphOutput",
    "Interrupt",
    "Overwrite",
    "PregelTask",
    "RetryPolicy",
    "Send",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamPart",
    "StreamWriter",
    "TaskPayload",
    "TaskResultPayload",
    "TimeoutPolicy",
    "TracePolicy",
    "default_retry_on",
    "ensure_valid_checkpointer",
    "interrupt",
    "omit_payload",
]

All = Literal["*"]
"""Every node that isn't hidden."""

Checkpointer = Any
"""None, True, False, a saver, a path, or a URL."""

StreamMode = Literal["values", "updates", "checkpoints", "tasks", "debug", "messages", "custom"]
"""What a stream shows; see `flowfn.streams`."""


@dataclass(frozen=True, kw_only=True)
class TracePolicy:
    """What of a node a tracer may see: functions of its input and of its output."""

    process_inputs: Callable[[Any], Any] | None = None
    process_outputs: Callable[[Any], Any] | None = None


def omit_payload(value: Any) -> dict[str, Any]:
    """Shows a tracer nothing."""
    return {}


def ensure_valid_checkpointer(checkpointer: Any) -> Any:
    """The checkpointer, if it is one.

    Raises:
        TypeError: says what is.
    """
    if checkpointer is None or isinstance(checkpointer, bool) or _is_saver(checkpointer):
        return checkpointer
    import os

    if isinstance(checkpointer, os.PathLike) or (isinstance(checkpointer, str) and _is_place(checkpointer)):
        return checkpointer
    raise TypeError(
        "Invalid checkpointer provided. Expected an instance of `BaseCheckpointSaver`, `True`, `False`, or `None`."
        f" Received {type(checkpointer).__name__}. Pass a proper saver (e.g., InMemorySaver, AsyncPostgresSaver)."
    )


def _is_saver(value: Any) -> bool:
    return hasattr(value, "get_tuple") and not isinstance(value, type)


def _is_place(text: str) -> bool:
    """Whether a string is a path or a URL that a saver can be opened from."""
    return "://" in text or text.endswith((".db", ".sqlite", ".sqlite3"))


class TaskPayload(TypedDict, total=False):
    """The start of a task, in a `tasks` stream."""

    id: str
    name: str
    input: Any
    triggers: tuple[str, ...]
    metadata: dict[str, Any]


class TaskResultPayload(TypedDict):
    """The end of a task, in a `tasks` stream."""

    id: str
    name: str
    error: str | None
    result: dict[str, Any]
    interrupts: list[dict[str, Any]]


class CheckpointTask(TypedDict, total=False):
    """A task that is due, in a `checkpoints` stream."""

    id: str
    name: str
    error: str | None
    interrupts: Any
    state: Any


class CheckpointPayload(TypedDict):
    """A checkpoint, in a `checkpoints` stream."""

    config: dict[str, Any]
    parent_config: dict[str, Any] | None
    values: Any
    metadata: dict[str, Any]
    next: list[str]
    tasks: list[CheckpointTask]


class StreamPart(TypedDict, total=False):
    """A chunk of a stream of `version="v2"`."""

    type: str
    ns: tuple[str, ...]
    data: Any
    interrupts: tuple[Interrupt, ...]
