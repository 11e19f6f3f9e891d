"""The values that graphs are written with. Those of flowfn are flowfn's own."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from typing_extensions import TypedDict

from checkpointers import CheckpointSaver
from flowfn import values
from flowfn.config import Durability
from flowfn.policies import CachePolicy, RetryPolicy, TimeoutPolicy, default_retry_on
from flowfn.pregel import INTERRUPT
from flowfn.runtime import StreamWriter
from flowfn.values import (
    Interrupt,
    Overwrite,
    PregelTask,
    Send,
    StateUpdate,
)
from graph_compat.asking import interrupt
from graph_compat.checkpoint.base.saver import BaseCheckpointSaver
from graph_compat.langchain.tool_output import Command
from graph_compat.snapshot import StateSnapshot
from graph_compat.typing import StateT
from graph_compat.warnings import LangGraphDeprecatedSinceV11, warn

__all__ = [
    "All",
    "CacheKey",
    "CachePolicy",
    "CheckpointPayload",
    "CheckpointStreamPart",
    "CheckpointTask",
    "Checkpointer",
    "Command",
    "CustomStreamPart",
    "DebugPayload",
    "DebugStreamPart",
    "Durability",
    "GraphOutput",
    "Interrupt",
    "KeyFuncT",
    "MessagesStreamPart",
    "Overwrite",
    "PregelExecutableTask",
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
    "TasksStreamPart",
    "TimeoutPolicy",
    "TracePolicy",
    "UpdatesStreamPart",
    "ValuesStreamPart",
    "default_cache_key",
    "default_retry_on",
    "ensure_valid_checkpointer",
    "interrupt",
    "omit_payload",
]

ValuesT = TypeVar("ValuesT")

All = Literal["*"]
"""Every node that isn't hidden."""

Checkpointer = BaseCheckpointSaver[Any] | CheckpointSaver | os.PathLike[str] | str | bool | None
"""Where threads are kept: a saver, a path, a URL; True and False are for graphs inside others."""

StreamMode = Literal["values", "updates", "checkpoints", "tasks", "debug", "messages", "custom"]
"""What a stream shows; see `flowfn.streams`."""


@dataclass(frozen=True, kw_only=True)
class TracePolicy:
    """What of a node a tracer may see: functions of its input and of its output."""

    process_inputs: Callable[[Any], Any] | None = None
    process_outputs: Callable[[Any], Any] | None = None


KeyFuncT = TypeVar("KeyFuncT", bound=Callable[..., str | bytes])
"""What makes a key of a node's input, or of a task's arguments."""


def default_cache_key(*args: Any, **kwargs: Any) -> str | bytes:
    """A key of what a call was given, whatever the order of its keyword arguments."""
    import pickle

    return pickle.dumps((args, _frozen(kwargs)), protocol=5, fix_imports=False)


def _frozen(value: Any, depth: int = 10) -> Any:
    """A value whose mappings and sequences, so deep, are tuples."""
    if depth <= 0 or isinstance(value, Hashable):
        return value
    if isinstance(value, Mapping):
        return tuple(sorted((key, _frozen(each, depth - 1)) for key, each in value.items()))
    return tuple(_frozen(each, depth - 1) for each in value) if isinstance(value, Sequence) else value


def omit_payload(_value: Any) -> dict[str, Any]:
    """Shows a tracer nothing."""
    return {}


def ensure_valid_checkpointer(checkpointer: Any) -> Any:
    """The checkpointer, if it is one.

    Raises:
        TypeError: says what is.
    """
    if checkpointer is None or isinstance(checkpointer, bool) or _is_saver(checkpointer):
        return checkpointer
    if isinstance(checkpointer, os.PathLike) or (isinstance(checkpointer, str) and _is_place(checkpointer)):
        return checkpointer
    raise TypeError(
        "Invalid checkpointer provided. Expected an instance of `BaseCheckpointSaver`, `True`, `False`, or `None`."
        f" Received {type(checkpointer).__name__}. Pass a proper saver (e.g., InMemorySaver, AsyncPostgresSaver)."
    )


def _is_saver(value: Any) -> bool:
    named = hasattr(value, "get_tuple") or hasattr(value, "aget_tuple")
    return named and not isinstance(value, type)


def _is_place(text: str) -> bool:
    """Whether a string is a path or a URL that a saver can be opened from."""
    return "://" in text or text.endswith((".db", ".sqlite", ".sqlite3"))


