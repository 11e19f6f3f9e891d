"""Commits that workers leave to another thread, while they go on to the next call: flush pipelining.

Rule: a call that has only to be recorded yet is parked, and its worker is free. One thread at a time writes what is
parked, all of it in one transaction, and settles those calls; nothing that it does there waits for a call. Where too
many are parked, or that takes too long, a worker writes for itself, so that not much is done of which there is no
record: where the database doesn't come back, all of that is done again.

The name, and the case for it, are from Johnson et al., "Aether: A Scalable Approach to Logging", PVLDB 3 (2010).
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from functools import partial
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, Any

from flowfn.engine.drive import Wait, drive
from flowfn.futures import Future, Job
from flowfn.hosts.clock import SYSTEM, Clock
from flowfn.hosts.outcomes import outcomes
from flowfn.hosts.settling import settle
from flowfn.hosts.wakes import Told
from flowfn.hosts.workers import run_soon
from flowfn.python.forking import each_after_fork

if TYPE_CHECKING:
    from flowfn.ports import Commit, Saver

MOST_PARKED = 256
"""How many calls of one run wait for their records at most, and occupy no worker, with those that are being written."""

MOST_AT_HAND = 64
"""How many where a commit takes no time to speak of, and more in one gain little."""

TOO_LONG = 0.25
"""Seconds after which a transaction counts as held up, by a server that restarts, or that others keep busy."""


class LastCommit(Wait):
    """A commit with which all is done but to settle a future."""

    __slots__ = ("commit", "saver", "settles")

    def __init__(self, saver: Saver, commit: Commit, settles: Future[Any]) -> None:
        self.saver = saver
        self.commit = commit
        self.settles = settles

    def block(self) -> BaseException | None:
        return _errors([self])[0]


class Pipeline:
    """The parked calls of one host."""

    def __init__(self, clock: Clock = SYSTEM, most: int | None = None) -> None:
        self._elapsed = clock.elapsed
        self._most = MOST_PARKED if most is None else most
        self._begin()
        _begun_anew_after_fork(self)

    def _begin(self) -> None:
        """Nothing is parked: in a forked child, there is nobody who would write what its parent's workers left."""
        self._parked: list[_Call] = []
        self._flushing = False
        self._writing = 0
        """How many calls are in the transaction that is under way."""
        self._since = 0.0
        """When the transaction began that is under way."""
        self._lock = Lock()

    def settle(self, future: Future[Any], job: Job) -> None:
        """Run a taken job on this thread to its end, or to its last commit, which another thread makes."""
        self._go_on(_Call(future, job), None)

    def _go_on(self, call: _Call, error: BaseException | None) -> None:
        last = call.go_on(error)
        while last is not None and not self._park(call):
            last = call.go_on(last.block())

    def _park(self, call: _Call) -> bool:
        """Leave a call to who writes; False where it has to be written here."""
        with self._lock:
            now = self._elapsed()
            if self._writing + len(self._parked) >= self._most or (
                self._flushing and now - self._since > TOO_LONG
            ):
                return False
            self._parked.append(call)
            if self._flushing:
                return True
            self._flushing, self._since = True, now
        try:
            run_soon(self._flush)
        except RuntimeError:  # no thread can be started
            self._flush()
        return True

    def _flush(self) -> None:
        """Write what is parked, until nothing is."""
        while parked := self._taken():
            told = Told()
            try:
                for _, some in groupby(parked, key=lambda call: id(call.waits_for.saver)):
                    self._settle_together(list(some), told)
            finally:
                told.wake()

    def _settle_together(self, calls: Sequence[_Call], told: Told) -> None:
        """Make the commits of one saver, and have their calls go on."""
        for call, error in zip(calls, _errors([call.waits_for for call in calls]), strict=True):
            call.future.call_back = told.of
            self._go_on(call, error)

    def _taken(self) -> list[_Call]:
        """All that is parked; if nothing is, who parks next finds nobody writing."""
        with self._lock:
            parked, self._parked = self._parked, []
            self._flushing, self._writing, self._since = bool(parked), len(parked), self._elapsed()
            return parked


_begun_anew_after_fork = each_after_fork(Pipeline._begin)


class _Call:
    """A call on its way to its last commit, and on from there."""

    __slots__ = ("_job", "_last", "future")

    def __init__(self, future: Future[Any], job: Job) -> None:
        self.future = future
        self._job = job
        self._last: LastCommit | None = None

    def go_on(self, error: BaseException | None) -> LastCommit | None:
        """Run it on this thread to its last commit, or to its end: None. `error`: what its last wait failed with."""
        self._last = None
        settle(self.future, self._job, partial(drive, error=error, leave=self._leave))
        return self._last

    def _leave(self, wait: Wait, coroutine: Coroutine[Any, Any, Any]) -> bool:
        if not isinstance(wait, LastCommit) or wait.settles is not self.future:
            return False
        self._last, self._job = wait, lambda: coroutine
        self.future.call_back = _alone
        return True

    @property
    def waits_for(self) -> LastCommit:
        """What it was left at."""
        assert self._last is not None
        return self._last


def _errors(commits: Sequence[LastCommit]) -> Sequence[BaseException | None]:
    """Make commits of one saver; for each, None or why it isn't made."""
    return outcomes(commits[0].saver, [last.commit for last in commits])


def _alone(future: Future[Any]) -> None:
    """Tell who waits for a call that is settled by itself."""
    told = Told()
    told.of(future)
    told.wake()
