"""One call of a workflow, from its arguments to its result: what is asked, where it runs, and that it runs.

The engine loads with this module, at the first call of any workflow: a program that only decorates
functions doesn't wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from flowfn.config import Durability, OnBusy, RunConfig
from flowfn.context import current_frame, current_world
from flowfn.engine.drive import drive
from flowfn.engine.journal import Journal
from flowfn.engine.lead import (
    Ending,
    Fresh,
    Resume,
    asked_by_now,
    give_back,
    lead,
    on_saver,
    take_lease,
)
from flowfn.engine.nesting import execute_nested, nested
from flowfn.engine.run import Hosts, Run, Settings, refused_async
from flowfn.errors import Cancelled, FlowError, Suspended, UnknownThread
from flowfn.events import RunEnded, RunStarted
from flowfn.hosts.threads import ThreadHost
from flowfn.identity.captured import part
from flowfn.logs import logger
from flowfn.options import check_option
from flowfn.ports import UNFINISHED, Begin, Host, Lease, Saver, configurable_here
from flowfn.pregel.program import Program
from flowfn.pregel.view import view
from flowfn.serde import DEFAULT
from flowfn.traceback import trimmed
from flowfn.values import MISSING, Checkpoint, Command, StateUpdate, Write
from flowfn.watching import audience

__all__ = [
    "Ending",
    "Fresh",
    "Hosts",
    "Order",
    "Resume",
    "Run",
    "Settings",
    "Setup",
    "Started",
    "blocking_hosts",
    "ended_awaiting",
    "ended_blocking",
    "hosts_in_turn",
    "is_part_of",
    "lead",
    "loop_hosts",
    "nest",
    "prepare",
    "run_awaiting",
    "run_blocking",
]

if TYPE_CHECKING:
    from flowfn.engine.frame import Frame
    from flowfn.pregel.amendment import Amendment
    from flowfn.runtime import RunControl
    from flowfn.streams import Shaper


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a workflow is made of, fixed at its definition.

    `given` checks an input, and gives what it writes and the digest that tells the same call from another, empty where
    no two are the same; `updates` says what updates of the state come to; `inside` runs it as a part of a run that
    calls it.
    """

    program: Program
    name: str
    checkpointer: Any = None
    settings: Settings = field(default_factory=Settings)
    durability: Durability = "sync"
    on_busy: OnBusy = "wait"
    stream_mode: str | Sequence[str] = "updates"
    context_schema: type[Any] | None = None
    progress: bool = False
    """Whether its runs show themselves, where somebody may see it."""
    is_async: bool = False
    """Whether a blocking caller is turned away before anything runs."""
    given: Callable[[Any], tuple[Sequence[Write], str]]
    updates: Callable[[Checkpoint, Sequence[StateUpdate]], Amendment]
    inside: Callable[[Frame, Fresh, Order, Hosts], Coroutine[Any, Any, Ending]]
    lead: Callable[[Run, Fresh | Resume, Order], Coroutine[Any, Any, Ending]] = lambda run, given, order: (
        lead(run, given)
    )
    """How a run of it is led; a front end may do something of its own before and after."""
    commands: Callable[[Command[Any]], Sequence[Write]] | None = None
    """What a command's update and goto write; None where the program takes neither."""
    returned: Callable[[Ending, Any], Any]
    """What `invoke` returns of an ending, given its result."""
    part: Callable[[str], Setup | None] = lambda node: None
    """The program that is nested in a node, if its state can be looked at."""
    remembers: bool = False
    """Whether, nested, it goes on from where it was when it last ran on the thread."""
    translated: Callable[[BaseException], BaseException] = lambda error: error
    """An error as the front end's users know it."""

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
    def ready(self) -> Settings:
        """The settings with the store and the cache opened, once: `memory://` lives as long as its workflow."""
        settings = self.settings
        if isinstance(settings.store, str | os.PathLike):
            from flowfn.stores.opening import open_store

            settings = replace(settings, store=open_store(settings.store))
        if isinstance(settings.cache, str | os.PathLike):
            from flowfn.caching.opening import open_cache

            settings = replace(settings, cache=open_cache(settings.cache))
        return settings

    @property
    def saver(self) -> Saver | None:
        """The checkpointer, opened; a file that was closed meanwhile, or by a fork, is opened again."""
        world = current_world.get()
        found: Saver | None = self._configured() if world is None else world.saver(self._configured)
        return found

    def _configured(self) -> Saver | None:
        if self.checkpointer is None:
            return None
        if self.checkpointer == "memory://":
            return self._memory
        return self._opened() if isinstance(self.checkpointer, str | os.PathLike) else self._itself

    def _opened(self) -> Saver:
        from checkpointers import open_saver

        saver: Saver = open_saver(self.checkpointer)
        return saver

    @cached_property
    def _itself(self) -> Saver:
        """A checkpointer that is a saver."""
        return self._opened()

    @cached_property
    def _memory(self) -> Saver:
        """What `memory://` stands for: a saver that lives as long as the workflow."""
        from checkpointers import MemorySaver

        return MemorySaver()


