"""LangGraph's module of its program and its builder, for code that imports them from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.python.lazy import lend
from graph_compat.pregel.builder import NodeBuilder
from graph_compat.pregel.program import Pregel

if TYPE_CHECKING:
    from graph_compat.cache.base import BaseCache as BaseCache
    from graph_compat.channels import Topic as Topic
    from graph_compat.channels.base import BaseChannel as BaseChannel
    from graph_compat.checkpoint.base import INTERRUPT as INTERRUPT
    from graph_compat.checkpoint.base import BaseCheckpointSaver as BaseCheckpointSaver
    from graph_compat.checkpoint.base import Checkpoint as Checkpoint
    from graph_compat.checkpoint.base import CheckpointTuple as CheckpointTuple
    from graph_compat.checkpoint.base import copy_checkpoint as copy_checkpoint
    from graph_compat.checkpoint.base import create_checkpoint as create_checkpoint
    from graph_compat.checkpoint.base import empty_checkpoint as empty_checkpoint
    from graph_compat.constants import CONF as CONF
    from graph_compat.constants import END as END
    from graph_compat.constants import TASKS as TASKS
    from graph_compat.errors import ErrorCode as ErrorCode
    from graph_compat.errors import GraphRecursionError as GraphRecursionError
    from graph_compat.errors import InvalidUpdateError as InvalidUpdateError
    from graph_compat.errors import create_error_message as create_error_message
    from graph_compat.runtime import Runtime as Runtime
    from graph_compat.store.base import BaseStore as BaseStore
    from graph_compat.types import CachePolicy as CachePolicy
    from graph_compat.types import Command as Command
    from graph_compat.types import GraphOutput as GraphOutput
    from graph_compat.types import Interrupt as Interrupt
    from graph_compat.types import RetryPolicy as RetryPolicy
    from graph_compat.types import Send as Send
    from graph_compat.types import StateSnapshot as StateSnapshot
    from graph_compat.types import StateUpdate as StateUpdate
    from graph_compat.types import StreamPart as StreamPart
    from graph_compat.types import TimeoutPolicy as TimeoutPolicy

__all__ = ["NodeBuilder", "Pregel"]

# What programs also import from here.
lend(
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
