"""A call that is made inside a run: whether it is a part of that run, and then how it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flowfn.config import Elsewhere, RunConfig
from flowfn.context import current_frame
from flowfn.engine.hosts import Hosts
from flowfn.engine.runs.entering import Fresh
from flowfn.engine.runs.lead import Ending
from flowfn.engine.runs.nesting import execute_nested, nested
from flowfn.errors import Suspended
from flowfn.pregel.view import view
from flowfn.values import Command, Write

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.invocation.order import Order
    from flowfn.invocation.setup import Setup


def is_part_of(frame: Frame, setup: Setup, config: RunConfig) -> bool:
    """Whether a call made inside a run is a part of it: it names no thread, or the run's own.

    A thread of that name which another saver keeps is another thread; but not where the call was handed the run's
    configuration, which has its place in the run as well.
    """
    own = frame.run.thread or frame.run.config.thread_id
    if config.thread_id is None or config.thread_id != own or config.checkpoint_ns:
        return config.thread_id in (None, own)
    saver, journal = setup.saver, frame.run.journal
    return saver is None or (journal is not None and saver is journal.saver)


async def nest(
    setup: Setup,
    frame: Frame,
    given: Fresh,
    order: Order,
    hosts: Hosts,
    *,
    remembers: bool = False,
    recorded: bool = True,
    elsewhere: Elsewhere | None = None,
) -> Ending:
    """Run as a part of the run that calls: on its thread, in a namespace of its own, or in that which its caller names.

    The order's configuration is the whole of it; what of that is the caller's is there already.
    """
    settings = setup.settings_for(order)
    run = nested(
        setup.program,
        settings,
        frame,
        hosts,
        order.config,
        remembers=remembers,
        recorded=recorded,
        elsewhere=elsewhere,
    )
    order.equip(run)
    if order.started is not None:
        order.started.nest(run)
    token, seat = current_frame.set(None), frame.seat
    if seat is not None:
        seat.step_aside()
    try:
        value = await execute_nested(run, given.writes, _on_top(setup, order))
        return Ending(value, state=view(run.program, run.checkpoint))
    except Suspended:
        frame.suspended = True
        frame.tell()
        raise
    finally:
        current_frame.reset(token)
        if seat is not None:
            await seat.step_back(hosts.own)


def _on_top(setup: Setup, order: Order) -> Sequence[Write] | None:
    """What a command writes into what a nested run remembers; None for an input."""
    if setup.commands is None or not isinstance(order.input, Command):
        return None
    return setup.commands(order.input)
