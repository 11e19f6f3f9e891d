"""One computation per key, however many ask: among the callers of this process, and among processes.

Here callers queue behind the first one: `join`, `leave`. Among processes a cache that can be shared
has claims, which expire: a claim that this process holds is renewed by one thread until it is given back,
so that a computation may take as long as it likes, and a killed process stands in the way for one lease.
Whoever computes is known weakly: where Ctrl-C came between all that would have told, it is over once it is gone.
"""

from __future__ import annotations

import math
import threading
import time
import uuid
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from flowfn.futures import Future
from flowfn.logs import logger
from flowfn.python.forking import after_fork

_Key = tuple[int, str]


class Queue(list[Future[None]]):
    """Those who wait for one who computes; nobody, as almost always."""

    def tell(self) -> None:
        """Let them ask again; may be called again, as after an interrupt."""
        while self:
            future = self[-1]
            if not future.done() and (future.running() or future.set_running_or_notify_cancel()):
                future.set_result(None)
            self.pop()


class _Awaited(Queue):
    """One in which somebody waits. No other has a finalizer: Python drops a Ctrl-C that comes in one."""

    __del__ = Queue.tell


_flights: WeakValueDictionary[_Key, Queue] = WeakValueDictionary()
_lock = threading.Lock()
_ended = 0


def ended() -> int:
    """How many computations have ended: whoever found nothing meanwhile needn't look again if it is what it was."""
    return _ended


def join(cache: Any, key: str, mine: Queue) -> Future[None] | None:
    """Become the one who computes (None), with those who wait in `mine`, or get a future that is done at its end."""
    with _lock:
        waiting = _flights.setdefault((id(cache), key), mine)
        if waiting is mine:
            return None
        future: Future[None] = Future()
        waiting.__class__ = _Awaited
        waiting.append(future)
        return future


def leave(cache: Any, key: str, mine: Queue) -> None:
    """Let those in `mine` ask again; may be called again, and where nobody joined."""
    global _ended
    with _lock:
        if _flights.get((id(cache), key)) is mine:
            _ended += 1
            del _flights[id(cache), key]
    mine.tell()


class Claim:
    """The right to compute what belongs under a key, among all processes that share a cache."""

    def __init__(self, cache: Any, key: str) -> None:
        self.cache = cache
        self.key = key
        self._owner = uuid.uuid4().hex
        self._ends = math.inf
        self._lapsed = False

    def take(self) -> bool:
        """Take it, and keep it until it is given back; False while somebody else has it."""
        taken: bool = self.renew()
        if taken:
            _keeper.watch(self)
        return taken

    def renew(self) -> bool:
        """Push its end on; False if it was lost."""
        now = time.monotonic()
        self._lapsed = self._lapsed or now >= self._ends
        renewed: bool = self.cache.claim(self.key, self._owner, self.cache.lease)
        if renewed:
            self._ends = now + self.cache.lease
        return renewed

    @property
    def lapsed(self) -> bool:
        """Whether somebody else may have had it since it was taken: this process was stopped, or the cache."""
        return self._lapsed or time.monotonic() >= self._ends

    def give_back(self) -> None:
        """Let others compute."""
        _keeper.forget(self)
        try:
            self.cache.release(self.key, self._owner)
        except Exception as error:  # it expires by itself
            logger.warning("a claim on %s was not given back: %s", self.key, error)


class _Keeper:
    """One thread that renews this process's claims, while it holds any.

    Nothing here has a lock: Ctrl-C may come after `threading.Condition` has taken its own, and before anything would
    give that back.
    """

    def __init__(self) -> None:
        self._claims: WeakKeyDictionary[Claim, None] = WeakKeyDictionary()
        self._beat = math.inf
        """The shortest lease of those that it waits to renew, in seconds."""
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def watch(self, claim: Claim) -> None:
        self._claims[claim] = None
        if self._thread is None:
            thread = threading.Thread(target=self._loop, daemon=True, name="flowfn claims")
            thread.start()
            self._thread = thread
        elif claim.cache.lease < self._beat:
            self._wakes.put(None)

    def forget(self, claim: Claim) -> None:
        self._claims.pop(claim, None)

    def _loop(self) -> None:
        while True:
            self._beat = math.inf  # before it looks: who comes meanwhile wakes it
            self._beat = min((claim.cache.lease for claim in self._held()), default=math.inf)
            self._wait()
            due = self._held()
            while due:  # none is held here while the thread waits
                self._renew(due.pop())

    def _held(self) -> list[Claim]:
        return [claim for each in self._claims.keyrefs() if (claim := each()) is not None]

    def _wait(self) -> None:
        """Until it is time to renew, or a claim came that has less."""
        with suppress(Empty):
            self._wakes.get(timeout=self._beat / 3 if self._beat < math.inf else None)
            while True:
                self._wakes.get_nowait()

    def _renew(self, claim: Claim) -> None:
        if claim not in self._claims:
            return
        try:
            claim.renew()
            if claim not in self._claims:  # given back meanwhile: what was just renewed must not outlast that
                claim.cache.release(claim.key, claim._owner)
        except Exception as error:  # tried again in a third of the lease
            logger.warning("a claim on %s was not renewed: %s", claim.key, error)


_keeper = _Keeper()


def _forget() -> None:
    """A forked child computes nothing that its parent computes, and has none of its threads."""
    global _keeper, _lock
    _keeper, _lock = _Keeper(), threading.Lock()
    _flights.clear()


after_fork(_forget)
