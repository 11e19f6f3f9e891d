"""What all runs of one event loop share, as what one does there concerns the others.

Rule: nothing here keeps the loop alive, nor outlives it.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from flowfn.hosts.admission import ELSEWHERE, INLINE, Admission
from flowfn.hosts.claims import Claimer
from flowfn.hosts.commits import Committer
from flowfn.hosts.left_behind import LeftBehind
from flowfn.hosts.moment import MOMENT
from flowfn.hosts.numbering import TaskFactory
from flowfn.python.forking import let_go_by_fork

if TYPE_CHECKING:
    from flowfn.futures import Future
    from flowfn.hosts.loop import LoopHost
    from flowfn.ports import Saver


Leave = Callable[[], None]
"""Gives the thread of a run back that can't go on."""


class Shared:
    """What all runs of one event loop share."""

    def __init__(self) -> None:
        self._admissions: dict[tuple[int, bool], Admission] = {}
        """By the id of the saver, and whether it is quick. Who gets the id later finds nobody waiting."""
        self.committer = Committer()
        self.claimer = Claimer()
        self.left_behind = LeftBehind()
        self.jobs_in_place = itertools.count(1)
        """Counts the jobs that ran in the task that awaited them."""
        self.runs = 0
        """How many are under way."""
        self.leaves: WeakSet[Leave] = WeakSet()
        """For each thread that a run holds what leaves that, for as long as the run keeps it."""
        self._tasks = TaskFactory()
        self._called: list[tuple[LoopHost, Future[Any]]] = []
        """What was called in this turn of the loop, or since the last one."""

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """A run begins."""
        if self.runs == 0:
            self._tasks.begin(loop)
        self.runs += 1

    def end(self, loop: asyncio.AbstractEventLoop) -> None:
        """A run has ended."""
        self.runs -= 1
        if self.runs == 0:
            self._tasks.end(loop)

    def leave_all(self) -> Iterator[None]:
        """Leave the threads that runs hold, one by one, as the loop is closed."""
        while self.leaves:
            try:
                leave = self.leaves.pop()
            except KeyError:  # the last was collected meanwhile
                return
            yield leave()

    def begin_later(self, loop: asyncio.AbstractEventLoop, host: LoopHost, future: Future[Any]) -> None:
        """Have a job begun in the loop's turn after the next, with all that runs have called in this one."""
        # Asked before it is noted: else a Ctrl-C in between kept all that comes later waiting.
        if not self._called:
            loop.call_soon(self._let_a_turn_pass, loop)
        self._called.append((host, future))

    def _let_a_turn_pass(self, loop: asyncio.AbstractEventLoop) -> None:
        called, self._called = self._called, []
        loop.call_soon(_begin_all, called)

    @property
    def moment(self) -> float:
        """Seconds for which the loop may stand still for what may end at once: no other run could go on meanwhile."""
        return MOMENT if self.runs < 2 else 0

    def admission_to(self, saver: Saver) -> Admission:
        """Who may begin with a saver."""
        key = id(saver), saver.inline
        most = INLINE if saver.inline else ELSEWHERE
        return self._admissions.get(key) or self._admissions.setdefault(key, Admission(most))


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, Shared] = WeakKeyDictionary()


def shared(loop: asyncio.AbstractEventLoop) -> Shared:
    """What all runs of this loop share."""
    return _shared.get(loop) or _shared.setdefault(loop, Shared())


_leaving = let_go_by_fork(RLock())
"""Held while runs are left: who comes meanwhile waits until the threads are given back."""
_left_by_now = 0


def leave_closed() -> int:
    """Leave the runs of loops that were closed before these had ended. How many were left in this process by now."""
    global _left_by_now
    loops = [loop for kept in _shared.keyrefs() if (loop := kept()) is not None and loop.is_closed()]
    if loops:
        with _leaving:
            for loop in loops:
                for _ in _shared[loop].leave_all():
                    _left_by_now += 1
    return _left_by_now


def _begin_all(called: Iterable[tuple[LoopHost, Future[Any]]]) -> None:
    for host, future in called:
        host.begin(future)
