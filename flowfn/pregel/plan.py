"""Planning: which tasks the next superstep runs.

Rule: first the `Send`s in their order, then each node with a trigger that is available and newer than
the node has seen. Planning the same checkpoint twice gives the same tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flowfn.pregel.program import HIDDEN, PULL, PUSH, SENT, Node, Program, Task
from flowfn.pregel.view import View, view
from flowfn.values import MISSING, Checkpoint, Send

_NOTHING: Mapping[str, Any] = {}
_SENT = (SENT,)


def plan(program: Program, checkpoint: Checkpoint, managed: Mapping[str, Any] = _NOTHING) -> list[Task]:
    """The tasks of the next superstep, none where the run is over.

    `managed` is what the nodes may read beside the channels. An error of a node's `read` passes through.
    """
    sends, nodes = _found(program, checkpoint)
    tasks = [_push(program, i, send) for i, send in sends] if sends else []
    if nodes:
        state = View(program.channels, checkpoint.values, managed, program.direct)
        for node in nodes:
            value = node.read(state)
            if value is not MISSING:
                tasks.append(Task(node.name, (PULL, node.name), node, value, node.triggers, node.timeout))
    return tasks


def due(program: Program, checkpoint: Checkpoint) -> list[tuple[str, tuple[Any, ...], tuple[str, ...]]]:
    """`(name, path, triggers)` of each planned task, without reading any input, so no code of a node runs.

    A node that would skip itself is listed.
    """
    sends, nodes = _found(program, checkpoint)
    pushed = [(send.node, (PUSH, i), _SENT) for i, send in sends]
    return pushed + [(node.name, (PULL, node.name), node.triggers) for node in nodes]


def is_over(program: Program, checkpoint: Checkpoint) -> bool:
    """Whether nothing is `due`."""
    return not any(_found(program, checkpoint))


def due_in_sight(program: Program, checkpoint: Checkpoint) -> list[str | tuple[str, int]]:
    """What is `due` and shown to people: a node's name, of one that a `Send` asked for with its place."""
    sends, nodes = _found(program, checkpoint)
    shown = program.nodes
    sent = [(send.node, i) for i, send in sends if HIDDEN not in shown[send.node].tags] if sends else []
    return [*sent, *[node.name for node in nodes if HIDDEN not in node.tags]]


def next_nodes(program: Program, checkpoint: Checkpoint) -> tuple[str, ...]:
    """The node of each task of the next superstep, in planning order."""
    return tuple(name for name, _, _ in due(program, checkpoint))


def unknown_sends(program: Program, checkpoint: Checkpoint) -> list[Any]:
    """What lies among the Sends and names no node, or is no `Send`; `plan` passes over it."""
    return [packet for packet in _packets(program, checkpoint) if not _known(program, packet)]


def _packets(program: Program, checkpoint: Checkpoint) -> Sequence[Any]:
    """What was sent; a `Topic` that nobody has written to has no cell."""
    if program.sends is None or program.sends not in checkpoint.values:
        return ()
    packets = program.channels[program.sends].get(checkpoint.values[program.sends])
    return () if packets is MISSING else packets


def _known(program: Program, packet: Any) -> bool:
    return isinstance(packet, Send) and packet.node in program.nodes


def _sends(program: Program, checkpoint: Checkpoint) -> Sequence[tuple[int, Send]]:
    packets = _packets(program, checkpoint)
    return [(i, packet) for i, packet in enumerate(packets) if _known(program, packet)]


def _push(program: Program, position: int, send: Send) -> Task:
    node = program.nodes[send.node]
    timeout = node.timeout if send.timeout is None else send.timeout
    return Task(node.name, (PUSH, position), node, send.arg, _SENT, timeout)


def _found(program: Program, checkpoint: Checkpoint) -> tuple[Sequence[tuple[int, Send]], Sequence[Node]]:
    """The Sends and the nodes that are due, found out once for each checkpoint: who saves it asks, and who goes on."""
    if checkpoint.due is None or checkpoint.due[0] is not program:
        sends = _sends(program, checkpoint) if program.sends in checkpoint.values else ()
        checkpoint.due = program, (sends, _triggered(program, checkpoint))
    found: tuple[Sequence[tuple[int, Send]], Sequence[Node]] = checkpoint.due[1]
    return found


def _triggered(program: Program, checkpoint: Checkpoint) -> list[Node]:
    nodes, found = program.nodes, []
    for name in _candidates(program, checkpoint):
        if _is_triggered(program, node := nodes[name], checkpoint):
            found.append(node)
    return found


def _candidates(program: Program, checkpoint: Checkpoint) -> Iterable[str]:
    """Nodes that may be triggered: those subscribed to what was updated, or all where that isn't known."""
    updated = checkpoint.updated
    if not updated:
        return program.nodes if checkpoint.values else program.unprompted
    subscribers = program.subscribers
    heard = subscribers.keys() & updated
    if len(heard) == 1:
        return subscribers[heard.pop()]
    return sorted({name for channel in heard for name in subscribers[channel]}) if heard else ()


def _is_triggered(program: Program, node: Node, checkpoint: Checkpoint) -> bool:
    """Whether a trigger is available, and newer than the node has seen."""
    versions, seen = checkpoint.versions, checkpoint.seen.get(node.name)
    for channel in node.triggers:
        if seen is not None and versions.get(channel, 0) <= seen.get(channel, 0):
            continue
        if channel in (checkpoint.values if channel in program.direct else view(program, checkpoint)):
            return True
    return False
