"""Who holds which thread, seen from this process.

Rule: a saver writes an owner's name and a token into its rows, and asks here whether that owner lives.
Within a process this registry is the truth, between processes of one machine the process table is,
and between machines the expiry, which a heartbeat pushes on.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from checkpointers.liveness import Owner
from flowfn.errors import SaverError
from flowfn.ports import Lease, Status, ThreadRow
from flowfn.python.forking import after_fork

TTL = 30.0
"""Seconds for which another machine believes in a lease that nobody renewed."""

_holders: weakref.WeakValueDictionary[str, Holder] = weakref.WeakValueDictionary()


class Doubt:
    """A claim of a thread that may have taken it, though it ended with an error. Each is one of its own: what was read
    for one, before another of the same thread ended, says nothing of that."""

    __slots__ = ("thread",)

    def __init__(self, thread: str) -> None:
        self.thread = thread


class Holder:
    """The leases that one open saver holds, and those that it owes: what couldn't be given back, or may have been lent
    to a claim that ended with an error.

    `renew` is called by a daemon thread every `ttl` / 3 seconds while there are any of these. It is kept
    weakly: a saver that nobody refers to any more isn't kept open by its heartbeat.
    """

    def __init__(self, renew: Callable[[], object] | None = None, *, ttl: float = TTL) -> None:
        self.ttl = ttl
        self._renew = weakref.WeakMethod(renew) if renew is not None else None
        self._reset({})

    def _reset(self, inherited: dict[str, int]) -> None:
        owner = Owner.new()
        self.owner = str(owner)
        self._held: dict[str, int] = {}
        self._owed: set[Lease] = set()
        self._doubted: set[Doubt] = set()
        self._taking: set[tuple[str, int]] = set()
        self._inherited = inherited
        self._lock = threading.Lock()
        self._stop: threading.Event | None = None
        _holders[owner.opening] = self

    def expiry(self) -> float:
        """When a lease taken or renewed now ends, by the wall clock that machines share."""
        return time.time() + self.ttl

    @contextmanager
    def taking(self, thread: str, lent: list[Lease]) -> Iterator[None]:
        """While a lease is taken, others may see its row before it counts as held: it lives already. Where it ends with
        an error, such as a lost connection, the row may be written all the same.

        `lent` is what the caller notes leases in, and hands to `drop_all` where Ctrl-C came: that may be as this ends.
        """
        self._taking.add((thread, id(lent)))
        try:
            yield
        except BaseException:
            self._doubt([thread])
            raise
        finally:
            self._taking.discard((thread, id(lent)))

    def take(self, lease: Lease) -> None:
        """Count a lease as held. To be called before others can see its row, or within `taking`."""
        with self._lock:
            self._held[lease.thread] = lease.token
            self._inherited.pop(lease.thread, None)
            self._start_beating()

    def _start_beating(self) -> None:
        if self._renew is not None and self._stop is None:
            self._stop = threading.Event()
            beat = (weakref.ref(self), self._renew, self._stop, self.ttl / 3)
            threading.Thread(target=_beat, args=beat, name="flowfn-lease", daemon=True).start()

    def drop(self, lease: Lease) -> None:
        """Count a lease as given back, unless the thread was claimed again since."""
        with self._lock:
            if self.holds(lease.thread, lease.token):
                del self._held[lease.thread]

    def owe(self, lease: Lease) -> None:
        """Count a lease as given back whose row still says that this process has it: nobody else would ever get it, as
        the process lives. The heartbeat gives it back when that can be done."""
        self.drop(lease)
        with self._lock:
            self._owed.add(lease)
            self._start_beating()

    def owed(self) -> list[Lease]:
        """The leases that are to be given back."""
        with self._lock:
            return [*self._owed]

    def settle(self, leases: Iterable[Lease]) -> None:
        """Leases that were owed are given back."""
        with self._lock:
            self._owed.difference_update(leases)

    def drop_all(self, lent: list[Lease]) -> None:
        """Count leases as given back that nobody was told of, as Ctrl-C came: nobody would ever give them back. None is
        being taken for this list any more."""
        taken = [taking for taking in list(self._taking) if taking[1] == id(lent)]
        self._taking.difference_update(taken)
        for lease in lent:
            self.drop(lease)
        self._doubt([*(thread for thread, _ in taken), *(lease.thread for lease in lent)])

    def _doubt(self, threads: Iterable[str]) -> None:
        """Have the heartbeat look at the rows of these threads, which may say that this process has them."""
        if self._renew is None:
            return  # its rows are gone with it
        with self._lock:
            self._doubted.update(map(Doubt, threads))
            if self._doubted:
                self._start_beating()

    def doubted(self) -> list[Doubt]:
        """The threads of which it isn't known whether a claim took them."""
        with self._lock:
            return [*self._doubted]

    def looked_at(self, doubts: Iterable[Doubt], rows: Iterable[Held]) -> None:
        """Doubted threads were read: a lease in their rows that is this holder's, and that nobody has, is owed. One
        that is just being taken isn't, and stays in doubt: its claim may end with an error."""
        with self._lock:
            being_taken = {thread for thread, _ in list(self._taking)}
            self._doubted.difference_update(doubt for doubt in doubts if doubt.thread not in being_taken)
            stray = [row for row in rows if row.owner == self.owner and not self.knows(row.thread, row.token)]
            self._owed.update(Lease(row.thread, row.token) for row in stray)

    def holds(self, thread: str, token: int) -> bool:
        return self._held.get(thread) == token

    def token(self, thread: str) -> int | None:
        """The token of the lease that is held of a thread, if one is."""
        return self._held.get(thread)

    def knows(self, thread: str, token: int) -> bool:
        """Whether a lease is held, or may be one that is just being taken."""
        return self.holds(thread, token) or any(taken == thread for taken, _ in list(self._taking))

    def refuses(self, lease: Lease) -> bool:
        """Whether the lease belongs to the process that this one was forked from: it isn't to be used here, nor to be
        given back."""
        return bool(self._inherited) and self._inherited.get(lease.thread) == lease.token

    def leases(self) -> list[Lease]:
        with self._lock:
            return [Lease(thread, token) for thread, token in self._held.items()]

    def close(self) -> list[str]:
        """Give up all leases and end the heartbeat; the threads whose rows may still name this holder."""
        with self._lock:
            debts: list[Lease | Doubt] = [*self._owed, *self._doubted]
            threads = {*self._held, *(debt.thread for debt in debts)}
            self._held.clear()
            self._owed.clear()
            self._doubted.clear()
            if self._stop is not None:
                self._stop.set()
            return [*threads]

    def _idle(self) -> bool:
        """Whether the heartbeat may end: no lease is held or owed, or may be. The next one starts it again."""
        with self._lock:
            idle = not (self._held or self._owed or self._doubted)
            if idle:
                self._stop = None
            return idle


