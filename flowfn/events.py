"""The event vocabulary: what a run tells those who watch it.

Streams, progress displays, logging and tracing are subscribers; nothing is made where nobody watches.

| event | when |
|---|---|
| `RunStarted` | a run holds its thread, and begins or goes on |
| `RunEnded` | it is over: with a value, an error, or questions |
| `TaskStarted` | a call begins to execute (not where its record is reused) |
| `TaskRetried` | an attempt at it failed, and another follows |
| `TaskFinished` | its outcome is recorded: a value, an error, or neither where it waits for an answer |
| `TaskReused` | a recorded value was handed back |
| `NodeReused` | a node of the superstep had finished in an earlier attempt |
| `ValuesChanged` | a superstep changed an output channel, or a resumed run shows where it stands |
| `CheckpointSaved` | a checkpoint was planned on: `next` and `tasks` are known |
| `RunResumed` | a run goes on from a checkpoint, its questions answered or not |
| `RunSuspended` | the run stops for answers |
| `Message` | a chat model wrote a message, or a piece of one |
| `ToolTold` | a tool that a chat model called began, showed a piece of its output, or ended |
| `Custom` | user code wrote to the stream |
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.values import MISSING, Checkpoint, Interrupt, Write

if TYPE_CHECKING:
    from flowfn.config import RunConfig
    from flowfn.engine.calls.call import Call
    from flowfn.pregel.program import Program, Task
    from flowfn.pregel.view import View


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run of `workflow` begins, or goes on, on `thread`, which is empty where no past is kept."""

    namespace: str
    thread: str
    workflow: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run is over: with `value`, with `error`, or waiting for the answers to `interrupts`."""

    namespace: str
    thread: str
    value: Any = MISSING
    error: BaseException | None = None
    interrupts: tuple[Interrupt, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskStarted:
    """A call begins to execute, in superstep `step`."""

    namespace: str
    step: int
    call: Call


@dataclass(frozen=True, slots=True)
class TaskRetried:
    """The attempt of number `attempt` (from 1) failed with `error`; the next begins in `delay` seconds."""

    namespace: str
    step: int
    call: Call
    attempt: int
    error: BaseException
    delay: float


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
class NodeReused:
    """A node's task had finished in an earlier attempt; `task.writes` is what it wrote then.

    `caller` is the call that its program is nested in, None for the outermost.
    """

    namespace: str
    step: int
    program: Program
    task: Task
    id: str
    config: RunConfig
    caller: Call | None = None


@dataclass(frozen=True, slots=True)
class ValuesChanged:
    """The state as it stands, and which channels changed; None for a run that goes on from there."""

    namespace: str
    program: Program
    state: View
    changed: Collection[str] | None = None


class Due(NamedTuple):
    """A task that runs next, and what an earlier attempt at it came to: an error's text, questions, writes."""

    id: str
    name: str
    error: str | None = None
    interrupts: Sequence[Interrupt] = ()
    writes: Sequence[Write] | None = None


@dataclass(frozen=True, slots=True)
class CheckpointSaved:
    """A checkpoint was saved, and what runs next is planned."""

    namespace: str
    thread: str
    checkpoint: Checkpoint
    program: Program
    next: tuple[Due, ...]


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A run goes on from a checkpoint, by its id."""

    namespace: str
    checkpoint: str


@dataclass(frozen=True, slots=True)
class RunSuspended:
    """The run stops until its questions are answered; none where it met a breakpoint."""

    namespace: str
    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A chat message, or a piece of one while its model is still writing it; `metadata` says whose it is.

    `form` says for which streams it is: those that show messages in that form; "" for all.
    """

    namespace: str
    message: Any
    metadata: Mapping[str, Any]
    form: str = ""


@dataclass(frozen=True, slots=True)
class ToolTold:
    """What a tool does with a chat model's call; `data` says what, and of which call."""

    namespace: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Custom:
    """The code of `call` wrote `data` to the stream."""

    namespace: str
    data: Any
    call: Call


Event = (
    RunStarted
    | RunEnded
    | TaskStarted
    | TaskRetried
    | TaskFinished
    | TaskReused
    | NodeReused
    | ValuesChanged
    | CheckpointSaved
    | RunResumed
    | RunSuspended
    | Message
    | ToolTold
    | Custom
)
