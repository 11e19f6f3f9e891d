"""Names with a fixed meaning: of configurations, of channels that writes are shown under, and of tasks' paths."""

from typing import Final

from graph_compat.checkpoint.serde.types import ERROR, INTERRUPT, RESUME
from graph_compat.constants import (
    CONF,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_READ,
    CONFIG_KEY_RUNTIME,
    CONFIG_KEY_SEND,
    PREVIOUS,
    TASKS,
)

CONFIG_KEY_THREAD_ID: Final = "thread_id"
CONFIG_KEY_CHECKPOINT_ID: Final = "checkpoint_id"
CONFIG_KEY_CHECKPOINT_MAP: Final = "checkpoint_map"
CONFIG_KEY_CHECKPOINT_NS: Final = "checkpoint_ns"

NS_SEP: Final = "|"
"""Between the graphs of a namespace, the outermost first."""

NS_END: Final = ":"
"""Between a node's name and its task's id in a namespace."""

PULL: Final = "__pregel_pull"
"""The first part of the path of a task that an edge led to."""

PUSH: Final = "__pregel_push"
"""The first part of the path of a task that was sent."""

__all__ = [
    "CONF",
    "CONFIG_KEY_CHECKPOINTER",
    "CONFIG_KEY_CHECKPOINT_ID",
    "CONFIG_KEY_CHECKPOINT_MAP",
    "CONFIG_KEY_CHECKPOINT_NS",
    "CONFIG_KEY_READ",
    "CONFIG_KEY_RUNTIME",
    "CONFIG_KEY_SEND",
    "CONFIG_KEY_THREAD_ID",
    "ERROR",
    "INTERRUPT",
    "NS_END",
    "NS_SEP",
    "PREVIOUS",
    "PULL",
    "PUSH",
    "RESUME",
    "TASKS",
]
