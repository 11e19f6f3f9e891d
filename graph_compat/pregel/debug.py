"""What a stream of mode "debug", "tasks" or "checkpoints" carries, where servers of graphs import it from."""

from __future__ import annotations

from graph_compat.types import CheckpointPayload, TaskPayload, TaskResultPayload

__all__ = ["CheckpointPayload", "TaskPayload", "TaskResultPayload"]
