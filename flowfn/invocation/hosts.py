"""Where a call runs: on threads or on an event loop, and on those of the run that it is made in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame, current_world
from flowfn.engine.hosts import Hosts
from flowfn.hosts.threads import ThreadHost
from flowfn.python.event_loop import needed_loop
from flowfn.python.lazy import Later

if TYPE_CHECKING:
    from flowfn.hosts import loop as asyncio_host
    from flowfn.hosts import shared as sharing
    from flowfn.invocation.setup import Setup
else:
    asyncio_host, sharing = Later("flowfn.hosts.loop"), Later("flowfn.hosts.shared")


def blocking_hosts() -> Hosts:
    """Threads; inside a run, the threads of that run."""
    frame = current_frame.get()
    if frame is not None:
        around = frame.run.hosts
        threads = around.threads
        return around if around.own is threads else Hosts(threads, around.loop)
    world = current_world.get()
    host = ThreadHost() if world is None else world.thread_host()
    return Hosts(host)


def may_go_in_steps(setup: Setup) -> bool:
    """Whether a stream's run may go on on its consumer's thread, a superstep each time: outside any run, and of a
    program that has more than one; and where no superstep's time runs out while the consumer has his turn."""
    is_root = current_frame.get() is None and current_world.get() is None
    return is_root and not setup.program.opaque and setup.settings.step_timeout is None


def loop_hosts() -> Hosts:
    """The running event loop; inside a run on that loop, that run's host of it."""
    frame = current_frame.get()
    loop: Any = None if frame is None else frame.run.hosts.loop
    if frame is not None and loop is not None and loop.loop is needed_loop():
        return Hosts(loop, loop)
    world = current_world.get()
    host = asyncio_host.LoopHost() if world is None else world.loop_host()
    return Hosts(host, host)


async def hosts_in_turn(setup: Setup) -> Hosts:
    """`loop_hosts`, when it is the turn of a run to begin there; what is called inside another one begins at once."""
    if current_frame.get() is None and current_world.get() is None and (saver := setup.saver) is not None:
        turn = sharing.shared(needed_loop()).admission_to(saver).turn()
        if turn is not None:
            await turn
    return loop_hosts()
