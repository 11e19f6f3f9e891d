"""A program is data: channels, and the nodes that their updates trigger.

Rule: whatever can be worked out or refused once, when the program is defined, is; `plan` and `apply`
only look it up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple
from zlib import crc32

from flowfn.pregel import ways
from flowfn.pregel.channels import (
    AnyValue,
    Channel,
    EphemeralValue,
    LastValue,
    NamedBarrier,
    Topic,
    UntrackedValue,
)
from flowfn.pregel.selection import Selection
from flowfn.python.unicode import is_unicode
from flowfn.row_channels import ANSWER, ERROR, QUESTION, RETURN
from flowfn.values import MISSING, Write

PULL: Final = "pull"
"""Head of the path of a task that a channel triggered: `(PULL, node)`."""

PUSH: Final = "push"
"""Head of the path of a task that a `Send` asked for: `(PUSH, position among the Sends)`."""

SENT: Final = "__pregel_push"
"""The trigger of every PUSH task; no channel."""

INPUT: Final = "__input__"
"""The name under which a caller's input is written."""

INTERRUPT: Final = QUESTION
RESUME: Final = ANSWER
ERROR_SOURCE: Final = "__error_source_node__"
NO_WRITES: Final = "__no_writes__"

CONTROL: Final = frozenset({SENT, INTERRUPT, RESUME, ERROR, ERROR_SOURCE, NO_WRITES, RETURN})
"""Keys that a task may write to and that are no channels: `apply` passes over them."""

HIDDEN: Final = "langsmith:hidden"
"""The tag of a node at which `"*"` doesn't interrupt."""

_RESERVED = CONTROL | {INPUT}

_REPLACED = frozenset({LastValue, AnyValue, EphemeralValue, UntrackedValue})
_FLEETING = frozenset({AnyValue, EphemeralValue})


def _alone(given: Any) -> tuple[Sequence[Any], dict[str, Any]]:
    """An input that is the only argument."""
    return (given,), {}


def _itself(given: Any) -> Any:
    """An input that is shown as it is."""
    return given


class Steps(NamedTuple):
    """Where a run stands: the number of the superstep that is planned, and of the last that it may take."""

    step: int
    stop: int


