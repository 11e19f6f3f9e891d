"""Conditional edges: a function of the state that says where to go.

Rule: it sees the state after its own node's writes and before everybody else's, and runs as a part of that
node's task, so that its failure is the task's.
"""

from __future__ import annotations

import typing
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isroutine
from typing import Any, Literal, get_args, get_origin, get_type_hints

from flowfn.pregel.ways import edge
from flowfn.values import Send, Write
from graph_compat.constants import END, SENDS, START
from graph_compat.errors import InvalidUpdateError
from graph_compat.graph.action import Action, is_runnable
from graph_compat.graph.bound import bound
from graph_compat.graph.schema import Schema
from graph_compat.injection import body_of


@dataclass(frozen=True)
class BranchSpec:
    """A conditional edge: its function, and the node that each result stands for; None for names as they are."""

    action: Action
    ends: Mapping[Hashable, str] | None
    input_schema: Schema | None = None

    @property
    def path(self) -> Any:
        """Its function, to be asked by itself: `path.invoke(state)`."""
        return bound(self.action)

    def writes(self, result: Any) -> list[Write]:
        """The writes of a result: a name or a `Send`, or several.

        Raises:
            ValueError: it names no destination.
            InvalidUpdateError: it sends something to the end.
            KeyError: `ends` doesn't have it.
        """
        writes: list[Write] = []
        for item in result if isinstance(result, list | tuple) else (result,):
            target = item if self.ends is None or isinstance(item, Send) else self.ends[item]
            if isinstance(target, Send):
                if target.node == END:
                    raise InvalidUpdateError("Cannot send a packet to the END node")
                writes.append(Write(SENDS, target))
            elif target is None or target == START:
                raise ValueError(
                    f"Branch did not return a valid destination. {self.action.name!r} returned {result!r}"
                )
            elif target != END:
                writes.append(Write(edge(target), None))
        return writes


def ends_of(
    path: Any, path_map: Mapping[Hashable, str] | Sequence[str] | None
) -> Mapping[Hashable, str] | None:
    """Where a branch may go: as its map or list says, or the literals that it is annotated to return."""
    if isinstance(path_map, Mapping):
        return dict(path_map)
    if path_map is not None:
        return {name: name for name in path_map}
    names = literals(return_hint(path)) if isroutine(path) else ()
    return {name: name for name in names} if names else None


def annotated(path: Any) -> Any:
    """The router whose annotations count: of LangChain's `RunnableLambda` the function inside.

    One that is bound to a configuration, which hands attributes of it on, has no function of its own.
    """
    if not is_runnable(path):
        return path
    own = getattr(path, "__dict__", {})
    return own.get("func") or own.get("afunc") or path


def return_hint(function: Any) -> Any:
    """What a function is annotated to return; None if nothing, or if that can't be resolved, as of a partial."""
    if isinstance(function, partial):
        return None
    try:
        return get_type_hints(body_of(function)).get("return")
    except Exception:
        return None


def literals(hint: Any) -> Iterable[Any]:
    """The values of a `Literal`."""
    return get_args(hint) if get_origin(hint) is Literal else ()


def command_ends(hint: Any) -> tuple[str, ...]:
    """The nodes that a return annotation `Command[Literal[...]]` names, inside a union as well."""
    from flowfn.values import Command

    if get_origin(hint) is typing.Union or type(hint).__name__ == "UnionType":
        return tuple(end for part in get_args(hint) for end in command_ends(part))
    if get_origin(hint) is Command:
        return tuple(literals(get_args(hint)[0]))
    return ()
