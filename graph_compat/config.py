"""What code inside a node or a task looks up: its configuration, its store, its writer."""

from __future__ import annotations

from typing import Any

from flowfn.runtime import StreamWriter
from graph_compat.injection import config_of, frame_here

__all__ = ["get_config", "get_store", "get_stream_writer"]


def get_config() -> dict[str, Any]:
    """The configuration of the running node or task.

    Raises:
        RuntimeError: nothing runs here.
    """
    return config_of(frame_here())


def get_store() -> Any:
    """The store of the running graph; None where it has none.

    Raises:
        RuntimeError: nothing runs here.
    """
    return frame_here().runtime.store


def get_stream_writer() -> StreamWriter:
    """A function that writes to the "custom" stream of the run; it does nothing where nobody watches.

    Raises:
        RuntimeError: nothing runs here.
    """
    return frame_here().runtime.stream_writer
