"""`update_state`: writes to a thread's state as if a node had returned them.

Rule: the node's edges, branches included, decide what runs next. Which node, if nobody says: the only one;
where nothing has run yet, the first one; else the one that ran last, which an update in its name is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flowfn.pregel import INPUT, INTERRUPT, PULL, Batch, due
from flowfn.values import Checkpoint, StateUpdate
from graph_compat.constants import END, START
from graph_compat.errors import InvalidUpdateError

if TYPE_CHECKING:
    from flowfn.pregel import Amendment, Program
    from graph_compat.graph.compiled import CompiledGraph

COPY = "__copy__"
AS_INPUT = INPUT


def amendment(graph: CompiledGraph, checkpoint: Checkpoint, updates: Sequence[StateUpdate]) -> Amendment:
    """What the updates of one superstep come to.

    Raises:
        InvalidUpdateError: a node doesn't exist, or which one is meant can't be told.
    """
    from flowfn.pregel import Amendment

    program = graph._program
    first = updates[0]
    if first.as_node == END and first.values is None:
        _require_one(updates, "Cannot apply multiple updates when clearing state")
        return Amendment([Batch(INPUT, (), (), (INTERRUPT,))], gives_up=True)
    if first.as_node == AS_INPUT:
        _require_one(updates, "Cannot apply multiple updates when updating as input")
        if first.values is None:
            raise InvalidUpdateError(f"Received no input writes for {', '.join(program.input_channels)}")
        return Amendment([Batch(INPUT, program.input(first.values))], source="input", gives_up=True)
    if first.as_node == COPY:
        _require_one(updates, "Cannot copy checkpoint with multiple updates")
        if not checkpoint.id:
            raise InvalidUpdateError("Cannot copy a non-existent checkpoint")
        return Amendment([], source="fork", copies=True, then=_further(first.values))
    planned = {name: path for name, path, _ in reversed(due(program, checkpoint))}
    batches, records = [], {}
    for update in updates:
        name = _node_of(program, checkpoint, update, len(updates))
        writes = graph._written(name, update.values, checkpoint)
        path = planned.get(name, (PULL, name))
        batches.append(Batch(name, writes, (), (INTERRUPT,)))
        records[path] = writes
    return Amendment(batches, records=records)


def _further(values: Any) -> list[StateUpdate]:
    """The updates that a copy is to have: `(values, as_node)` or `(values, as_node, task_id)` each."""
    return [StateUpdate(*item) for item in values or ()]


def _require_one(updates: Sequence[Any], message: str) -> None:
    if len(updates) > 1:
        raise InvalidUpdateError(message)


def _node_of(program: Program, checkpoint: Checkpoint, update: StateUpdate, count: int) -> str:
    name = update.as_node
    if name is None:
        if count > 1:
            raise InvalidUpdateError("as_node is required when applying multiple updates")
        name = inferred_node(program, checkpoint)
        if name is None:
            raise InvalidUpdateError("Ambiguous update, specify as_node")
    if name not in program.nodes:
        raise InvalidUpdateError(f"Node {name} does not exist")
    return name


def inferred_node(program: Program, checkpoint: Checkpoint) -> str | None:
    """The node that an update is of when nobody says; None where it could be several."""
    if len(program.nodes) == 1:
        return next(iter(program.nodes))
    handlers = {node.on_error for node in program.nodes.values()}  # each ran for another one
    names = program.nodes.keys() - handlers
    ran = {name: seen for name, seen in checkpoint.seen.items() if name in names}
    if not ran:
        return START if START in program.nodes else None
    latest: list[tuple[int, str]] = sorted(
        ((max(seen.values(), default=0), name) for name, seen in ran.items()), reverse=True
    )
    if len(latest) > 1 and latest[0][0] == latest[1][0]:
        return None
    return latest[0][1]
