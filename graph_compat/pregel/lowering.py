"""Channels and nodes as LangGraph's users write them, as a program of the engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flowfn.policies import CachePolicy
from flowfn.pregel import CONTROL, INPUT, Channel, Node, Program, Selection, Topic
from flowfn.values import MISSING, Write
from graph_compat.channels import BaseChannel
from graph_compat.constants import SENDS
from graph_compat.errors import no_input
from graph_compat.graph.action import Action, action_of, awaited, called, name_of
from graph_compat.graph.node import Step, definition_of, stops
from graph_compat.graph.writes import Identifying, identifying
from graph_compat.managed import ManagedValue
from graph_compat.pregel.builder import PregelNode, itself

logger = logging.getLogger("graph_compat")

Names = str | Sequence[str]
Given = BaseChannel[Any, Any, Any] | type[ManagedValue[Any]]


@dataclass(frozen=True, kw_only=True)
class Description:
    """A program as its author described it."""

    nodes: Mapping[str, PregelNode]
    channels: Mapping[str, Given]
    input_channels: Names
    output_channels: Names
    stream_channels: Names | None = None
    interrupt_before: Names = ()
    interrupt_after: Names = ()
    cache_policy: CachePolicy | None = None
    handlers: Mapping[str, str]
    """By node, the node that handles its errors."""

    @property
    def shown(self) -> Names:
        """The channels that streams show."""
        return [*self.channels, SENDS] if self.stream_channels is None else self.stream_channels


class Writes:
    """Turns a node's value into what it writes."""

    def __init__(self, writes: Sequence[tuple[str, Callable[[Any], Any]]], identifying: Identifying) -> None:
        self._writes = writes
        self.identifying = identifying

    def pushed(self, pushed: Sequence[Write]) -> Sequence[Write]:
        """What the node's code pushed while it ran."""
        return pushed

    def writes(self, value: Any) -> list[Write]:
        """What each channel that the node writes to is sent."""
        return [Write(channel, make(value)) for channel, make in self._writes]


def lower(given: Description, name: str) -> Program:
    """The program of a description.

    Raises:
        ValueError: it names what isn't there, or what is reserved.
    """
    _check(given)
    channels: dict[str, Channel] = {
        key: channel.in_graph for key, channel in given.channels.items() if isinstance(channel, BaseChannel)
    }
    managed = {key: kind.get for key, kind in given.channels.items() if isinstance(kind, type)}
    output = given.output_channels
    return Program(
        nodes={key: _node(given, key, node) for key, node in given.nodes.items()},
        channels={**channels, SENDS: Topic()},
        input=partial(written_by, given.input_channels),
        result=_result(output),
        input_channels=listed(given.input_channels),
        output_channels=listed(output),
        stream_channels=listed(given.shown),
        lone=isinstance(given.shown, str),
        lone_output=isinstance(output, str),
        opaque=any(node.is_program for node in given.nodes.values()),
        sends=SENDS,
        interrupt_before=stops(given.interrupt_before),
        interrupt_after=stops(given.interrupt_after),
        name=name,
        managed=managed,
    )


def listed(names: Names) -> tuple[str, ...]:
    """One name or several, as several."""
    return (names,) if isinstance(names, str) else tuple(names)


def _result(output: Names) -> Callable[[Any], Any]:
    if isinstance(output, str):
        return lambda state: state.get(output)
    names = Selection(output)
    return lambda state: state.pick(names)


# -- what a caller's input writes -----------------------------------------------------------------


def written_by(channels: Names, given: Any) -> list[Write]:
    """The writes of an input: the value of the one channel, or a mapping of several.

    Raises:
        TypeError: it is no mapping.
        EmptyInputError: no key of it is an input channel.
    """
    if isinstance(channels, str):
        return [Write(channels, given)]
    if not isinstance(given, dict):
        raise TypeError(
            f"Expected chunk to be a dict, got {type(given).__name__}. Pass a dict with a key of {channels}"
        )
    for key in given:
        if key not in channels:
            logger.warning("Input channel %s not found in %s", key, channels)
    found = [Write(key, value) for key, value in given.items() if key in channels]
    if not found:
        raise no_input(channels, f"It was {given!r}")
    return found


