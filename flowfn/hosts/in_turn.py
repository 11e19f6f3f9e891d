"""When a branch of a frame's code hears of what a call came to, on a resume: when it did before.

Rule: outcomes are heard of in the order in which they were committed, each once all calls are made again that had been
made before it was recorded, and once the branch that heard of the last one has gone on; what is new, after all that is
recorded. So what branches share besides calls (a queue, an iterator, a lock) goes to whom it went.

Code that was edited may make other calls, or none: where nothing is called for `STILL` turns of the loop, the earliest
is heard of all the same. Where a call is missing, and a branch does something else that may lead to it (it reads a
file, or waits for the clock), there is patience for that.
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
from flowfn.hosts.standing import Task, comes_no_further

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame

STILL = 8
"""Turns of the loop. From a result to the next call that comes of it, through queues, locks and groups, are fewer."""

PATIENCE = 1.0
"""Seconds that may be waited in vain, in all, for calls that aren't made again."""

TICK = 0.001


def turn_of(frame: Frame, order: float, place: float) -> Callable[[], Coroutine[Any, Any, None]] | None:
    """What suspends a branch until it may hear of an outcome of that order, which was given that place before it was
    committed; None where no call is left to be made again. Asked for on the loop on which the branches run."""
    numbers = numbers_of(frame)
    if numbers.turns is None:
        numbers.turns = Turns(asyncio.get_running_loop(), frame)
    turns: Turns = numbers.turns
    return partial(turns.come, order, place) if turns.matter else None


def some_wait_for_turns(frame: Frame) -> bool:
    """Whether a branch of a frame's code has yet to hear of an outcome."""
    turns: Turns | None = None if frame.numbers is None else frame.numbers.turns
    return turns is not None and turns.are_awaited


class _Waiting(NamedTuple):
    """A branch that is to hear of an outcome; the earliest is the least."""

    order: float
    number: int
    place: float
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
        self._patience = PATIENCE
        self._waited = 0.0
        """Of that, what is used up unless something is called."""

    @property
    def matter(self) -> bool:
        """Whether there is an order to what is heard of from now on."""
        return bool(self._waiting) or self._left.is_left_before(inf)

    @property
    def are_awaited(self) -> bool:
        """Whether a branch waits."""
        return any(not each.heard.done() for each in self._waiting)

    async def come(self, order: float, place: float) -> None:
        """Suspend the running branch until it may hear of an outcome."""
        branch, waiting = asyncio.current_task(), self._waiting
        is_first = not waiting or order < waiting[0].order
        if not (is_first and self._has_gone_on(branch)) or self._left.is_left_before(place):
            if not waiting:
                self._loop.call_soon(self._look, context=self._context)
            heard = self._loop.create_future()
            heappush(waiting, _Waiting(order, next(self._numbers), place, branch, heard))
            await heard
        self._note(branch)

    def _note(self, branch: Task | None) -> None:
        self._last, self._steps, self._still, self._waited = branch, self._frame.steps, 0, 0.0

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
        earliest = waiting[0]
        if self._frame.steps != self._steps:
            self._note(None)
        if self._still >= STILL:
            if self._left.is_left_before(earliest.place):
                if self._waited < self._patience and self._is_under_way():
                    self._waited += TICK
                    self._loop.call_later(TICK, self._look, context=self._context)
                    return
                self._left.pass_by(earliest.place)
                self._patience -= self._waited
            self._note(None)
        if self._has_gone_on() and not self._left.is_left_before(earliest.place):
            heappop(waiting)
            earliest.heard.set_result(None)
            self._note(earliest.branch)
        self._still += 1
        self._loop.call_soon(self._look, context=self._context)

    def _is_under_way(self) -> bool:
        """Whether a branch waits neither for an outcome, nor for what others do."""
        branches = {self._frame.home, *numbers_of(self._frame).given}
        others = branches - {each.branch for each in self._waiting}
        return not all(task.done() or comes_no_further(task, self._frame) for task in others)