Names = Collection[str] | None
"""Names of nodes, or `"*"` for all; None leaves what the program says."""


@dataclass(slots=True)
class Order:
    """The arguments of a call, read; `lease` where the thread is held already.

    `goes_on`: where the thread's unfinished run is of this very call, it is gone on with.
    """

    input: Any
    config: RunConfig
    context: Any = None
    durability: Durability | None = None
    on_busy: OnBusy | None = None
    lease: Lease | None = None
    journal: Journal | None = None
    """The run's, once its lease is taken."""
    interrupt_before: Names = None
    interrupt_after: Names = None
    control: RunControl | None = None
    goes_on: bool = False
    started: Started | None = None
    """Of a call that is streamed."""


class Started:
    """The run of a stream, once it exists, so that a consumer who leaves can stop it."""

    run: Run | None = None
    left = False
    """Whether nobody hears any more of what the run comes to."""

    def __init__(self, watch: Any, shaper: Shaper) -> None:
        self.watch = watch
        self._shaper = shaper

    def begin(self, run: Run) -> None:
        """There is a run now; where its consumer has left already, it stops at its first task."""
        self.run = run
        run.pause = self.watch.pause
        if self.left:
            run.root.fatal = Cancelled()

    def nest(self, run: Run) -> None:
        """There is a run now, inside another one: its consumer hears of it, as whoever watches that one does."""
        run.post = self._shaper.beside(run.post, self.watch.post)
        run.pause = self.watch.pause
        self._shaper.place = run.namespace

    def leave(self) -> None:
        """Stop the run at its next task."""
        self.left = True
        if self.run is not None:
            self.run.root.fatal = Cancelled()


# -- where it runs --------------------------------------------------------------------------------


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


def loop_hosts() -> Hosts:
    """The running event loop; inside a run on that loop, that run's host of it."""
    from asyncio import get_running_loop

    from flowfn.hosts.loop import LoopHost

    frame = current_frame.get()
    loop: Any = None if frame is None else frame.run.hosts.loop
    if frame is not None and loop is not None and loop.loop is get_running_loop():
        return Hosts(loop, loop)
    world = current_world.get()
    host = LoopHost() if world is None else world.loop_host()
    return Hosts(host, host)


async def hosts_in_turn(setup: Setup) -> Hosts:
    """`loop_hosts`, when it is the turn of a run to begin there; what is called inside another one begins at once."""
    if current_frame.get() is None and current_world.get() is None and (saver := setup.saver) is not None:
        from asyncio import get_running_loop

        from flowfn.hosts.admission import ELSEWHERE, INLINE
        from flowfn.hosts.loop import shared

        await shared(get_running_loop()).admission_to(saver).turn(INLINE if saver.inline else ELSEWHERE)
    return loop_hosts()


# -- that it runs ---------------------------------------------------------------------------------


def run_blocking(setup: Setup, order: Order, hosts: Hosts | None = None) -> Ending:
    """Run to the end; the traceback of what it raises begins in the user's code."""
    return ended_blocking(setup, prepare(setup, order, hosts or blocking_hosts()))


