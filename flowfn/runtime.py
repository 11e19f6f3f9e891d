"""What running code may know of itself: its thread, its attempt, its configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flowfn.context import current_frame

StreamWriter = Callable[[Any], None]
"""Writes to the "custom" stream of the run; does nothing where nobody watches."""


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """The running task and its run; injected as `runtime`, or returned by `current()`.

    `attempt` counts from 1. `idempotency_key` is the same for every attempt at this call of this run,
    across retries, crashes and processes, and different for every other call.
    """

    thread_id: str | None
    task_id: str
    name: str
    attempt: int
    idempotency_key: str
    config: Mapping[str, Any]
    previous: Any
    store: Any
    context: Any
    stream_writer: StreamWriter


def current() -> Runtime:
    """The running task.

    Raises:
        RuntimeError: no task or entrypoint is running here.
    """
    frame = current_frame.get()
    if frame is None:
        raise RuntimeError("no task is running here: current() is for code inside a @task or an @entrypoint")
    return frame.runtime


def get_stream_writer() -> StreamWriter:
    """A function that writes to the run's "custom" stream; it does nothing where nobody watches.

    Raises:
        RuntimeError: no task or entrypoint is running here.
    """
    return current().stream_writer


def get_store() -> Any:
    """The workflow's store, as the parameter `store` has it; None where it has none.

    Raises:
        RuntimeError: no task or entrypoint is running here.
    """
    return current().store


def get_config() -> Mapping[str, Any]:
    """The configuration of the running call.

    Raises:
        RuntimeError: no task or entrypoint is running here.
    """
    return current().config
