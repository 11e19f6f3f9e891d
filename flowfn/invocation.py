"""One call of a workflow, from its arguments to its result: what is asked, where it runs, and that it runs.

The engine loads with this module, at the first call of any workflow: a program that only decorates
functions doesn't wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from flowfn.config import Durability, OnBusy, RunConfig
from flowfn.context import current_frame
from flowfn.definition import Definition
from flowfn.engine.drive import drive
from flowfn.engine.journal import Journal
from flowfn.engine.root import Ending, Fresh, Resume, lead, take_lease
from flowfn.engine.run import Hosts, Run, Settings, execute_nested, refused_async
from flowfn.errors import Cancelled, Suspended, UnknownThread
from flowfn.hosts.threads import ThreadHost
from flowfn.logs import logger
from flowfn.options import check_option
from flowfn.ports import Begin, Host, Lease, Saver
from flowfn.pregel.program import Program
from flowfn.serde import DEFAULT
from flowfn.traceback import trimmed
from flowfn.values import Command, Write

if TYPE_CHECKING:
    from flowfn.engine.frame import Frame


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a workflow is made of, fixed at its definition.

    `writes` turns an input into writes, after checking it; `updates` does so for `update_state`; `call` digests
    an input, to tell the same call from another.
    """

    program: Program
    name: str
    checkpointer: Any = None
    settings: Settings = field(default_factory=Settings)
    durability: Durability = "sync"
    on_busy: OnBusy = "wait"
    stream_mode: str = "updates"
    context_schema: type[Any] | None = None
    writes: Callable[[Any], Sequence[Write]]
    updates: Callable[[Any, str | None], Sequence[Write]]
    call: Callable[[Any], str]
    as_call: Callable[[Fresh], tuple[Definition, Sequence[Any], dict[str, Any]]]
    """A run of it as a call inside another run: what to call, and with what."""

    def context_of(self, given: Any) -> Any:
        """A call's context as its schema.

        Raises:
            ValidationError: it doesn't fit.
        """
        if given is None or self.context_schema is None:
            return given
        from flowfn.validation import validate

        return validate(given, self.context_schema)

    @cached_property
    def is_async(self) -> bool:
        """Whether a blocking caller would meet a node that it can't run."""
        definitions = cast("Iterable[Definition]", (node.run for node in self.program.nodes.values()))
        return any(definition.is_async for definition in definitions)

    @cached_property
    def ready(self) -> Settings:
        """The settings with the store opened, once: `memory://` lives as long as its workflow."""
        if not isinstance(self.settings.store, str | os.PathLike):
            return self.settings
        from flowfn.stores.opening import open_store

        return replace(self.settings, store=open_store(self.settings.store))

    @property
    def saver(self) -> Saver | None:
        """The checkpointer, opened."""
        if self.checkpointer is None:
            return None
        from checkpointers import open_saver

        saver: Saver = open_saver(self.checkpointer)
        return saver


@dataclass(slots=True)
class Order:
    """The arguments of a call, read; `lease` where the thread is held already."""

    input: Any
    config: RunConfig
    context: Any = None
    durability: Durability | None = None
    on_busy: OnBusy | None = None
    lease: Lease | None = None


class Started:
    """The run of a stream, once it exists, so that a consumer who leaves can stop it."""

    run: Run | None = None

    def leave(self) -> None:
        """Stop the run at its next task."""
        if self.run is not None:
            self.run.fatal = Cancelled()


# -- where it runs --------------------------------------------------------------------------------


def blocking_hosts() -> Hosts:
    """Threads; inside a run, the threads of that run."""
    frame = current_frame.get()
    if frame is not None:
        threads = frame.run.hosts.threads
        return Hosts(threads, threads, frame.run.hosts.loop)
    host = ThreadHost()
    return Hosts(host, host)


def loop_hosts() -> Hosts:
    """The running event loop; inside a run that has one, that run's."""
    from flowfn.hosts.loop import LoopHost

    frame = current_frame.get()
    if frame is not None and frame.run.hosts.loop is not None:
        loop = frame.run.hosts.loop
        return Hosts(loop, frame.run.hosts.threads, loop)
    host = LoopHost()
    return Hosts(host, host.threads, host)


# -- that it runs ---------------------------------------------------------------------------------


def run_blocking(setup: Setup, order: Order, hosts: Hosts | None = None) -> Ending:
    """Run to the end; the traceback of what it raises begins in the user's code."""
    try:
        return drive(prepare(setup, order, hosts or blocking_hosts()))
    except BaseException as error:
        raise trimmed(error) from error.__cause__


async def run_awaiting(setup: Setup, order: Order, hosts: Hosts | None = None) -> Ending:
    """`run_blocking` for asyncio."""
    try:
        return await prepare(setup, order, hosts or loop_hosts())
    except BaseException as error:
        raise trimmed(error) from error.__cause__


async def prepare(
    setup: Setup, order: Order, hosts: Hosts, watch: Any = None, started: Started | None = None
) -> Ending:
    """Decide what the call is, take the lease, and lead the run."""
    check_option("durability", order.durability, Durability)
    check_option("on_busy", order.on_busy, OnBusy)
    given = _given(setup, order)
    frame = current_frame.get()
    if frame is not None and order.config.thread_id is None and isinstance(given, Fresh):
        future = frame.run.spawn(frame, *setup.as_call(given), "")
        await hosts.own.join(future)
        return Ending(future.result(0))
    if setup.is_async and hosts.loop is None:
        raise refused_async(setup.program.name)
    token = current_frame.set(None)
    try:
        saver = setup.saver
        journal = None if saver is None else await _journal(setup, saver, order, given, hosts.own)
        settings = replace(setup.ready, context=setup.context_of(order.context))
        run = Run(
            setup.program, hosts, journal, order.config, settings, DEFAULT if saver is None else saver.serde
        )
        if watch is not None:
            run.post, run.pause = watch.post, watch.pause
        if started is not None:
            started.run = run
        ending = await lead(run, given)
        if run.report:
            logger.warning("thread %s differs from its record: %s", run.thread, run.report)
        return ending
    finally:
        current_frame.reset(token)


async def nest(setup: Setup, frame: Frame, given: Fresh, hosts: Hosts) -> Ending:
    """Run as a part of the run that calls: on its thread, in a namespace of its own."""
    run = frame.run.nested(setup.program, setup.ready, frame, hosts.own)
    token = current_frame.set(None)
    try:
        return Ending(await execute_nested(run, given.writes))
    except Suspended:
        frame.suspended = True
        raise
    finally:
        current_frame.reset(token)


def _given(setup: Setup, order: Order) -> Fresh | Resume:
    if order.input is None:
        return Resume(None)
    if isinstance(order.input, Command):
        return Resume(order.input)
    if isinstance(order.input, Fresh):
        return order.input
    return Fresh(setup.writes(order.input), Begin(setup.name, setup.call(order.input)))


async def _journal(setup: Setup, saver: Saver, order: Order, given: Fresh | Resume, host: Host) -> Journal:
    lease = order.lease
    if lease is None and order.config.thread_id is None and not isinstance(given, Fresh):
        raise UnknownThread(
            "no thread is named to go on with: pass thread_id='…', or an input to start a new one"
        )
    if lease is None:
        thread = order.config.thread_id or host.new_id()
        lease = await take_lease(saver, host, thread, order.on_busy or setup.on_busy)
    return Journal(saver, lease, order.durability or setup.durability)