async def run_awaiting(setup: Setup, order: Order, hosts: Hosts | None = None) -> Ending:
    """`run_blocking` for asyncio."""
    try:
        return await prepare(setup, order, hosts or await hosts_in_turn(setup))
    except BaseException as error:
        raise setup.translated(trimmed(error)) from error.__cause__


def ended_blocking(setup: Setup, running: Coroutine[Any, Any, Ending]) -> Ending:
    """What a run comes to; the traceback of what it raises begins in the user's code."""
    try:
        return drive(running)
    except BaseException as error:
        raise setup.translated(trimmed(error)) from error.__cause__


async def ended_awaiting(setup: Setup, running: Coroutine[Any, Any, Ending]) -> Ending:
    """`ended_blocking` for asyncio."""
    try:
        return await running
    except BaseException as error:
        raise setup.translated(trimmed(error)) from error.__cause__


def _settings(setup: Setup, order: Order) -> Settings:
    """A workflow's settings for one call."""
    settings, context, executor = setup.ready, setup.context_of(order.context), order.config.executor
    if context is not None:
        settings = replace(settings, context=context)
    return settings if executor is None else replace(settings, executor=executor)


async def prepare(setup: Setup, order: Order, hosts: Hosts) -> Ending:
    """Decide what the call is, take the lease, and lead the run; whatever fails on the way, the lease is given back."""
    is_root = current_frame.get() is None  # else the hosts are those of the run around it
    if is_root:
        hosts.own.began()
    try:
        return await _prepared(setup, order, hosts)
    except BaseException:
        await _give_back(setup, order, hosts.own)
        raise
    finally:
        if is_root:
            hosts.own.ended()


async def _prepared(setup: Setup, order: Order, hosts: Hosts) -> Ending:
    check_option("durability", order.durability, Durability)
    check_option("on_busy", order.on_busy, OnBusy)
    part()
    frame = current_frame.get()
    is_part = frame is not None and is_part_of(frame, setup, order.config)
    order.config = order.config.at_root()
    given = _given(setup, order)
    begun = given.otherwise if isinstance(given, Resume) else given
    if frame is not None and begun is not None and is_part:
        return await setup.inside(frame, begun, order, hosts)
    if frame is not None and frame.run.root.rehearsal is not None:
        frame.run.root.rehearsal.stop(frame, f"it runs {setup.name} on a thread of its own")
    if setup.is_async and hosts.loop is None:
        raise refused_async(setup.program.name)
    watch = None if order.started is None else order.started.watch
    post = audience(watch, order.config.progress or setup.progress)
    token, said = current_frame.set(None), configurable_here.set(order.config.configurable)
    try:
        saver = setup.saver
        journal = None if saver is None else await _journal(setup, saver, order, given, hosts.own)
        if order.goes_on and saver is not None and journal is not None:
            given = await _continued(saver, journal.lease, given, hosts.own)
        settings = _settings(setup, order)
        run = Run(
            setup.program, hosts, journal, order.config, settings, DEFAULT if saver is None else saver.serde
        )
        _equip(run, order)
        if order.control is not None:
            run.root.control = order.control
        run.post = post
        if order.started is not None:
            order.started.begin(run)
        try:
            return await _led(setup, run, given, order)
        except Exception as error:
            if run.root.report and not isinstance(error, FlowError):
                error.add_note(
                    f"It went on with an earlier run, and differs from its record: {run.root.report.line}"
                )
            raise
        finally:
            if run.root.report:
                logger.warning("thread %s differs from its record: %s", run.thread, run.root.report.line)
    finally:
        configurable_here.reset(said)
        current_frame.reset(token)


async def _give_back(setup: Setup, order: Order, host: Host) -> None:
    """Give back the lease of a call that came to no run; a run does it itself, with the last that it writes."""
    journal, saver = order.journal, setup.saver
    lease = order.lease if journal is None else None if journal.released else journal.lease
    if lease is not None and saver is not None:
        await give_back(saver, host, lease)