class Held(NamedTuple):
    """A thread and the lease that its row tells of, if it has an owner; `key` is the row's.

    `expired` is by the database's clock.
    """

    key: int
    thread: str
    owner: str | None
    token: int
    expired: bool

    def live_owner(self) -> str | None:
        """Who holds the thread and lives."""
        owner = self.owner
        return owner if owner is not None and is_alive(owner, self.thread, self.token, self.expired) else None


def is_alive(owner: str, thread: str, token: int, expired: bool) -> bool:
    """Whether the lease in a row is held by somebody alive."""
    who = Owner.parse(owner)
    if who.is_this_process():
        holder = _holders.get(who.opening)
        return holder is not None and holder.knows(thread, token)
    lives = who.lives()
    return not expired if lives is None else lives


def label(owner: str) -> str:
    """Who an owner is, for people."""
    return Owner.parse(owner).label


Listed = tuple[str, str, str, Status, str, str, bool, Held]
"""Of a thread's row: id, last run and times, whether it holds anything, and its lease."""


def listed(row: Listed) -> ThreadRow | None:
    """A thread as it is listed; None for one that was claimed and left with nothing written."""
    id, workflow, call, status, created_at, updated_at, used, held = row
    alive = held.live_owner()
    if not used and alive is None:
        return None
    owner = None if alive is None else label(alive)
    died = label(held.owner) if held.owner is not None and alive is None and status != "running" else None
    return ThreadRow(id, workflow, call, status, owner, created_at, updated_at, died)


def _beat(
    holder: weakref.ref[Holder],
    renew: weakref.WeakMethod[Callable[[], object]],
    stop: threading.Event,
    every: float,
) -> None:
    while not stop.wait(every):
        held, method = holder(), renew()
        if held is None or method is None or held._idle():
            return
        method()
        del held, method


def give_back_later(give_back: Callable[[], object], every: float) -> None:
    """Have a closed saver's leases given back that it couldn't, its server being away or its disk full: other processes
    here would wait for them as long as this one lives. It is tried every so many seconds, while it raises `SaverError`.
    """
    with suppress(RuntimeError):  # as the process ends, and its leases with it, no thread can be started
        threading.Thread(
            target=_until_done, args=(give_back, every), name="flowfn-lease", daemon=True
        ).start()


def _until_done(give_back: Callable[[], object], every: float) -> None:
    while True:
        time.sleep(every)
        with suppress(SaverError):
            give_back()
            return


def _after_fork() -> None:
    """A forked child is another owner: it holds nothing, and may not use what its parent holds."""
    forked = list(_holders.values())
    _holders.clear()
    for holder in forked:
        holder._reset({**holder._inherited, **holder._held})


after_fork(_after_fork)
