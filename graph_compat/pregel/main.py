"""LangGraph's module of its program and its builder, for code that imports them from there."""

from __future__ import annotations

from flowfn.python.lazy import lazily
from graph_compat.pregel.builder import NodeBuilder
from graph_compat.pregel.program import Pregel

__all__ = ["NodeBuilder", "Pregel"]

# What programs also import from here.
__getattr__, __dir__ = lazily(
    __name__,
    {
        "BaseCache": "graph_compat.cache.base",
        "Topic": "graph_compat.channels",
        "BaseChannel": "graph_compat.channels.base",
        **dict.fromkeys(
            (
                "BaseCheckpointSaver",
                "Checkpoint",
                "CheckpointTuple",
                "INTERRUPT",
                "copy_checkpoint",
                "create_checkpoint",
                "empty_checkpoint",
            ),
            "graph_compat.checkpoint.base",
        ),
        **dict.fromkeys(("CONF", "END", "TASKS"), "graph_compat.constants"),
        **dict.fromkeys(
            ("ErrorCode", "GraphRecursionError", "InvalidUpdateError", "create_error_message"),
            "graph_compat.errors",
        ),
        "Runtime": "graph_compat.runtime",
        "BaseStore": "graph_compat.store.base",
        **dict.fromkeys(
            (
                "CachePolicy",
                "Command",
                "GraphOutput",
                "Interrupt",
                "RetryPolicy",
                "Send",
                "StateSnapshot",
                "StateUpdate",
                "StreamPart",
                "TimeoutPolicy",
            ),
            "graph_compat.types",
        ),
    },
)
