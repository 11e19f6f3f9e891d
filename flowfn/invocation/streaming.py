"""A call that is streamed: the run goes on beside its caller, who is told what happens.

Rule: whoever leaves a stream leaves the run, which can be resumed; and what the run came to is told by the end of the
chunks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

from flowfn.errors import Cancelled
from flowfn.hosts.stepping import SteppedStream
from flowfn.hosts.streams import LoopStream, ThreadStream
from flowfn.invocation.hosts import blocking_hosts, hosts_in_turn, may_go_in_steps
from flowfn.invocation.order import Started
from flowfn.invocation.reading import opened
from flowfn.invocation.running import prepare
from flowfn.python.event_loop import held_up
from flowfn.python.traceback import trimmed
from flowfn.streams import is_of_call, printer

if TYPE_CHECKING:
    from flowfn.engine.runs.lead import Ending
    from flowfn.invocation.order import Order
    from flowfn.invocation.setup import Setup
    from flowfn.streams import Shaper


def chunks(
    setup: Setup, order: Order, shaper: Shaper, printed: str | Sequence[str], ending: list[Ending]
) -> Iterator[Any]:
    """What a run's events are to its caller, and when they have ended, in `ending`, what it came to."""
    by_turns = shaper.waits and not printed and may_go_in_steps(setup)
    watch: SteppedStream | ThreadStream = SteppedStream() if by_turns else ThreadStream()
    order.started = run = Started(watch, shaper)
    opened(run)
    show = printer(printed)

    async def lead() -> None:
        ending.append(await prepare(setup, order, blocking_hosts()))

    with held_up(), closing(watch.events(lead(), run.leave)) as events:  # type: ignore[type-var]
        try:
            for event in events:
                if not watch.live and is_of_call(event):
                    watch.live = True
                show(event)
                yield from shaper.chunks(event)
        except BaseException as error:
            raise setup.translated(trimmed(error)) from error.__cause__


async def awaited_chunks(
    setup: Setup, order: Order, shaper: Shaper, printed: str | Sequence[str], ending: list[Ending]
) -> AsyncIterator[Any]:
    """`chunks` for asyncio."""
    watch = LoopStream()
    order.started = run = Started(watch, shaper)
    opened(run)
    show = printer(printed)

    async def lead() -> None:
        try:
            ending.append(await prepare(setup, order, await hosts_in_turn(setup)))
        except Cancelled:
            if not run.left:
                raise

    async with aclosing(watch.events(lead(), run.leave)) as events:  # type: ignore[type-var]
        try:
            async for event in events:
                show(event)
                for chunk in shaper.chunks(event):
                    yield chunk
        except BaseException as error:
            raise setup.translated(trimmed(error)) from error.__cause__
