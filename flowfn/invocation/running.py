"""That a call runs, from its arguments to its result: on a thread of its own, or as a part of the run around it."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.config import Durability, OnBusy, RunConfig
from flowfn.context import current_frame, put_back
from flowfn.engine.drive import drive
from flowfn.engine.hosts import Hosts, refused_async
from flowfn.engine.records.journal import Journal
from flowfn.engine.runs.entering import Fresh, Resume
from flowfn.engine.runs.lead import Ending
from flowfn.engine.runs.leasing import (
    asked_by_now,
    give_back,
    is_gone,
    leave,
    leave_soon,
    on_saver,
    take_lease,
)
from flowfn.engine.runs.run import Run
from flowfn.errors import FlowError, InvalidInput, NoCheckpointer, UnknownThread
from flowfn.events import RunEnded, RunStarted
from flowfn.identity.made_with.together import part
from flowfn.invocation.asking import answers, asked, continued
from flowfn.invocation.hosts import blocking_hosts, hosts_in_turn
from flowfn.invocation.nesting import is_part_of
from flowfn.invocation.reading import waits_for_itself
from flowfn.logs import logger
from flowfn.options import check_option, nearly
from flowfn.ports import Host, Saver, configurable_here
from flowfn.python.cached_property import renew
from flowfn.python.event_loop import held_up, running_loop
from flowfn.python.traceback import trimmed
from flowfn.serde import DEFAULT
from flowfn.watching import audience

if TYPE_CHECKING:
    from flowfn.invocation.order import Order
    from flowfn.invocation.setup import Setup


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
        if running_loop() is None:
            return drive(running)
        with held_up():
            return drive(running)
    except BaseException as error:
        raise setup.translated(trimmed(error)) from error.__cause__


async def ended_awaiting(setup: Setup, running: Coroutine[Any, Any, Ending]) -> Ending:
    """`ended_blocking` for asyncio."""
    try:
        return await running
    except BaseException as error:
        raise setup.translated(trimmed(error)) from error.__cause__


async def prepare(setup: Setup, order: Order, hosts: Hosts) -> Ending:
    """Decide what the call is, take the lease, and lead the run; whatever fails on the way, the lease is given back."""
    is_root = current_frame.get() is None  # else the hosts are those of the run around it
    if is_root:
        renew()
        hosts.own.began()
    try:
        return await _prepared(setup, order, hosts)
    except BaseException as error:
        if not is_gone(error, hosts.own):
            await _give_back(setup, order, hosts.own)
        elif order.journal is not None:
            leave_soon(order.journal, hosts.own)
        raise
    finally:
        if order.leave is not None:
            hosts.own.holds_no_more(order.leave)
        if is_root:
            hosts.own.ended()


async def _prepared(setup: Setup, order: Order, hosts: Hosts) -> Ending:
    """Decide whether the call is a part of the run that it is made in, or a run of its own."""
    check_option("durability", order.durability, Durability)
    check_option("on_busy", order.on_busy, OnBusy)
    part()
    frame = current_frame.get()
    is_part = frame is not None and is_part_of(frame, setup, order.config)
    order.config = order.config.at_root()
    given = asked(setup, order)
    begun = given.otherwise if isinstance(given, Resume) else given
    if frame is not None and begun is not None and is_part:
        return await setup.inside(frame, begun, order, hosts)
    if frame is not None and frame.run.root.rehearsal is not None:
        frame.run.root.rehearsal.stop(frame, f"it runs {setup.name} on a thread of its own")
    if setup.is_async and hosts.loop is None:
        raise refused_async(setup.program.name)
    saver, under_way = setup.saver, object()
    setup.under_way.add(under_way)
    token, said = current_frame.set(None), configurable_here.set(order.config.configurable)
    try:
        return await _on_its_own(setup, saver, order, given, hosts)
    finally:
        setup.under_way.discard(under_way)
        put_back(configurable_here, said)
        put_back(current_frame, token)


async def _on_its_own(
    setup: Setup, saver: Saver | None, order: Order, given: Fresh | Resume, hosts: Hosts
) -> Ending:
    """Take the thread, where there is one to take, and lead a run on it."""
    if saver is None and order.once:
        raise NoCheckpointer(
            f"{setup.name!r} keeps no past, and so runs anew whenever it is called, also by once(): give it one with "
            "@entrypoint(checkpointer='runs.db')"
        )
    watch = None if order.started is None else order.started.watch
    post = audience(watch, order.config.progress or setup.progress)
    journal = None if saver is None else await _journal(setup, saver, order, given, hosts.own)
    if order.check is not None and saver is not None and journal is not None:
        await on_saver(saver, hosts.own, order.check, saver, journal.thread)
    if order.goes_on and saver is not None and journal is not None:
        given = await continued(setup, saver, journal.lease, given, hosts.own, once=order.once)
    run = _made(setup, order, hosts, journal)
    run.post = post
    if order.started is not None:
        order.started.begin(run)
    try:
        if run.post is None:
            return await setup.lead(run, given, order)
        return await _watched(setup, run, given, order)
    except Exception as error:
        if run.root.report.differs and not isinstance(error, FlowError):
            error.add_note(
                f"It went on with an earlier run, and differs from its record: {run.root.report.line}"
            )
        raise
    finally:
        if report := run.root.report:
            found = (
                "differs from its record" if report.differs else "has calls that are told apart by too little"
            )
            logger.warning("thread %s %s: %s", run.thread, found, report.line)


def _made(setup: Setup, order: Order, hosts: Hosts, journal: Journal | None) -> Run:
    """The run of a call."""
    settings, serde = setup.settings_for(order), DEFAULT if journal is None else journal.saver.serde
    run = Run(setup.program, hosts, journal, order.config, settings, serde)
    order.equip(run)
    if order.control is not None:
        run.root.control = order.control
    return run


async def _give_back(setup: Setup, order: Order, host: Host) -> None:
    """Give back the lease of a call that came to no run; a run does it itself, with the last that it writes."""
    journal, saver = order.journal, setup.saver
    lease = order.lease if journal is None else None if journal.released else journal.lease
    if lease is not None and saver is not None:
        await give_back(saver, host, lease)


async def _watched(setup: Setup, run: Run, given: Fresh | Resume, order: Order) -> Ending:
    """Lead a run, and tell whoever watches that it begins and how it ends."""
    run.tell(RunStarted(run.namespace, run.thread, setup.name))
    try:
        ending = await setup.lead(run, given, order)
    except BaseException as error:
        run.tell(RunEnded(run.namespace, run.thread, error=error))
        raise
    run.tell(RunEnded(run.namespace, run.thread, ending.value, None, ending.interrupts))
    return ending


async def _look(saver: Saver, host: Host, thread: str, known: list[frozenset[str]]) -> None:
    """Note the questions that there are before whoever answers waits for the thread."""
    known.append(await asked_by_now(saver, host, thread))


def _check_that_none_is_misplaced(config: RunConfig) -> None:
    """Refuse a thread's id at the top of a config, or under a misspelt key: a new thread would start."""
    if config.thread_id is not None:
        return
    for key, id in config.configurable.items():
        if nearly(key, ("thread_id",)):
            raise InvalidInput(
                f"configurable={{{key!r}: {id!r}}} names no thread: write 'thread_id', or another key if it is your own"
            )
    if "thread_id" in config.rest:
        id = config.rest["thread_id"]
        raise InvalidInput(
            f"config={{'thread_id': {id!r}}} names no thread: pass thread_id={id!r}, or "
            f"config={{'configurable': {{'thread_id': {id!r}}}}}"
        )


