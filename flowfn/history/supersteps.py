"""Which nodes a superstep has, as its checkpoint and the rows under it tell without the program.

Rule: a checkpoint names the nodes that are due after it, its Sends carry what they send, and a row says by its path
whose it is. A node that a command went to has rows alone; one that neither wrote nor called anything is there only
while it can still be due, which is under its namespace's last checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from flowfn.described import body_of
from flowfn.engine.ids import node_scope
from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.record import HANDLER, NodeRecord
from flowfn.errors import FlowError
from flowfn.ports import Loaded, Serializer
from flowfn.pregel.program import PULL, PUSH
from flowfn.pregel.ways import end
from flowfn.rendering import render_value
from flowfn.row_channels import RUN_TASK
from flowfn.values import Send, Write

__all__ = ["NodeTask", "leads_to", "node_tasks"]

START = "__start__"
SENDS = "__pregel_tasks"
"""The channel of a graph's Sends."""


class NodeTask(NamedTuple):
    """One run of a node in one superstep; `arguments` is what a `Send` gave it, in a line, else empty."""

    name: str
    scope: str
    arguments: str
    record: NodeRecord | None


def node_tasks(loaded: Loaded, ledger: Ledger, serde: Serializer, is_last: bool) -> list[NodeTask]:
    """The nodes that ran after a checkpoint, in the order of planning, and with `is_last` those that are due."""
    due = _due(loaded, serde)
    sends = _sends(loaded, ledger, serde)
    called = {record.info.scope for record in ledger.records.values() if record.info is not None}
    found = {}
    for each in due or ():
        name, path = (each, (PULL, each)) if isinstance(each, str) else (each[0], (PUSH, each[1]))
        scope = node_scope(path)
        if is_last or scope in ledger.nodes or scope in called:
            found[scope] = NodeTask(name, scope, _given(path, sends), ledger.nodes.get(scope))
    others = [each for each in ledger.nodes.items() if each[0] not in found and each[0] != RUN_TASK]
    for scope, record in sorted(others, key=lambda each: each[1].path):
        path, is_handler = _parsed(record.path)
        if is_handler:
            found[scope] = NodeTask(HANDLER, scope, _name(path, sends), record)
        elif due is None or ledger.commanded:
            found[scope] = NodeTask(_name(path, sends), scope, _given(path, sends), record)
    return [task for task in found.values() if task.name != START]


def leads_to(writes: Sequence[Write]) -> tuple[str, ...]:
    """The nodes that a node's writes lead to, as far as the names of channels tell."""
    return tuple(dict.fromkeys(_ends(writes)))


def _ends(writes: Sequence[Write]) -> Iterator[str]:
    for channel, value in writes:
        if (node := end(channel)) is not None:
            yield node
        elif isinstance(value, Send):
            yield value.node


def _due(loaded: Loaded, serde: Serializer) -> Sequence[str | tuple[str, int]] | None:
    """What a checkpoint says is due; None where it doesn't, or nobody here can read it."""
    try:
        return body_of(loaded.checkpoint, serde).due
    except FlowError:
        return None


def _sends(loaded: Loaded, ledger: Ledger, serde: Serializer) -> list[Any]:
    """What the superstep's Sends are; nothing where one carries what only the program can restore."""
    stored = loaded.checkpoint.values.get(SENDS)
    data = None if stored is None else stored.whole()
    try:
        waiting = [] if data is None else serde.loads(data)
        return [*waiting, *(value for channel, value in ledger.commanded if channel == SENDS)]
    except FlowError:
        return []


def _parsed(path: str) -> tuple[tuple[str, Any], bool]:
    """A task's path from its row, and whether it handles the error of the task of that path."""
    kind, _, rest = path.removeprefix("~").partition("/")
    place = rest.removesuffix(f"/{HANDLER}")
    return (kind, int(place) if kind == PUSH and place.isdecimal() else place), place != rest


def _name(path: tuple[str, Any], sends: Sequence[Any]) -> str:
    kind, place = path
    if kind != PUSH:
        return str(place)
    return sends[place].node if _is_sent(place, sends) else f"Send {place}"


def _given(path: tuple[str, Any], sends: Sequence[Any]) -> str:
    """What a `Send` gave a task, in a line."""
    kind, place = path
    return render_value(sends[place].arg) if kind == PUSH and _is_sent(place, sends) else ""


def _is_sent(place: Any, sends: Sequence[Any]) -> bool:
    return isinstance(place, int) and place < len(sends) and isinstance(sends[place], Send)
