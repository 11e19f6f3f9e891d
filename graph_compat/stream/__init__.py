"""LangGraph's third version of stream events, which graph_compat leaves out."""

from __future__ import annotations

from graph_compat.left_out import EVENTS, left_out

_NAMES = (
    "AsyncGraphRunStream",
    "AsyncSubgraphRunStream",
    "CheckpointsTransformer",
    "CustomTransformer",
    "DebugTransformer",
    "GraphRunStream",
    "LifecyclePayload",
    "LifecycleTransformer",
    "ProtocolEvent",
    "StreamChannel",
    "StreamTransformer",
    "SubgraphRunStream",
    "SubgraphStatus",
    "SubgraphTransformer",
    "TasksTransformer",
    "UpdatesTransformer",
)

__getattr__ = left_out(__name__, dict.fromkeys(_NAMES, EVENTS))
