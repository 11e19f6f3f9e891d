"""The built-in transformers of stream events v3, where libraries import them from, and which of them every run has."""

from __future__ import annotations

from typing import Final

from graph_compat.stream.lifecycle import LifecyclePayload, LifecycleTransformer, _TasksLifecycleBase
from graph_compat.stream.messages import MessagesTransformer
from graph_compat.stream.modes import (
    CheckpointsTransformer,
    CustomTransformer,
    DebugTransformer,
    TasksTransformer,
    UpdatesTransformer,
    ValuesTransformer,
)
from graph_compat.stream.run_stream import SubgraphStatus
from graph_compat.stream.subgraphs import SubgraphTransformer
from graph_compat.stream.transformer import StreamTransformer

__all__ = [
    "BUILTINS",
    "CheckpointsTransformer",
    "CustomTransformer",
    "DebugTransformer",
    "LifecyclePayload",
    "LifecycleTransformer",
    "MessagesTransformer",
    "SubgraphStatus",
    "SubgraphTransformer",
    "TasksTransformer",
    "UpdatesTransformer",
    "ValuesTransformer",
    "_TasksLifecycleBase",
]

BUILTINS: Final[tuple[type[StreamTransformer], ...]] = (
    ValuesTransformer,
    MessagesTransformer,
    LifecycleTransformer,
    SubgraphTransformer,
)
