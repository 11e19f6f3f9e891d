"""Stream events v3: a run that is read by what it shows, each projection when somebody asks for it.

`graph.stream_events(…, version="v3")` gives a `GraphRunStream`.

- What a run is: `run_stream`, put together by `running`; `protocol`: its events; `source`: those of asyncio.
- What it shows: `stream_channel` is a projection, `transformer` what makes it of the events, `_mux` what hands them on;
  `_types` is another path of theirs.
- What comes with it: `modes` (values, updates, …), `messages`, `lifecycle`, `subgraphs`; `transformers` has them all.
"""

from __future__ import annotations

from graph_compat.stream.lifecycle import LifecyclePayload, LifecycleTransformer
from graph_compat.stream.modes import (
    CheckpointsTransformer,
    CustomTransformer,
    DebugTransformer,
    TasksTransformer,
    UpdatesTransformer,
)
from graph_compat.stream.protocol import ProtocolEvent
from graph_compat.stream.run_stream import (
    AsyncGraphRunStream,
    AsyncSubgraphRunStream,
    GraphRunStream,
    SubgraphRunStream,
    SubgraphStatus,
)
from graph_compat.stream.stream_channel import StreamChannel
from graph_compat.stream.subgraphs import SubgraphTransformer
from graph_compat.stream.transformer import StreamTransformer

__all__ = [
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
]
