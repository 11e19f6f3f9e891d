"""Transformers that show the events of one stream mode as they are: those of their own graph, and of none in it."""

from __future__ import annotations

from typing import Any, ClassVar

from graph_compat.stream.protocol import ProtocolEvent
from graph_compat.stream.stream_channel import StreamChannel
from graph_compat.stream.transformer import StreamTransformer

__all__ = [
    "CheckpointsTransformer",
    "CustomTransformer",
    "DebugTransformer",
    "TasksTransformer",
    "UpdatesTransformer",
    "ValuesTransformer",
]


class _OneMode(StreamTransformer):
    """Shows one mode in a channel of its name."""

    _native: ClassVar[bool] = True

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._log: StreamChannel[Any] = StreamChannel()

    def init(self) -> dict[str, Any]:
        return {self.required_stream_modes[0]: self._log}

    def process(self, event: ProtocolEvent) -> bool:
        params = event["params"]
        if event["method"] == self.required_stream_modes[0] and tuple(params["namespace"]) == self.scope:
            self._log.push(params["data"])
        return True


class ValuesTransformer(_OneMode):
    """Shows the state, each time that it changes, in `run.values`."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ("values",)


class UpdatesTransformer(_OneMode):
    """Shows what each node wrote in `run.updates`."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ("updates",)


class CustomTransformer(_OneMode):
    """Shows what user code wrote to the stream in `run.custom`."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ("custom",)


class CheckpointsTransformer(_OneMode):
    """Shows each checkpoint in `run.checkpoints`."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ("checkpoints",)


class DebugTransformer(_OneMode):
    """Shows tasks and checkpoints, each with its step and time, in `run.debug`."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ("debug",)


class TasksTransformer(_OneMode):
    """Shows the start and the end of each task in `run.tasks`."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ("tasks",)
