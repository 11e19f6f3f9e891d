"""The Pregel core: plain functions on plain data that decide what runs and what it changes.

    plan(program, checkpoint)         -> tasks     what the next superstep runs
    apply(program, checkpoint, tasks) -> Changes   what their writes change
    advance(checkpoint, changes)      -> Checkpoint

Rule: no await, clock, thread, randomness or I/O, and no argument is changed in place.

- `program`: channels and nodes. `channels` say how writes become a value, `reducer` by a function; `ways` are those
  that edges and joins write to.
- `plan`, `apply`: the two above; `amendment`: what updates from outside a run come to; `interrupts`: where it stops.
- `view` reads a checkpoint; `selection` has names that are picked together.
"""

from flowfn.pregel.amendment import Amendment
from flowfn.pregel.apply import Batch, Changes, Written, advance, amend, apply, begin, peek
from flowfn.pregel.channels import (
    UNCHANGED,
    AnyValue,
    Channel,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    NamedBarrier,
    NamedBarrierAfterFinish,
    Result,
    Topic,
    UntrackedValue,
)
from flowfn.pregel.interrupts import resumed, stops
from flowfn.pregel.plan import due, next_nodes, plan, unknown_sends
from flowfn.pregel.program import (
    CONTROL,
    ERROR_SOURCE,
    HIDDEN,
    INPUT,
    INTERRUPT,
    NO_WRITES,
    PULL,
    PUSH,
    RESUME,
    SENT,
    Node,
    Program,
    Steps,
    Task,
)
from flowfn.pregel.reducer import Reducer, folded, is_overwrite, unwrapped
from flowfn.pregel.selection import Selection
from flowfn.pregel.view import EMPTY, View, shown, values, view
from flowfn.row_channels import ERROR, RETURN

__all__ = [
    "CONTROL",
    "EMPTY",
    "ERROR",
    "ERROR_SOURCE",
    "HIDDEN",
    "INPUT",
    "INTERRUPT",
    "NO_WRITES",
    "PULL",
    "PUSH",
    "RESUME",
    "RETURN",
    "SENT",
    "UNCHANGED",
    "Amendment",
    "AnyValue",
    "Batch",
    "Changes",
    "Channel",
    "EphemeralValue",
    "LastValue",
    "LastValueAfterFinish",
    "NamedBarrier",
    "NamedBarrierAfterFinish",
    "Node",
    "Program",
    "Reducer",
    "Result",
    "Selection",
    "Steps",
    "Task",
    "Topic",
    "UntrackedValue",
    "View",
    "Written",
    "advance",
    "amend",
    "apply",
    "begin",
    "due",
    "folded",
    "is_overwrite",
    "next_nodes",
    "peek",
    "plan",
    "resumed",
    "shown",
    "stops",
    "unknown_sends",
    "unwrapped",
    "values",
    "view",
]
