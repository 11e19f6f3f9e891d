"""What a node's return value writes: updates of the state, and where to go next.

Rule: keys that the state doesn't have are dropped; `goto` adds to the node's own edges; `END` is nowhere, also for what
a command sends there, which the engine drops and logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from flowfn.pregel.ways import edge
from flowfn.python.cached_property import cached_property
from flowfn.values import Command, Send, Write
from graph_compat.channels import DeltaChannel
from graph_compat.constants import END, ROOT, SENDS
from graph_compat.errors import ErrorCode, InvalidUpdateError, ParentCommand, create_error_message
from graph_compat.graph.schema import fields_of
from graph_compat.langchain.messages import identified

Identifying = Mapping[str, Callable[[Any], Any]]
"""By channel, what a write becomes there."""

_write: Callable[[tuple[str, Any]], Write] = partial(tuple.__new__, Write)
"""Makes a write of a key and a value, without a step in Python."""


@dataclass(frozen=True)
class Writer:
    """Turns return values into writes; `keys` are the state's."""

    keys: Mapping[str, Any]

    @cached_property
    def is_root(self) -> bool:
        """Whether the state is one value, and has no keys beside it."""
        return self.keys.keys() == {ROOT}

    @cached_property
    def identifying(self) -> Identifying:
        """What gives ids to the messages that are written to some keys."""
        return identifying(self.keys)

    def writes(self, value: Any) -> list[Write]:
        """The writes of what a node returned.

        Raises:
            InvalidUpdateError: it is no update.
            ParentCommand: it is for the graph around.
        """
        if type(value) is dict and not self.is_root and value.keys() <= self.keys.keys():  # as almost always
            return list(map(_write, value.items()))
        if isinstance(value, Command):
            return self._of_command(value)
        if isinstance(value, list | tuple) and any(isinstance(item, Command) for item in value):
            return [write for item in value for write in self.writes(item)]
        if isinstance(value, Send):
            return [Write(SENDS, value)]
        return self._updates(value)

    def pushed(self, writes: Iterable[Write]) -> list[Write]:
        """Those of a node's pushed writes that the state has a key for."""
        return [write for write in writes if write.channel in self.keys]

    def _of_command(self, command: Command[Any]) -> list[Write]:
        if command.graph == Command.PARENT:
            raise ParentCommand(replace(command, graph=None))
        return [*self.of_update(command.update), *goto(command.goto)]

    def of_update(self, update: Any) -> list[Write]:
        """The writes of a command's `update`: a mapping, pairs, an annotated object, or the state's one value."""
        if update is None:
            return []
        if self.is_root:
            return [Write(ROOT, update)]
        if isinstance(update, list | tuple) and all(_is_pair(item) for item in update):
            return [Write(key, value) for key, value in update if key in self.keys]
        if isinstance(update, Mapping) or fields_of(update) is not None:
            return self._updates(update)
        return [Write(ROOT, update)]

    def _updates(self, value: Any) -> list[Write]:
        if value is None:
            return []
        if self.is_root:
            return [Write(ROOT, value)]
        if isinstance(value, dict):
            keys = self.keys
            return [Write(key, item) for key, item in value.items() if key in keys]
        found = None if isinstance(value, Future) else fields_of(value)
        if found is None:
            raise InvalidUpdateError(
                create_error_message(
                    message=f"Expected dict, got {value}",
                    error_code=ErrorCode.INVALID_GRAPH_NODE_RETURN_VALUE,
                )
            )
        return [Write(key, item) for key, item in found if key in self.keys]


def identifying(channels: Mapping[str, Any]) -> Identifying:
    """What gives ids to messages, for each channel whose reducer makes none: a `DeltaChannel`."""
    return {
        key: partial(identified, coerces=getattr(channel.reducer, "coerces", False))
        for key, channel in channels.items()
        if isinstance(channel, DeltaChannel)
    }


def with_ids(writes: Iterable[Write], found: Identifying) -> list[Write]:
    """The writes, whose messages have the ids that the state will know them by."""
    return [Write(key, found[key](value)) if key in found else Write(key, value) for key, value in writes]


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)


def goto(targets: Any) -> list[Write]:
    """The writes that make nodes run next.

    Raises:
        TypeError: a target is neither a name nor a `Send`.
    """
    found = []
    for target in _each(targets):
        if isinstance(target, Send):
            found.append(Write(SENDS, target))
        elif not isinstance(target, str):
            raise TypeError(f"In Command.goto, expected Send/str, got {type(target).__name__}")
        elif target != END:
            found.append(Write(edge(target), None))
    return found


def _each(targets: Any) -> Iterable[Any]:
    """The targets of a `goto`: one, or a collection of them; None has none."""
    if targets is None:
        return ()
    several = isinstance(targets, Iterable) and not isinstance(targets, str)
    return targets if several else (targets,)
