"""What running code may know of itself: its thread, its attempt, its configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic

from flowfn.context import current_frame, shipped
from flowfn.type_variables import ContextT

StreamWriter = Callable[[Any], None]
"""Writes to the "custom" stream of the run; does nothing where nobody watches."""


class RunControl:
    """Asks a run, from any thread, to stop after the superstep that is under way. Passed as `control=`.

    The run raises `Drained`, unless nothing is left to do, and can be resumed by `invoke(None, …)`.
    """

    def __init__(self) -> None:
        self._reason: str | None = None

    def request_drain(self, reason: str = "shutdown") -> None:
        """Ask the run to stop; the first `reason` is kept."""
        if self._reason is None:
            self._reason = reason

    @property
    def drain_requested(self) -> bool:
        """Whether the run was asked to stop."""
        return self._reason is not None

    @property
    def drain_reason(self) -> str | None:
        """Why the run was asked to stop; None if it wasn't."""
        return self._reason


@dataclass(frozen=True, slots=True)
class ExecutionInfo:
    """Where running code stands: its thread, its task, and which attempt this is. The shape is LangGraph's.

    `task_id` is the same on every attempt at the call; `checkpoint_ns` lists, from the root inwards, the
    `name:id` of each task around it and its own. `node_attempt` counts from 1.
    """

    checkpoint_id: str
    checkpoint_ns: str
    task_id: str
    thread_id: str | None = None
    run_id: str | None = None
    node_attempt: int = 1
    node_first_attempt_time: float | None = None
    """Seconds since the epoch."""

    def patch(self, **changes: Any) -> ExecutionInfo:
        """The same with other values."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a hosted server knows of a run. The shape is LangGraph's; flowfn has no server, and makes none."""

    assistant_id: str
    graph_id: str
    user: Any = None


def unheard(data: Any) -> None:
    """The writer of a run that nobody watches."""


def _unneeded() -> None:
    """The heartbeat of a task without an idle timeout."""


@dataclass(frozen=True, kw_only=True)
class Runtime(Generic[ContextT]):
    """The running task and its run; injected as `runtime`, or returned by `current()`.

    The fields down to `control` are LangGraph's. `idempotency_key` is the same for every attempt at this
    call of this run, across retries, crashes and processes, and different for every other call.
    """

    context: ContextT = None  # type: ignore[assignment]
    store: Any = None
    stream_writer: StreamWriter = unheard
    heartbeat: Callable[[], None] = _unneeded
    """A sign of life, for a task with an idle timeout."""
    previous: Any = None
    execution_info: ExecutionInfo | None = None
    server_info: ServerInfo | None = None
    control: RunControl | None = None
    name: str = field(default="", repr=False)
    idempotency_key: str = field(default="", repr=False)
    config: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def thread_id(self) -> str | None:
        """The thread that the run is on; None where nothing is kept."""
        return None if self.execution_info is None else self.execution_info.thread_id

    @property
    def task_id(self) -> str:
        """The id of the running call, as in streams and snapshots."""
        return "" if self.execution_info is None else self.execution_info.task_id

    @property
    def attempt(self) -> int:
        """Which attempt at the call this is, from 1."""
        return 1 if self.execution_info is None else self.execution_info.node_attempt

    @property
    def drain_requested(self) -> bool:
        """Whether somebody asked the run to stop after its superstep."""
        return self.control is not None and self.control.drain_requested

    @property
    def drain_reason(self) -> str | None:
        """Why; None if nobody did."""
        return None if self.control is None else self.control.drain_reason

    def merge(self, other: Runtime[ContextT]) -> Runtime[ContextT]:
        """This runtime under another one, whose values count where it has any."""
        given = ((f.name, getattr(other, f.name)) for f in fields(other))
        blank = Runtime[ContextT]()
        return replace(self, **{n: v for n, v in given if v is not None and v != getattr(blank, n)})

    def override(self, **changes: Any) -> Runtime[ContextT]:
        """The same with other values."""
        return replace(self, **changes)

    def patch_execution_info(self, **changes: Any) -> Runtime[ContextT]:
        """The same with other values in `execution_info`.

        Raises:
            RuntimeError: it has none.
        """
        if self.execution_info is None:
            raise RuntimeError("Cannot patch execution_info before it has been set")
        return replace(self, execution_info=self.execution_info.patch(**changes))


def current() -> Runtime[Any]:
    """The running task.

    Raises:
        RuntimeError: no task or entrypoint is running here.
    """
    frame = current_frame.get()
    if frame is not None:
        return frame.runtime
    runtime = shipped.get()
    if runtime is None:
        raise RuntimeError("no task is running here: current() is for code inside a @task or an @entrypoint")
    return runtime


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
