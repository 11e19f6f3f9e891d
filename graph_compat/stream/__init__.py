"""LangGraph's third version of stream events, which graph_compat leaves out."""

from __future__ import annotations

from typing import Any

from graph_compat.left_out import EVENTS, left_out, stand_in

_NAMES = (
    "AsyncGraphRunStream",
    "CheckpointsTransformer",
    "CustomTransformer",
    "DebugTransformer",
    "GraphRunStream",
    "LifecyclePayload",
    "LifecycleTransformer",
    "ProtocolEvent",
    "SubgraphTransformer",
    "TasksTransformer",
    "UpdatesTransformer",
)

AsyncSubgraphRunStream: Any = stand_in(__name__, "AsyncSubgraphRunStream", EVENTS)
StreamChannel: Any = stand_in(__name__, "StreamChannel", EVENTS)
StreamTransformer: Any = stand_in(__name__, "StreamTransformer", EVENTS)
SubgraphRunStream: Any = stand_in(__name__, "SubgraphRunStream", EVENTS)
SubgraphStatus: Any = stand_in(__name__, "SubgraphStatus", EVENTS)
_TasksLifecycleBase: Any = stand_in(__name__, "_TasksLifecycleBase", EVENTS)

__getattr__ = left_out(__name__, dict.fromkeys(_NAMES, EVENTS))