# -- nodes ----------------------------------------------------------------------------------------


def _node(given: Description, name: str, node: PregelNode) -> Node:
    step: Any = Step(chain(node.actions, name), Writes(node.writes, identifying(given.channels)), None)  # type: ignore[arg-type]
    cache = node.cache_policy if node.cache_policy is not None else given.cache_policy
    definition = definition_of(step, retry=tuple(node.retry_policy), cache=cache, timeout=node.timeout)
    return Node(
        name,
        definition,  # type: ignore[arg-type]
        tuple(node.triggers),
        _reader(node.channels),
        itself,
        on_error=given.handlers.get(name),
        timeout=node.timeout,
        metadata=node.metadata,
        tags=tuple(node.tags),
        nested=step.action.nested,
    )


def _reader(channels: Names) -> Callable[[Any], Any]:
    if isinstance(channels, str):
        return lambda state: state.get(channels, MISSING)
    names = Selection(channels)
    return lambda state: state.pick(names)


def chain(sources: Sequence[Any], name: str) -> Action:
    """One action of several, each given what the one before it returned."""
    actions = [action_of(source, name_of(source) or name) for source in sources]
    if len(actions) == 1:
        return Action(sources[0], name, actions[0].blocking, actions[0].awaited)
    blocking = None if any(action.blocking is None for action in actions) else partial(_in_turn, actions)
    on_loop = partial(_in_turn_on_loop, actions) if any(action.awaited for action in actions) else None
    return Action(None, name, blocking, on_loop)


def _in_turn(actions: Iterable[Action], value: Any) -> Any:
    for action in actions:
        value = called(action, value)
    return value


async def _in_turn_on_loop(actions: Iterable[Action], value: Any) -> Any:
    for action in actions:
        value = await awaited(action, value)
    return value


# -- what is refused ------------------------------------------------------------------------------


def _check(given: Description) -> None:
    """Refuse names that are reserved, or that nothing has.

    Raises:
        ValueError: says which.
    """
    known = [SENDS, *given.channels]
    for name in given.channels:
        if name in CONTROL or name == INPUT:
            raise ValueError(f"Channel name '{name}' is reserved. Choose another")
    for name, node in given.nodes.items():
        if name in CONTROL or name == INPUT:
            raise ValueError(f"Node name '{name}' is reserved. Choose another")
        for channel in (*listed(node.channels), *node.triggers):
            if channel not in known:
                role = "subscribes to" if channel not in listed(node.channels) else "reads"
                raise ValueError(f"Node {name} {role} channel '{channel}' not in known channels: '{known}'")
    _check_inputs(given, known)
    for channel in (*listed(given.output_channels), *listed(given.stream_channels or ())):
        if channel not in known:
            raise ValueError(f"Output channel '{channel}' not in known channels: '{known}'")
    for names in (given.interrupt_before, given.interrupt_after):
        for name in () if names == "*" else names:
            if name not in given.nodes:
                raise ValueError(f"Node {name} not in nodes. It has {list(given.nodes)}")


def _check_inputs(given: Description, known: Sequence[str]) -> None:
    subscribed = {name for node in given.nodes.values() for name in node.triggers}
    inputs = given.input_channels
    for name in listed(inputs):
        if name not in known:
            among = "known channels: " if isinstance(inputs, str) else ""
            raise ValueError(f"Input channel '{name}' not in {among}'{known}'")
    if isinstance(inputs, str) and inputs not in subscribed:
        raise ValueError(f"Input channel {inputs} is not subscribed to by any node")
    if not subscribed.intersection(listed(inputs)):
        raise ValueError(f"None of the input channels {inputs} are subscribed to by any node")