async def _journal(setup: Setup, saver: Saver, order: Order, given: Fresh | Resume, host: Host) -> Journal:
    """The journal of the thread that the call names, or of a new one, once its lease is taken.

    Raises:
        UnknownThread: it goes on, and doesn't say with which.
        InvalidInput: it names a thread where none is looked for, and would begin another.
        ThreadBusy: another run holds it, and the call doesn't wait for that, or would do so for ever.
    """
    lease = order.lease
    known: list[frozenset[str]] = []
    if lease is None and order.config.thread_id is None and not isinstance(given, Fresh):
        raise UnknownThread(
            "no thread is named to go on with: pass thread_id='…', or an input to start a new one"
        )
    if lease is None:
        _check_that_none_is_misplaced(order.config)
        thread = order.config.thread_id or host.new_id()
        look = partial(_look, saver, host, thread, known) if answers(given) else None
        in_vain = partial(waits_for_itself, order, saver, thread)
        on_busy = order.on_busy or setup.on_busy
        order.lease = lease = await take_lease(saver, host, thread, on_busy, look, in_vain)
    order.journal = journal = Journal(saver, lease, order.durability or setup.durability)
    journal.known_questions = known[0] if known else None
    order.leave = partial(leave, journal, host)
    host.holds_thread(order.leave)
    return journal
