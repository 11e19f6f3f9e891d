"""The rows that say what came of a call: what a node wrote, a failure, the timing, the code that it is of.

Rule: a task's rows are committed together, so that a task has either finished or it hasn't.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.engine.records.record import Timing, one_row
from flowfn.engine.records.rows import Encoded, unstorable
from flowfn.errors import SerializationError
from flowfn.ports import Serializer, WriteRow, row_of
from flowfn.pregel.program import ERROR_SOURCE, NO_WRITES
from flowfn.row_channels import CODE, ERROR, TIMED

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call

SOON = 0.001
"""Seconds: what ends sooner, at the first attempt, has no row of its own to say so, which would cost as much again."""

LATE = 1.0
"""Seconds after its checkpoint: a node that begins later has a row to say when, else it began with its superstep."""


def write_rows(serde: Serializer, call: Call, now: float, encoded: Encoded | None = None) -> list[WriteRow]:
    """The rows of a task that has finished by now; `encoded` gets what they hold, for `checkpoint_row`.

    Raises:
        SerializationError: a value can't be stored; says which node wrote it, and to which channel.
    """
    untracked, writes = call.run.program.untracked, call.writes or ()
    if untracked:
        writes = [write for write in writes if write.channel not in untracked]
    if not writes:
        rows = [WriteRow(call.task, 0, NO_WRITES, serde.dumps(None), call.path)]
    else:
        rows, task, path, encoded = [], call.task, call.path, {} if encoded is None else encoded
        for nth, (channel, value) in enumerate(writes):
            try:
                data = encoded[id(value)] = serde.dumps(value)
            except SerializationError as error:
                owner = f"the value of {channel!r} that node {call.definition.name!r} wrote"
                raise unstorable(error, value, owner) from None
            rows.append(row_of((task, nth, channel, data, path)))
    return rows + _node_timing_rows(serde, call, now)


def failure_rows(
    serde: Serializer, call: Call, error: BaseException, now: float, *, handed_over: bool = False
) -> list[WriteRow]:
    """The rows of a task that has failed by now, and whether another node handles that."""
    rows = [one_row(call.task, ERROR, serde.dumps((error, repr(error))), call.path)]
    if handed_over:
        rows.append(one_row(call.task, ERROR_SOURCE, serde.dumps(call.definition.name), call.path))
    return rows + _node_timing_rows(serde, call, now)


def code_rows(serde: Serializer, call: Call) -> list[WriteRow]:
    """Which code the outcome is of, where its call was recorded under other code; to be committed with it."""
    return [one_row(call.task, CODE, serde.dumps(call.definition.code))] if call.edited else []


def timing_rows(serde: Serializer, call: Call, now: float) -> list[WriteRow]:
    """When a task that ends now ran, and how often; nothing of one that took no time to speak of."""
    if not call.attempts or (now - call.started < SOON and call.attempts == 1):
        return []
    return [_timing_row(serde, call, now)]


def _node_timing_rows(serde: Serializer, call: Call, now: float) -> list[WriteRow]:
    """When a node's task that ends now ran; nothing of one that took no time, beginning with its superstep."""
    run = call.run
    if not call.attempts:
        return []
    if (
        now - call.started < SOON
        and call.attempts == 1
        and call.task not in run.ledger.nodes
        and call.started - run.since < LATE
    ):
        return []
    return [_timing_row(serde, call, now)]


def _timing_row(serde: Serializer, call: Call, now: float) -> WriteRow:
    timing = Timing(call.started, now, call.attempts)
    return one_row(call.task, TIMED, serde.dumps([*timing]), call.path)
