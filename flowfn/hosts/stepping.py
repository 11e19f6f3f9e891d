"""Watching a run on one's own thread: it goes on to the work of its next superstep whenever its consumer asks for more.

Rule: that is for a consumer who has nothing to read between a superstep's work and its end. Where there may be
something, as in one of several tasks, the superstep runs on a worker, for a way to a thread and back.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import get_ident
from typing import Any
from weakref import ref

from flowfn.context import current_frame
from flowfn.engine.drive import LEFT, Wait, drive
from flowfn.errors import Cancelled
from flowfn.hosts.streams import Alive, Ended
from flowfn.hosts.workers import run_soon


class _Turn(Wait):
    """Before the work of a superstep it is the consumer's turn."""

    def block(self) -> None:
        """Nobody reads."""


_TURN = _Turn()

_PAUSED = Ended(None)
"""A leg of a run is over, and not yet the run."""


class SteppedStream:
    """A run on its consumer's thread, which goes on to the work of its next superstep when the consumer asks for more.

    A superstep of several tasks runs on a worker, so that what each comes to is shown at once, and so do all while
    `live`. The legs share one context, as they do one thread in a `ThreadStream`.
    """

    pause = None

    def __init__(self) -> None:
        self.live = False
        """Whether what is told is to be read before its superstep ends."""
        self._events: SimpleQueue[Any] = SimpleQueue()
        self.post = self._events.put
        self._left = False
        self._several = False
        """Whether several tasks are to begin."""
        self._away = False
        """Whether a worker runs a leg."""
        self.reader: object = None
        """The thread that asked for the leg which is shown."""

    @property
    def waits_for_reader(self) -> bool:
        """Whether the run goes on only when somebody reads on."""
        return not self._away

    async def before_work(self, tasks: int) -> None:
        """Let the consumer read, who asks for more or leaves."""
        self._several = tasks > 1
        await _TURN
        if self._left:
            raise Cancelled

    def leave(self) -> None:
        """Ask for no more."""
        self._left = True

    def events(self, run: Coroutine[Any, Any, Any], leave: Callable[[], None]) -> Iterator[Any]:
        """Run leg by leg, and yield the events of each; see `ThreadStream.events` for a consumer who stops early."""
        context, alive = copy_context(), Alive()
        known = ref(alive)  # the collector clears it before it closes what it found; nothing else does
        go = partial(context.run, drive, run, leave=_is_turn)
        _under_way.add(run)
        try:
            while True:
                self.reader = get_ident()
                if self.live or self._several:
                    self._send_away(go)
                else:
                    self._events.put(_leg(go))
                while not isinstance(event := self._events.get(), Ended):
                    yield event
                if event is not _PAUSED:
                    break
        except BaseException:
            leave()
            self.leave()
            if known() is not None and current_frame.get() is None:
                self._see_end(run, go)
            else:
                run_soon(partial(self._see_end, run, go))
            raise
        _under_way.discard(run)
        if event.error is not None:
            raise event.error

    def _send_away(self, go: Callable[[], Any]) -> None:
        """Have a worker run a leg; and all others, where the consumer has left and may not wait for it."""

        def leg() -> None:
            mark = _leg(go)
            while mark is _PAUSED and self._left:
                mark = _leg(go)
            self._away = False
            self._events.put(mark)

        self._away = True
        try:
            run_soon(leg)
        except BaseException:
            self._away = False
            raise

    def _see_end(self, run: Coroutine[Any, Any, Any], go: Callable[[], Any]) -> None:
        """See a run that was left to its end; one that nobody has begun is begun by none."""
        from inspect import CORO_CLOSED, CORO_CREATED, getcoroutinestate

        if getcoroutinestate(run) == CORO_CREATED and not self._away:
            run.close()
        while getcoroutinestate(run) != CORO_CLOSED:
            if self._away:
                self._events.get()
            else:
                _leg(go)
        _under_way.discard(run)


_under_way: set[Coroutine[Any, Any, Any]] = set()
"""The runs of streams that were begun: the collector, which may find such a stream, isn't to close its run."""


def _leg(go: Callable[[], Any]) -> Ended:
    """Go on to the work of the next superstep; how that ended."""
    try:
        left = go() is LEFT
    except BaseException as error:
        return Ended(error)
    return _PAUSED if left else Ended(None)


def _is_turn(wait: Wait, run: Coroutine[Any, Any, Any]) -> bool:
    """Whether a run waits for its consumer to ask for more."""
    return wait is _TURN
