"""When a branch of a frame's code hears of what a call came to, on a resume: when it did before.

Rule: an outcome is heard of once all calls are made again that had been made before it was recorded, the earliest
first, and once the branch that heard of the last one has gone on; what is new, after all that is recorded. So what
branches share besides calls (a queue, an iterator, a lock) goes to whom it went.

Code that was edited, or that waits for the clock, may make other calls, or none for now: where nothing is called for
`STILL` turns of the loop, the earliest is heard of all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.hosts.numbering import numbers_of

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame

Task = asyncio.Task[Any]

STILL = 8
"""Turns of the loop. From a result to the next call that comes of it, through queues, locks and groups, are fewer."""


def turn_of(frame: Frame, place: int | None) -> Callable[[], Coroutine[Any, Any, None]] | None:
    """What suspends a branch until it may hear of an outcome that was recorded at that place, or, of None, of a new
    one; None where there is no order any more. Asked for on the loop on which the branches run."""
    numbers = numbers_of(frame)
    if numbers.turns is None:
        numbers.turns = Turns(asyncio.get_running_loop(), frame)
    turns: Turns = numbers.turns
    return partial(turns.come, inf if place is None else place) if turns.matter else None


class _Waiting(NamedTuple):
    """A branch that is to hear of an outcome; the earliest is the least."""

    place: float
    number: int
    branch: Task | None
    heard: asyncio.Future[None]


class Turns:
    """Lets the branches of a frame's code hear of outcomes in their order. It needs no task, so that nobody has to end
    it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, frame: Frame) -> None:
        self._loop = loop
        self._context = Context()
        self._frame = frame
        self._left = frame.run.ledger.remade(frame.scope)
        self._waiting: list[_Waiting] = []
        self._numbers = count()
        self._last: Task | None = None
        """The branch that heard of an outcome last, until something is called."""
        self._steps = 0
        """How many calls the code had made then."""
        self._still = 0
        """For how many turns nothing has been heard of, and nothing called."""

    @property
    def matter(self) -> bool:
        """Whether there is an order to what is heard of from now on."""
        return bool(self._waiting) or self._left.is_left_before(inf)

    async def come(self, place: float) -> None:
        """Suspend the running branch until it may hear of an outcome."""
        branch, waiting = asyncio.current_task(), self._waiting
        is_first = not waiting or place < waiting[0].place
        if not (is_first and self._has_gone_on(branch)) or self._left.is_left_before(place):
            if not waiting:
                self._loop.call_soon(self._look, context=self._context)
            heard = self._loop.create_future()
            heappush(waiting, _Waiting(place, next(self._numbers), branch, heard))
            await heard
        self._note(branch)

    def _note(self, branch: Task | None) -> None:
        self._last, self._steps, self._still = branch, self._frame.steps, 0

    def _has_gone_on(self, branch: Task | None = None) -> bool:
        """Whether the branch that heard of an outcome last has ended, or something was called since; or whether it is
        this one."""
        last = self._last
        return last is None or last is branch or last.done() or self._frame.steps != self._steps

    def _look(self) -> None:
        """Let the earliest be heard of, if it is its turn, or if nothing has happened for long enough."""
        waiting = self._waiting
        while waiting and waiting[0].heard.done():  # given up meanwhile
            heappop(waiting)
        if not waiting:
            return
        if self._frame.steps != self._steps:
            self._note(None)
        if self._still == STILL:
            self._left.pass_by(waiting[0].place)
            self._note(None)
        if self._has_gone_on() and not self._left.is_left_before(waiting[0].place):
            earliest = heappop(waiting)
            earliest.heard.set_result(None)
            self._note(earliest.branch)
        self._still += 1
        self._loop.call_soon(self._look, context=self._context)