@dataclass(frozen=True, slots=True)
class Node:
    """A step of a program.

    `read` turns the available values into the node's input, or `MISSING` to skip the node;
    `spread` turns that into the arguments of `run`, `shown` into what streams show of it; `output` turns
    what `run` returned into writes. `on_error` names the node that takes over, in the same superstep, where
    this one fails. `bare` says that none of these runs any code of the author's, and that it has no policy: then
    it is called as it is, without an attempt around it. The policies, `timeout`, `defer`, `metadata` and `tags` are
    data for whoever runs or draws the node: planning doesn't look at them.
    """

    name: str
    run: Callable[..., Any]
    triggers: tuple[str, ...]
    read: Callable[[Mapping[str, Any]], Any]
    output: Callable[[Any], Sequence[Write]]
    spread: Callable[[Any], tuple[Sequence[Any], dict[str, Any]]] = _alone
    shown: Callable[[Any], Any] = _itself
    on_error: str | None = None
    retry_policy: Any = None
    cache_policy: Any = None
    timeout: Any = None
    defer: bool = False
    metadata: Mapping[str, Any] | None = None
    tags: tuple[str, ...] = ()
    nested: Literal["anew", "remembering"] | None = None
    """Whether another program runs in it, and whether that goes on from where it was at its last call."""
    bare: bool = False
    is_nested: bool = False
    """Whether it is that program, and no code of the author's runs in it after that one's end."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "triggers", tuple(sorted(set(self.triggers))))


@dataclass(slots=True)
class Task:
    """One run of a node in one superstep. `writes` is None until it has finished.

    `triggers` are all of the node's, sorted, or `(SENT,)`; `timeout` is the node's unless its `Send`
    brought one. Ids are the engine's.
    """

    name: str
    path: tuple[Any, ...]
    node: Node
    input: Any
    triggers: tuple[str, ...]
    timeout: Any = None
    writes: Sequence[Write] | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """Channels and nodes, and how a caller's input becomes writes and the values a result.

    `lone` says that people are shown the value of the only stream channel, not a mapping, and `lone_output` that a
    result is the value of the only output channel; `opaque` that its only node is the program itself, so that people
    are shown what that calls and not it, and that what it wrote is recorded as the values that it led to, once;
    `shares_context` that its code is the caller's own, who sees what it sets in context variables. `passes_on` says
    that no code of the author's runs in the first superstep, which has one task: so a caller's input may be committed
    with what it is passed on to, and isn't seen by itself where nobody watches. `sends` names the `Topic` that holds
    `Send`s. `"*"` interrupts at every node that isn't `HIDDEN`.
    Raises `ValueError` where a name is reserved or unknown.
    """

    nodes: Mapping[str, Node]
    channels: Mapping[str, Channel]
    input: Callable[[Any], Sequence[Write]]
    result: Callable[[Mapping[str, Any]], Any]
    input_channels: tuple[str, ...] = ()
    output_channels: tuple[str, ...] = ()
    stream_channels: tuple[str, ...] = ()
    lone: bool = False
    lone_output: bool = False
    opaque: bool = False
    shares_context: bool = False
    passes_on: bool = False
    sends: str | None = None
    interrupt_before: tuple[str, ...] | Literal["*"] = ()
    interrupt_after: tuple[str, ...] | Literal["*"] = ()
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What an error calls a channel, where its name would say nothing to the author."""
    managed: Mapping[str, Callable[[Steps], Any]] = field(default_factory=dict)
    """What nodes may read that no channel holds, made anew for each superstep."""
    typed: Callable[[str, Any], Any] | None = None
    """Makes the data of a chunk of `version="v2"`, by its stream mode, what its author declared values to be.

    Nested programs' too are shown so where the outermost one has it: a reader of mappings isn't given objects.
    """
    subscribers: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    """Per channel, the names of the nodes that it triggers, sorted."""
    unprompted: Sequence[str] = field(init=False, repr=False, compare=False)
    """The nodes with a trigger that may be available before anything was written."""
    # Sets, not frozensets: `mapping.keys() & names` then walks the shorter of the two.
    placed: Set[str] = field(init=False, repr=False, compare=False)
    clearing: Set[str] = field(init=False, repr=False, compare=False)
    consuming: Set[str] = field(init=False, repr=False, compare=False)
    finishing: Set[str] = field(init=False, repr=False, compare=False)
    storing: Set[str] = field(init=False, repr=False, compare=False)
    direct: frozenset[str] = field(init=False, repr=False, compare=False)
    """The channels whose cell is their value."""
    replaced: frozenset[str] = field(init=False, repr=False, compare=False)
    """Those of them whose only write becomes their cell."""
    fleeting: Set[str] = field(init=False, repr=False, compare=False)
    """Those of them that a superstep without a write empties."""
    untracked: Set[str] = field(init=False, repr=False, compare=False)
    """The channels of which nothing is recorded."""
    forgets: bool = field(init=False, repr=False, compare=False)
    """Whether what nodes have seen matters for one superstep alone: all triggers are spent in theirs."""
    joins: Mapping[str, NamedBarrier] = field(init=False, repr=False, compare=False)
    """The channels that wait for several nodes, and each of which triggers one."""
    joint: int | None = field(init=False, repr=False, compare=False)
    """What tells its joins from others; None where it has none."""

    def __post_init__(self) -> None:
        _validate(self)
        object.__setattr__(self, "stream_channels", Selection(self.stream_channels))
        object.__setattr__(self, "subscribers", _subscribers(self.nodes.values()))
        object.__setattr__(self, "placed", self._overriding("at"))
        object.__setattr__(self, "clearing", self._overriding("clear"))
        object.__setattr__(self, "consuming", self._overriding("consume"))
        object.__setattr__(self, "finishing", self._overriding("finish"))
        object.__setattr__(self, "storing", self._overriding("stored"))
        plain = frozenset(name for name, spec in self.channels.items() if _shows_its_cell(spec))
        object.__setattr__(self, "direct", plain)
        unprompted = [name for name, node in self.nodes.items() if not plain.issuperset(node.triggers)]
        object.__setattr__(self, "unprompted", unprompted)
        object.__setattr__(self, "replaced", frozenset(self._of_kind(_REPLACED)))
        object.__setattr__(self, "fleeting", self._of_kind(_FLEETING))
        object.__setattr__(self, "untracked", self._of_kind({UntrackedValue}))
        object.__setattr__(self, "forgets", all(self.channels[name].spent for name in self.subscribers))
        joins = {
            n: spec for n, spec in self.channels.items() if isinstance(spec, NamedBarrier) and ways.is_join(n)
        }
        object.__setattr__(self, "joins", joins)
        object.__setattr__(self, "joint", crc32("\n".join(sorted(joins)).encode()) if joins else None)

    @property
    def output(self) -> str | tuple[str, ...]:
        """What a result shows: the channels of a mapping, or the one whose value it is."""
        return self.output_channels[0] if self.lone_output else self.output_channels

    def managed_at(self, steps: Steps) -> dict[str, Any]:
        """Its managed values where a run, or an update, stands."""
        return {name: make(steps) for name, make in self.managed.items()}

    def _of_kind(self, kinds: Set[type[Channel]]) -> set[str]:
        return {name for name, spec in self.channels.items() if type(spec) in kinds}

    def _overriding(self, method: str) -> set[str]:
        default = getattr(Channel, method)
        return {name for name, spec in self.channels.items() if getattr(type(spec), method) is not default}


