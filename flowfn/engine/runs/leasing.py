"""Taking a thread, and giving it back.

Guarantee: one writer per thread. Whoever comes second waits, is turned away, or takes over (`on_busy`).
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from flowfn.config import OnBusy
from flowfn.engine.questions.waiting import asked_ids
from flowfn.errors import Cancelled, SaverError, ThreadBusy
from flowfn.futures import Future
from flowfn.logs import logger
from flowfn.ports import Busy, Host, Lease, Saver

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from flowfn.engine.records.journal import Journal

T = TypeVar("T")

FIRST_WAIT, LONGEST_WAIT = 0.001, 0.1
"""Seconds between two looks at a busy thread."""


async def take_lease(
    saver: Saver,
    host: Host,
    thread: str,
    on_busy: OnBusy,
    on_wait: Callable[[], Awaitable[None]] | None = None,
    in_vain: Callable[[], bool] | None = None,
) -> Lease:
    """The lease of a thread, as `on_busy` says; `on_wait` is called once, before it is waited for.

    Raises:
        ThreadBusy: somebody alive holds it, and `on_busy="reject"`; or it is waited for `in_vain`, which is asked only
            after some time: who has just left a stream needn't read it.
    """
    delay, force, left = FIRST_WAIT, on_busy == "cancel", 0
    taken: Lease | Busy | None = None
    try:
        while True:
            taken = None if force else await host.claim_free(saver, thread)
            if taken is None and saver.inline:  # by no other call: Ctrl-C may come between two
                taken = saver.claim(thread, force=force)
            elif taken is None:
                taken = await leased(saver, host, lambda: saver.claim(thread, force=force))
            if isinstance(taken, Lease):
                return taken
            assert isinstance(taken, Busy)
            before, left = left, host.leave_what_cannot_go_on()
            if left != before:  # it may have been free since it was found busy
                continue
            if on_busy == "reject":
                raise _rejected(thread, taken)
            if delay == LONGEST_WAIT and in_vain is not None and in_vain():
                raise _waits_for_itself(thread)
            if on_wait is not None:
                await on_wait()
                on_wait = None
            await host.sleep(delay)
            delay = min(delay * 2, LONGEST_WAIT)
    except BaseException:
        if isinstance(taken, Lease):
            await give_back(saver, host, taken)
        raise


def _rejected(thread: str, holder: Busy) -> ThreadBusy:
    return ThreadBusy(
        f"thread {thread!r} is held by a live run ({holder.owner}): wait with on_busy='wait', take it over with "
        "on_busy='cancel', or use another thread_id"
    )


def _waits_for_itself(thread: str) -> ThreadBusy:
    return ThreadBusy(
        f"thread {thread!r} is held by a run whose stream this code reads itself, and which goes on when that is read: "
        "read the stream to its end, or close it, before this call; on_busy='cancel' takes the thread over from it"
    )


async def asked_by_now(saver: Saver, host: Host, thread: str) -> frozenset[str]:
    """The ids of the questions that a thread's run has asked, as of now: it may ask others meanwhile.

    It needn't have stopped for them: who reads its stream has seen them before.
    """
    return await on_saver(saver, host, _asked, saver, thread)  # type: ignore[no-any-return]


def _asked(saver: Saver, thread: str) -> frozenset[str]:
    """The ids of the questions of the root's last superstep, and of the runs nested in that."""
    found: set[str] = set()
    for loaded in saver.history(thread, None):
        found |= asked_ids(saver.serde, loaded.writes)
        if not loaded.checkpoint.namespace:
            break
    return frozenset(found)


def release_after(left: Sequence[Future[Any]], saver: Saver, lease: Lease) -> None:
    """Give a lease back once the last of these has ended: until then nobody runs the same code beside it."""
    to_come = count(len(left) - 1, -1)
    given_back: Future[None] = Future()
    _left[id(saver), lease.thread] = given_back

    def release(_: object) -> None:
        if next(to_come) == 0:
            with logged_failure(lease):
                saver.release(lease)
            _left.pop((id(saver), lease.thread), None)
            given_back.set_result(None)

    for each in left:
        each.add_done_callback(release)


def is_gone(error: BaseException, host: Host) -> bool:
    """Whether an error is that of coroutines which are closed as their event loop is gone: nothing can be awaited."""
    return isinstance(error, GeneratorExit) and not host.goes_on()


def leave(journal: Journal, host: Host) -> None:
    """Give the lease of a run back that can't go on, since its event loop is gone: nothing of it may wait any more.

    Code that goes on upon threads starts nothing more, and is waited for.
    """
    if not journal.released:
        _give_back_after(_stopped(journal, host), journal)


def leave_soon(journal: Journal, host: Host) -> None:
    """`leave`, on another thread: the garbage collector, which closes coroutines, comes anywhere, also where this
    thread holds the saver's locks."""
    if not journal.released:
        give_back = partial(_give_back_after, _stopped(journal, host), journal)
        with suppress(RuntimeError):  # as the process ends, and the lease with it, no thread can be started
            host.background(give_back)


def _stopped(journal: Journal, host: Host) -> Sequence[Future[Any]]:
    """What goes on upon threads of a run that starts nothing more."""
    journal.released = True
    journal.ends(Cancelled())
    return host.on_threads()


def _give_back_after(running: Sequence[Future[Any]], journal: Journal) -> None:
    if running:
        release_after(running, journal.saver, journal.lease)
        return
    with logged_failure(journal.lease):
        journal.saver.release(journal.lease)


_left: dict[tuple[int, str], Future[None]] = {}
"""The leases of runs that were left, while code of theirs goes on upon threads, by saver and thread."""


def left_here(saver: Saver, thread: str) -> Future[None] | None:
    """What is done once a thread's lease has been given back by a run of this process that was left."""
    return _left.get((id(saver), thread))


@contextmanager
def logged_failure(lease: Lease) -> Iterator[None]:
    """Say in the log that a backend couldn't take a lease back."""
    try:
        yield
    except SaverError as error:
        logger.warning("the lease of thread %s could not be given back: %s", lease.thread, error)


async def give_back(saver: Saver, host: Host, lease: Lease) -> None:
    """Give back the lease of a call that came to no run; whoever can't is told why by what failed before."""
    with suppress(SaverError):
        await on_saver(saver, host, saver.release, lease)


async def on_saver(saver: Saver, host: Host, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a saver's method: in place where it is quick, else where it may block."""
    if saver.inline:
        return method(*args, **kwargs)
    return await host.on_saver(saver, lambda: method(*args, **kwargs))


async def leased(saver: Saver, host: Host, take: Callable[[], T]) -> T:
    """Call what takes a lease of a saver that isn't quick.

    One that is for somebody who was cancelled meanwhile is given back. `take` calls the saver's method with arguments
    that are written out: as `method(*args)` returns, Ctrl-C may come, and nobody would have the lease.
    """

    def give_back(taken: Any) -> None:
        if isinstance(taken, Lease):
            with suppress(SaverError):
                saver.release(taken)

    taken: T = await host.on_saver(saver, take, undo=give_back)
    return taken
