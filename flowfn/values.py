"""The nouns: plain values that every layer may pass around.

Rule: nothing here knows how anything runs, waits or is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeVar

from flowfn.type_variables import AnswerT

__all__ = [
    "MISSING",
    "Checkpoint",
    "Command",
    "GraphOutput",
    "Interrupt",
    "Overwrite",
    "PregelTask",
    "Send",
    "StateSnapshot",
    "StateUpdate",
    "Write",
]


class Missing:
    """The type of `MISSING`; it has one instance."""

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final[Any] = Missing()
"""No value, where `None` would be one."""


class Write(NamedTuple):
    """A value on its way to a channel."""

    channel: str
    value: Any


@dataclass(frozen=True, slots=True)
class Send:
    """Run `node` in the next superstep with `arg` as its whole input.

    `timeout`, in seconds, replaces the node's own. The shape is LangGraph's.
    """

    node: str
    arg: Any
    timeout: float | None = None

    def __repr__(self) -> str:
        timeout = "" if self.timeout is None else f", timeout={self.timeout!r}"
        return f"Send(node={self.node!r}, arg={self.arg!r}{timeout})"


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Replace the value of a reducing channel instead of adding to it. The shape is LangGraph's.

    `type` says what it is where it became JSON: `{"value": …, "type": "__overwrite__"}` replaces as well.
    """

    value: Any
    type: Literal["__overwrite__"] = "__overwrite__"


@dataclass(frozen=True, slots=True)
class Interrupt(Generic[AnswerT]):
    """A question that a run waits on.

    `id` is stable: the same question of the same run has the same id on every attempt.
    `key` is what the code named it by, if it did; `response_schema` the JSON schema of its answer, if it says;
    `expires_at` (UTC) when it stops waiting and its default counts, if it does. `Interrupt[T]` says to readers that its
    answer is a T.
    """

    value: Any
    id: str = "placeholder-id"
    key: str | None = field(default=None, compare=False)
    response_schema: Any = field(default=None, compare=False)
    expires_at: datetime | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        more = ((name, getattr(self, name)) for name in ("key", "response_schema", "expires_at"))
        shown = "".join(f", {name}={value!r}" for name, value in more if value is not None)
        return f"Interrupt(value={self.value!r}, id={self.id!r}{shown})"

    @property
    def interrupt_id(self) -> str:
        """LangGraph's old name of `id`."""
        return self.id


N = TypeVar("N")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Generic[N]):
    """What a caller tells a waiting run, or what a node tells its graph. The shape is LangGraph's.

    `resume`: the answer to the pending interrupt, or a mapping from interrupt ids or keys to answers.
    `update`: writes to the state. `goto`: nodes, or a `Send` each, to run next.
    `graph`: `Command.PARENT` addresses the graph around this one. `by`: who answers; recorded with the answer.
    """

    graph: str | None = None
    update: Any = None
    resume: Any = MISSING
    goto: Send | N | Sequence[Send | N] = ()
    by: str | None = None

    PARENT: ClassVar[str] = "__parent__"

    def __repr__(self) -> str:
        given = ((name, getattr(self, name)) for name in ("graph", "update", "resume", "goto", "by"))
        return f"Command({', '.join(f'{name}={value!r}' for name, value in given if value)})"


Source = Literal["input", "loop", "update", "fork"]
"""What made a checkpoint: a call's input, a superstep, `update_state`, or a copy to go on from."""


@dataclass(slots=True)
class Checkpoint:
    """All that must survive between two supersteps of one namespace of a thread.

    `values` holds the cell of each channel that isn't empty, as `Channel.stored` gave it;
    `versions` the superstep-wide version at which each of those last changed, and `clock` the latest version
    of all, or None for the highest of them; `seen`, per node, the versions that it has run on; `updated`
    the channels that the last superstep changed, or None where that isn't known. `touched` are the channels
    that changed since the checkpoint was stored; `call` the call of a nested run whose namespace several share.
    """

    id: str
    parent: str | None = None
    step: int = -2
    source: Source = "input"
    created_at: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    seen: dict[str, dict[str, int]] = field(default_factory=dict)
    updated: tuple[str, ...] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    clock: int | None = None
    touched: frozenset[str] = frozenset()
    call: str | None = None
    due: Any = field(default=None, init=False, repr=False, compare=False)
    """A program, and what of it is due here, once `pregel.plan` has found out."""
    peeked: Any = field(default=None, init=False, repr=False, compare=False)
    """A task that has looked at what its writes come to on top of it, and what they were merged into."""

    @property
    def latest(self) -> int:
        """The latest version of all."""
        return max(self.versions.values(), default=0) if self.clock is None else self.clock


class Answers(dict[str, Any]):
    """Answers by the id or key of their questions, where a plain mapping might itself be an answer."""


@dataclass(frozen=True, slots=True)
class GraphOutput:
    """What `invoke(version="v2")` returns: the result as it stands, and the questions that it waits on."""

    value: Any
    interrupts: tuple[Interrupt, ...] = ()


class StateUpdate(NamedTuple):
    """One update of a state: `values` as if node `as_node` had returned them. The shape is LangGraph's."""

    values: Any
    as_node: str | None = None
    task_id: str | None = None


class PregelTask(NamedTuple):
    """One task of a `StateSnapshot`. The shape is LangGraph's; `calls` is flowfn's.

    `calls` lists the recorded calls made under it in the order in which they were recorded, each with `name`,
    `arguments`, `status`, `result`, `site` and `calls`. They may be many, and aren't in its text.
    """

    id: str
    name: str
    path: tuple[Any, ...]
    error: Any = None
    interrupts: tuple[Interrupt, ...] = ()
    state: Any = None
    result: Any = None
    calls: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={value!r}" for name, value in zip(self._fields[:-1], self[:-1], strict=True)
        )
        return f"PregelTask({shown})"


class StateSnapshot(NamedTuple):
    """The state of a thread at one checkpoint. The shape is LangGraph's."""

    values: Any
    next: tuple[str, ...]
    config: Mapping[str, Any]
    metadata: Mapping[str, Any] | None
    created_at: str | None
    parent_config: Mapping[str, Any] | None
    tasks: tuple[PregelTask, ...]
    interrupts: tuple[Interrupt, ...]
