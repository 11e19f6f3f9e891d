"""Nested runs: a program that runs inside a call of another run, on the same thread, under the same lease.

Its namespace says where: `name:id` of the call that it runs in, under that call's own namespace, and
`|1`, `|2`… for the second and third of one call. The id is of this very attempt at the call's checkpoint,
so whatever is recorded in the namespace belongs to this call, and the run goes on from there. A run that
`remembers` has a namespace without ids instead: what it finds there may be of an earlier call, which its
checkpoint tells by the checkpoints of the runs around it; then it takes its input on top of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowfn.cache import PROCESS
from flowfn.engine.run import Run, Settings
from flowfn.engine.superstep import go_on
from flowfn.pregel.apply import advance, amend
from flowfn.pregel.interrupts import resumed
from flowfn.values import Write

if TYPE_CHECKING:
    from flowfn.config import RunConfig
    from flowfn.engine.frame import Frame
    from flowfn.ports import Host
    from flowfn.pregel.program import Program


def nested(
    program: Program,
    settings: Settings,
    frame: Frame,
    host: Host,
    config: RunConfig | None = None,
    *,
    remembers: bool = False,
    recorded: bool = True,
) -> Run:
    """A run of another program inside one of a run's calls."""
    run = frame.run
    inherited = replace(
        settings,
        cache=run.settings.cache if settings.cache in (PROCESS, None) else settings.cache,
        store=settings.store or run.settings.store,
        context=settings.context if settings.context is not None else run.settings.context,
    )
    return Run(
        program,
        replace(run.hosts, own=host),
        run.journal if recorded else None,
        run.config if config is None else config,
        inherited,
        run.serde,
        parent=run,
        frame=frame,
        namespace=_namespace(frame, remembers),
    )


def _namespace(frame: Frame, remembers: bool) -> str:
    run, number = frame.run, frame.next_nested()
    name = frame.call.definition.name
    here = name if remembers else f"{name}:{run.task_id(frame.scope)}"
    around = _without_ids(run.namespace) if remembers else run.namespace
    return "|".join([*filter(None, [around]), here, *([] if remembers or not number else [str(number)])])


def _without_ids(namespace: str) -> str:
    """A namespace by names alone, the same on every run of the thread."""
    segments = (segment.split(":")[0] for segment in namespace.split("|"))
    return "|".join(segment for segment in segments if not segment.isdecimal())


async def execute_nested(run: Run, writes: Sequence[Write]) -> Any:
    """Run a nested program to its end, going on where an earlier attempt stopped.

    Raises:
        Suspended: something in it waits for an answer, or a breakpoint was met.
    """
    journal = run.journal
    loaded = None if journal is None else await journal.load(run.host, run.namespace, None)
    if loaded is not None and journal is not None:
        checkpoint = journal.checkpoint(loaded, run.program.channels)
        run.stand_at(checkpoint, journal.ledger(loaded))
    run.set_out()
    if loaded is not None and _is_of_this_call(run):
        run.checkpoint = advance(run.checkpoint, amend(run.program, run.checkpoint, run.ledger.commanded))
        run.checkpoint = advance(run.checkpoint, resumed(run.checkpoint))
        run.tell_where_it_stands()
    else:
        await run.take_input(writes)
    return await go_on(run)


def _is_of_this_call(run: Run) -> bool:
    """Whether what the namespace holds was recorded under the checkpoints that the runs around stand at."""
    return bool(run.checkpoint.metadata.get("parents") == run.parents)
