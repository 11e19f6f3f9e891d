"""The event vocabulary: what a run tells those who watch it.

Streams, progress displays, logging and tracing are subscribers; nothing is made where nobody watches.

| event | when |
|---|---|
| `TaskStarted` | a call begins to execute (not where its record is reused) |
| `TaskFinished` | its outcome is recorded: a value, an error, or neither where it waits for an answer |
| `TaskReused` | a recorded value was handed back |
| `ValuesChanged` | a superstep changed an output channel, or a resumed run shows where it stands |
| `CheckpointSaved` | a checkpoint was planned on: `next` and `tasks` are known |
| `RunSuspended` | the run stops for answers |
| `Custom` | user code wrote to the stream |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowfn.values import MISSING, Checkpoint, Interrupt

if TYPE_CHECKING:
    from flowfn.engine.call import Call


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """A call begins to execute, in superstep `step`."""

    namespace: str
    step: int
    call: Call


@dataclass(frozen=True, slots=True)
class TaskFinished:
    """A call's outcome is recorded: `value`, or `error` (`Suspended` where it waits for an answer)."""

    namespace: str
    step: int
    call: Call
    value: Any = MISSING
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class TaskReused:
    """A recorded value was handed back."""

    namespace: str
    step: int
    call: Call
    value: Any


@dataclass(frozen=True, slots=True)
class ValuesChanged:
    """An output channel changed; `values` is the result as it stands."""

    namespace: str
    values: Any


@dataclass(frozen=True, slots=True)
class CheckpointSaved:
    """A checkpoint was saved, and what runs next is planned."""

    namespace: str
    thread: str
    checkpoint: Checkpoint
    values: Any
    next: tuple[tuple[str, str], ...]
    """The (id, name) of each task that runs next."""


@dataclass(frozen=True, slots=True)
class RunSuspended:
    """The run stops until its questions are answered."""

    namespace: str
    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True, slots=True)
class Custom:
    """User code wrote `data` to the stream."""

    namespace: str
    data: Any


Event = TaskStarted | TaskFinished | TaskReused | ValuesChanged | CheckpointSaved | RunSuspended | Custom