@dataclass(frozen=True)
class GraphOutput(values.GraphOutput, Generic[StateT]):
    """What `invoke(version="v2")` returns: `value`, and the `interrupts` that it waits on.

    It can still be asked for the keys of its value, as a result of the first version; that warns.
    """

    def __getitem__(self, key: str) -> Any:
        warn(
            f"Accessing GraphOutput via `result[key]` is deprecated. {_INSTEAD}", LangGraphDeprecatedSinceV11
        )
        return self.interrupts if key == INTERRUPT else self.value[key]

    def __contains__(self, key: str) -> bool:
        warn(
            f"Accessing GraphOutput via `key in result` is deprecated. {_INSTEAD}",
            LangGraphDeprecatedSinceV11,
        )
        return bool(self.interrupts) if key == INTERRUPT else key in self.value


_INSTEAD = "Its `value` has the keys, its `interrupts` the questions."


class TaskPayload(TypedDict):
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


class CheckpointTask(TypedDict):
    """A task that is due, in a `checkpoints` stream."""

    id: str
    name: str
    error: str | None
    interrupts: Any
    state: Any
    result: Any


class CheckpointPayload(TypedDict, Generic[StateT]):
    """A checkpoint, in a `checkpoints` stream."""

    config: dict[str, Any]
    metadata: dict[str, Any]
    values: StateT
    next: list[str]
    parent_config: dict[str, Any] | None
    tasks: list[CheckpointTask]


class DebugCheckpoint(TypedDict, Generic[StateT]):
    """A checkpoint, in a `debug` stream."""

    step: int
    timestamp: str
    type: Literal["checkpoint"]
    payload: CheckpointPayload[StateT]


class DebugTask(TypedDict):
    """The start of a task, in a `debug` stream."""

    step: int
    timestamp: str
    type: Literal["task"]
    payload: TaskPayload


class DebugTaskResult(TypedDict):
    """The end of a task, in a `debug` stream."""

    step: int
    timestamp: str
    type: Literal["task_result"]
    payload: TaskResultPayload


DebugPayload = DebugCheckpoint[StateT] | DebugTask | DebugTaskResult


# -- the chunks of a stream of version="v2" -------------------------------------------------------


class ValuesStreamPart(TypedDict, Generic[ValuesT]):
    """The state, in a stream of `version="v2"`."""

    type: Literal["values"]
    ns: tuple[str, ...]
    data: ValuesT
    interrupts: tuple[Interrupt, ...]


class UpdatesStreamPart(TypedDict):
    """What a task wrote."""

    type: Literal["updates"]
    ns: tuple[str, ...]
    data: dict[str, Any]


class MessagesStreamPart(TypedDict):
    """A chat message or a part of one, with what is known of its origin."""

    type: Literal["messages"]
    ns: tuple[str, ...]
    data: tuple[Any, dict[str, Any]]


class CustomStreamPart(TypedDict):
    """What user code wrote."""

    type: Literal["custom"]
    ns: tuple[str, ...]
    data: Any


class CheckpointStreamPart(TypedDict, Generic[StateT]):
    """A checkpoint."""

    type: Literal["checkpoints"]
    ns: tuple[str, ...]
    data: CheckpointPayload[StateT]


class TasksStreamPart(TypedDict):
    """The start or the end of a task."""

    type: Literal["tasks"]
    ns: tuple[str, ...]
    data: TaskPayload | TaskResultPayload


class DebugStreamPart(TypedDict, Generic[StateT]):
    """A task or a checkpoint, with its step and time."""

    type: Literal["debug"]
    ns: tuple[str, ...]
    data: DebugPayload[StateT]


StreamPart = (
    ValuesStreamPart[ValuesT]
    | UpdatesStreamPart
    | MessagesStreamPart
    | CustomStreamPart
    | CheckpointStreamPart[StateT]
    | TasksStreamPart
    | DebugStreamPart[StateT]
)
"""A chunk of a stream of `version="v2"`."""


# -- what LangGraph runs, for code that names it --------------------------------------------------


class CacheKey(NamedTuple):
    """Where a result is kept, and for how many seconds."""

    ns: tuple[str, ...]
    key: str
    ttl: int | None


@dataclass(frozen=True)
class PregelExecutableTask:
    """A task as LangGraph's runner is given it. Never made here; kept for code that names it."""

    name: str
    input: Any
    proc: Any
    writes: deque[tuple[str, Any]]
    config: Any
    triggers: Sequence[str]
    retry_policy: Sequence[RetryPolicy]
    cache_key: CacheKey | None
    id: str
    path: tuple[Any, ...]
    writers: Sequence[Any] = ()
    subgraphs: Sequence[Any] = ()
    timeout: TimeoutPolicy | None = None
