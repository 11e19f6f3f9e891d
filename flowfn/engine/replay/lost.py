"""What an edit of a program would lose of where a thread stands: what was due, and what led on.

Rule: a checkpoint says what is due after it. Work that nothing in the program stands for any more isn't passed
over: it is named, for the author to say what becomes of it. A thread on which nothing was due has nothing to lose.
Nor is it passed over in silence that what had finished couldn't be applied, or that something was written to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from flowfn.described import body_of
from flowfn.engine.ids import node_scope
from flowfn.engine.records.ledger import Ledger
from flowfn.identity.names import qualified_name
from flowfn.logs import LOST, logger
from flowfn.ports import Deserializer, Loaded
from flowfn.pregel import ways
from flowfn.pregel.apply import Changes
from flowfn.pregel.plan import due_in_sight, unknown_sends
from flowfn.pregel.program import INPUT, PULL, Program
from flowfn.rendering import quoted
from flowfn.values import Checkpoint, Send


def what_is_lost(
    loaded: Loaded, checkpoint: Checkpoint, ledger: Ledger, program: Program, serde: Deserializer
) -> list[str]:
    """What a thread stopped before, in words, that the program no longer has, or no longer leads to.

    `checkpoint` is the loaded one, and `ledger` what is recorded under it.
    """
    said = body_of(loaded.checkpoint, serde).due
    if not said:
        return []
    found = [
        *_nodes(_names(said), program),
        *_joins(loaded, program, serde),
        *_written(ledger, program, serde),
    ]
    if not found:
        still = _names(due_in_sight(program, checkpoint))
        found = [f"the way to node {name!r}" for name in _names(said) if name not in still]
    return sorted(set(found))


def are_strange(ledger: Ledger, program: Program) -> bool:
    """Whether no recorded call was made by an entrypoint's program itself: they may be another one's."""
    return (
        program.opaque and bool(ledger.records) and not any(map(partial(has_called, ledger), program.nodes))
    )


def has_called(ledger: Ledger, name: str) -> bool:
    """Whether recorded calls were made by the node of that name itself."""
    scope = node_scope((PULL, name))
    return any(record.info is not None and record.info.scope == scope for record in ledger.records.values())


def place_of(program: Program) -> str:
    """The module, and the class in it, of an entrypoint's function."""
    (node,) = program.nodes.values()
    definition: Any = node.run
    return qualified_name(definition.author_function).rpartition(".")[0]


def calls_elsewhere(ledger: Ledger, program: Program, was_named: str | None) -> set[str]:
    """What the calls that an entrypoint's function made go by, if none of them is of a function beside it.

    `was_named`: what the function was called when it made them, if that was another name.
    """
    scopes = {node_scope((PULL, was_named or name)) for name in program.nodes}
    beside, found = f"{place_of(program)}.", set[str]()
    for record in ledger.records.values():
        info = record.info
        if info is None or info.scope not in scopes or "." not in (name := info.qualified):
            continue
        if name.startswith(beside):
            return set()
        found.add(name)
    return found


def forget_ways(checkpoint: Checkpoint, program: Program) -> None:
    """Leave ways that the program doesn't have out of the checkpoints to come: what becomes of them is settled."""
    strange = [name for name in checkpoint.versions if ways.end(name) and name not in program.channels]
    if strange:
        checkpoint.clock = checkpoint.latest
        for name in strange:
            del checkpoint.versions[name]


def log_refused(changes: Changes, thread: str) -> None:
    """Say that what had finished of a superstep isn't among the changes from outside that it was given up for."""
    if changes.refused is not None:
        logger.warning(
            "thread %s: what had finished of the superstep given up is dropped, since it is refused: %s",
            thread,
            changes.refused,
        )


def log_command_refused(error: Exception, thread: str) -> None:
    """Say that what a command wrote isn't part of a state, since the program, edited meanwhile, refuses it."""
    logger.warning(
        "thread %s: what a command wrote is left out, since it is refused: %s", thread, quoted(error)
    )


def log_dropped(program: Program, changes: Changes, after: Checkpoint) -> None:
    """Say what was written or sent to nothing that the program has."""
    for name, channel in changes.ignored:
        who, node = "the call" if name == INPUT else f"node {name!r}", ways.end(channel)
        did = f"wrote to {channel!r}" if node is None else f"leads to node {node!r} ({channel})"
        logger.warning("%s %s, which %r doesn't have", who, did, program.name, extra=LOST)
    if program.sends in (changes.updated or ()):
        for packet in unknown_sends(program, after):
            logger.warning(
                "%s was sent to no node of %r, and is dropped", quoted(packet), program.name, extra=LOST
            )


def _names(said: Sequence[Any]) -> list[str]:
    return [each if isinstance(each, str) else each[0] for each in said]


def _nodes(names: Sequence[str], program: Program) -> Iterator[str]:
    yield from (f"node {name!r}" for name in names if name not in program.nodes)


def _joins(loaded: Loaded, program: Program, serde: Deserializer) -> Iterator[str]:
    """The joins at which some nodes have arrived."""
    for name, held in loaded.checkpoint.values.items():
        if ways.is_join(name) and name not in program.channels and ways.end(name):
            data = held.whole()
            if data is not None and serde.loads(data):
                yield way(name)


def _written(ledger: Ledger, program: Program, serde: Deserializer) -> Iterator[str]:
    """Where nodes lead that have finished in the superstep under way."""
    for row in (row for record in ledger.nodes.values() for row in record.rows if row.index >= 0):
        if row.channel == program.sends:
            packet = serde.loads(row.value)
            if isinstance(packet, Send):
                yield from _nodes([packet.node], program)
        elif row.channel not in program.channels and ways.end(row.channel):
            yield way(row.channel)


def way(channel: str) -> str:
    """A way in words."""
    node = ways.end(channel)
    return f"the join of {ways.sources(channel)} into {node!r}" if ways.is_join(channel) else f"node {node!r}"