def _shows_its_cell(spec: Channel) -> bool:
    """Whether what a channel holds is what nodes read, and nothing where it holds nothing."""
    return type(spec).get is Channel.get and spec.initial() is MISSING


def _subscribers(nodes: Iterable[Node]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        for channel in node.triggers:
            found.setdefault(channel, []).append(node.name)
    return {channel: tuple(sorted(names)) for channel, names in found.items()}


def _validate(program: Program) -> None:
    _refuse_reserved("Channel", program.channels)
    _refuse_reserved("Node", program.nodes)
    _require_text("Node", program.nodes)
    _require_text("Channel", program.channels)
    for name, node in program.nodes.items():
        if node.name != name:
            raise ValueError(f"Node {node.name!r} is filed under {name!r}. Use its own name as the key.")
        _require_known("Subscribed channel", node.triggers, program)
    _require_known("Input channel", program.input_channels, program)
    _require_known("Output channel", program.output_channels, program)
    _require_known("Stream channel", program.stream_channels, program)
    _require_subscribed_input(program)
    _require_topic(program)
    for names in (program.interrupt_before, program.interrupt_after):
        _require_nodes(names, program)


def _refuse_reserved(kind: str, names: Iterable[str]) -> None:
    for name in names:
        if name in _RESERVED:
            raise ValueError(f"{kind} name '{name}' is reserved. Choose another.")


def _require_text(kind: str, names: Iterable[str]) -> None:
    for name in names:
        if not is_unicode(name):
            raise ValueError(
                f"{kind} name {name!r} has a lone surrogate, which no database keeps. Choose another."
            )


def _require_known(role: str, names: Iterable[str], program: Program) -> None:
    for name in names:
        if name not in program.channels:
            known = list(program.channels)
            raise ValueError(f"{role} '{name}' not in known channels: '{known}'. Add it to `channels`.")


def _require_subscribed_input(program: Program) -> None:
    inputs = program.input_channels
    if inputs and not any(name in node.triggers for node in program.nodes.values() for name in inputs):
        raise ValueError(
            f"None of the input channels {list(inputs)} are subscribed to by any node, so nothing would "
            "ever run. Add one of them to some node's `triggers`."
        )


def _require_topic(program: Program) -> None:
    if program.sends is None:
        return
    _require_known("Sends channel", (program.sends,), program)
    if not isinstance(program.channels[program.sends], Topic):
        raise ValueError(f"Sends channel '{program.sends}' must be a Topic. Write `Topic()`.")


def _require_nodes(names: Sequence[str], program: Program) -> None:
    for name in () if names == "*" else names:
        if name not in program.nodes:
            raise ValueError(f"Node {name} not in nodes, so no interrupt can name it: {list(program.nodes)}.")
