"""Names with a fixed meaning: of configurations, of channels that writes are shown under, and of tasks' paths."""

from graph_compat.checkpoint.serde.types import ERROR, INTERRUPT, RESUME
from graph_compat.constants import (
    CONF,
    CONFIG_KEY_CHECKPOINT_ID,
    CONFIG_KEY_CHECKPOINT_MAP,
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_CHECKPOINTER,
    CONFIG_KEY_READ,
    CONFIG_KEY_RUNTIME,
    CONFIG_KEY_SEND,
    CONFIG_KEY_THREAD_ID,
    NS_END,
    NS_SEP,
    PREVIOUS,
    PULL,
    PUSH,
    TASKS,
)

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
