"""The commits that runs of one event loop want at the same time.

Rule: those that are due in the same turn share one transaction, written in place where the saver is quick (`inline`)
and free, else on a thread. Who commits again before anybody else has doesn't wait for the turn's end: there is nobody
to share with. Nor does a turn that is long, as where tasks compute or block without awaiting anything: what they have
done must not stay without a record until the last of them has ended.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from flowfn.hosts.admission import Admission
from flowfn.hosts.clock import SYSTEM, Clock
from flowfn.hosts.outcomes import outcomes
from flowfn.hosts.workers import run_soon

if TYPE_CHECKING:
    from flowfn.ports import Commit, Saver


COMMITS_IN_PLACE = 8
"""So many commits of one asyncio task in a row, and the loop gets a turn: they take about a millisecond."""

LONG = 0.02
"""Seconds after which commits of a turn are written before its end: a transaction costs little beside what was done
meanwhile."""


class _Due:
    """A commit that is to be made, and what is done when it is; `told`: whether it was, also where nobody waited."""

    __slots__ = ("commit", "told", "written")

    def __init__(self, commit: Commit, written: asyncio.Future[None]) -> None:
        self.commit = commit
        self.written = written
        self.told = False


class _Group:
    """What is due in a turn of the loop for one saver, and since when nothing was written of it."""

    __slots__ = ("due", "saver", "since")

    def __init__(self, saver: Saver, since: float) -> None:
        self.saver = saver
        self.since = since
        self.due: list[_Due] = []


class Committer:
    """Gathers the commits that all runs of one event loop have due in one of its turns."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._elapsed = clock.elapsed
        self._groups: dict[int, _Group] = {}
        self._last: int | None = None
        """The id of the asyncio task that committed last."""
        self._in_place = itertools.count(1)

    async def commit(self, saver: Saver, commit: Commit, admission: Admission) -> None:
        """Make one commit durable, together with others that are due.

        It is made even if whoever waits for it is cancelled meanwhile, and he hears of that when it is.
        """
        group = self._groups.get(id(saver))
        loop = asyncio.get_running_loop()
        me, last = id(asyncio.current_task(loop)), self._last
        self._last = me
        if me == last and group is None and saver.inline and await self._commit_in_place(saver, commit):
            return
        due = _Due(commit, loop.create_future())
        now = self._elapsed()
        if group is None:
            self._groups[id(saver)] = group = _Group(saver, now)
            loop.call_soon(self._end, loop, group)
        group.due.append(due)
        if now - group.since > LONG:
            _write(loop, group)
            group.since = self._elapsed()
        with admission:
            made = due.written.done()
            try:
                await due.written
            except asyncio.CancelledError:
                await _let_be_made(due, loop)
                raise
            if made:  # and so nothing was waited for: the turn goes on to others
                await asyncio.sleep(0)

    async def _commit_in_place(self, saver: Saver, commit: Commit) -> bool:
        """Make a commit at once, where nobody else is writing; says whether it is made."""
        try:
            (error,) = saver.commit([commit], wait=False)
        except BlockingIOError:
            return False
        if error is not None:
            raise error
        if next(self._in_place) % COMMITS_IN_PLACE == 0:
            await asyncio.sleep(0)
        return True

    def _end(self, loop: asyncio.AbstractEventLoop, group: _Group) -> None:
        """The turn ends: write what is still due."""
        del self._groups[id(group.saver)]
        if group.due:
            _write(loop, group)


async def _let_be_made(due: _Due, loop: asyncio.AbstractEventLoop) -> None:
    """Wait for a commit whose maker was cancelled, however often he is, as anyio does in each turn: he gives the
    thread's lease back next, and whoever looks at the thread then would see it change without an owner. The price: he
    ends when the saver does, within its timeout."""
    while not due.told:  # it may have been since he was cancelled, in the same turn
        due.written = loop.create_future()
        with suppress(Exception, asyncio.CancelledError):
            await due.written


def _write(loop: asyncio.AbstractEventLoop, group: _Group) -> None:
    """Write what is due: in place where the saver is quick and free, else on a thread."""
    saver, due = group.saver, group.due
    group.due = []
    commits = [each.commit for each in due]
    if saver.inline:
        try:
            _tell(due, outcomes(saver, commits, wait=False))
            return
        except BlockingIOError:
            pass

    def commit_and_tell() -> None:
        call_soon(loop, _tell, due, outcomes(saver, commits))

    try:
        run_soon(commit_and_tell)
    except RuntimeError as error:  # no thread can be started
        _tell(due, [error] * len(due))


def _tell(due: list[_Due], errors: Sequence[BaseException | None]) -> None:
    for each, error in zip(due, errors, strict=True):
        each.told = True
        if (written := each.written).done():
            continue
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)


def call_soon(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> None:
    """Have the loop call something; if it has ended meanwhile, nobody waits for it any more."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *args)