async def _led(setup: Setup, run: Run, given: Fresh | Resume, order: Order) -> Ending:
    """Lead a run, and tell whoever watches that it begins and how it ends."""
    run.tell(RunStarted(run.namespace, run.thread, setup.name))
    try:
        ending = await setup.lead(run, given, order)
    except BaseException as error:
        run.tell(RunEnded(run.namespace, run.thread, error=error))
        raise
    run.tell(RunEnded(run.namespace, run.thread, ending.value, None, ending.interrupts))
    return ending


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
) -> Ending:
    """Run as a part of the run that calls: on its thread, in a namespace of its own.

    The order's configuration is the whole of it; what of that is the caller's is there already.
    """
    settings = _settings(setup, order)
    run = nested(setup.program, settings, frame, hosts, order.config, remembers=remembers, recorded=recorded)
    _equip(run, order)
    if order.started is not None:
        order.started.nest(run)
    token = current_frame.set(None)
    frame.step_aside()
    try:
        value = await execute_nested(run, given.writes, _on_top(setup, order))
        return Ending(value, state=view(run.program, run.checkpoint))
    except Suspended:
        frame.suspended = True
        frame.tell()
        raise
    finally:
        current_frame.reset(token)
        await frame.step_back(hosts.own)


def _on_top(setup: Setup, order: Order) -> Sequence[Write] | None:
    """What a command writes into what a nested run remembers; None for an input."""
    if setup.commands is None or not isinstance(order.input, Command):
        return None
    return setup.commands(order.input)


def _equip(run: Run, order: Order) -> None:
    """Give a run what its caller says about breakpoints."""
    if order.interrupt_before:
        run.interrupt_before = "*" if order.interrupt_before == "*" else tuple(order.interrupt_before)
    if order.interrupt_after:
        run.interrupt_after = "*" if order.interrupt_after == "*" else tuple(order.interrupt_after)


def _given(setup: Setup, order: Order) -> Fresh | Resume:
    if order.input is None:
        return Resume(None)
    if isinstance(order.input, Command):
        return _commanded(setup, order.input)
    if isinstance(order.input, Fresh):
        return order.input
    return _fresh(setup, order.input)


def _fresh(setup: Setup, input: Any) -> Fresh:
    writes, call = setup.given(input)
    return Fresh(writes, Begin(setup.name, call))


def _commanded(setup: Setup, command: Command[Any]) -> Resume:
    """A command for a stopped run; one that writes may also start a run."""
    if setup.commands is None or command.resume is not MISSING or not (command.update or command.goto):
        return Resume(command, setup.commands)
    return Resume(command, setup.commands, _fresh(setup, command))


async def _continued(saver: Saver, lease: Lease, given: Fresh | Resume, host: Host) -> Fresh | Resume:
    """What a call makes of the thread that it has just taken; before that, another call could still change it."""
    row = await on_saver(saver, host, saver.thread, lease.thread)
    if row is None or row.status not in UNFINISHED or not isinstance(given, Fresh):
        return given
    is_same = Begin(row.workflow, row.call).on_thread() == given.begin.on_thread()
    return Resume(None) if is_same else given


def _answers(given: Fresh | Resume) -> bool:
    """Whether a call brings an answer."""
    return isinstance(given, Resume) and given.command is not None and given.command.resume is not MISSING


async def _look(saver: Saver, host: Host, thread: str, known: list[frozenset[str]]) -> None:
    """Note the questions that there are before whoever answers waits for the thread."""
    known.append(await asked_by_now(saver, host, thread))


async def _journal(setup: Setup, saver: Saver, order: Order, given: Fresh | Resume, host: Host) -> Journal:
    lease = order.lease
    known: list[frozenset[str]] = []
    if lease is None and order.config.thread_id is None and not isinstance(given, Fresh):
        raise UnknownThread(
            "no thread is named to go on with: pass thread_id='…', or an input to start a new one"
        )
    if lease is None:
        thread = order.config.thread_id or host.new_id()
        look = partial(_look, saver, host, thread, known) if _answers(given) else None
        order.lease = lease = await take_lease(saver, host, thread, order.on_busy or setup.on_busy, look)
    order.journal = journal = Journal(saver, lease, order.durability or setup.durability)
    journal.known_questions = known[0] if known else None
    return journal
