"""When a branch of a frame's code hears of what a call came to, on a resume: when it did before.

Rule: outcomes are heard of in the order in which they were committed, each once all calls are made again that had been
made before it was recorded, and once the branch that heard of the last one has gone on; what is new, after all that is
recorded. None came within the step of the loop that asked for it, and none does now: all others have taken theirs by
then. So what branches share besides calls (a queue, an iterator, a lock) goes to whom it went. A thread of a branch's
hears when the branch would.

Code that was edited may make other calls, or none: where nothing is called for `STILL` turns of the loop, the earliest
is heard of all the same. Where a branch does something else that may lead to the call which is missing (it reads a
file, or waits for the clock), or a thread has yet to go on, there is patience for that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from functools import partial
from heapq import heappop, heappush
from itertools import count
from math import inf
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple

from flowfn.hosts.commits import call_soon
from flowfn.hosts.moment import ending
from flowfn.hosts.numbering import branch_around, numbers_of
from flowfn.hosts.standing import Task, comes_no_further, waits_on_thread
from flowfn.python.event_loop import running_loop

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.futures import Turn

STILL = 8
"""Turns of the loop. From a result to the next call that comes of it, through queues, locks and groups, are fewer."""

PATIENCE = 1.0
"""Seconds that may be waited in vain, in all, for calls that aren't made again."""

BRIEFLY = 0.01
"""Seconds of that for a thread that seems to wait: it may be about to go on from there."""

TICK = 0.001


def turn_of(
    frame: Frame, loop: asyncio.AbstractEventLoop, thread: int, order: float, place: float
) -> Turn | None:
    """When a branch may hear of an outcome of that order, which was given that place before it was committed; None
    where no call is left to be made again. The branches run on that `loop`, and it on that `thread`."""
    numbers = numbers_of(frame)
    turns: Turns = numbers.turns or vars(numbers).setdefault("turns", Turns(loop, thread, frame))
    return (turns, order, place) if turns.matter(order) else None


def some_wait_for_turns(frame: Frame) -> bool:
    """Whether a branch of a frame's code has yet to hear of an outcome."""
    turns: Turns | None = None if frame.numbers is None else frame.numbers.turns
    return turns is not None and turns.are_awaited


def keeps_waiting(frame: Frame) -> set[Task | None]:
    """The branches of a frame's code whose turns don't come: nothing is called that they wait for."""
    turns: Turns | None = None if frame.numbers is None else frame.numbers.turns
    return set() if turns is None else turns.stuck


class _Thread(NamedTuple):
    """A thread that hears of an outcome, and the branch that waits for it."""

    ident: int
    task: Task | None

    def done(self) -> bool:
        """Whether that has ended."""
        return self.task is None or self.task.done()


class _Waiting(NamedTuple):
    """A branch that is to hear of an outcome, or a thread of it; the earliest is the least."""

    order: float
    number: int
    place: float
    branch: Task | _Thread | None
    tell: Callable[[], object]
    has_given_up: Callable[[], bool]

    @property
    def task(self) -> Task | None:
        return self.branch.task if isinstance(self.branch, _Thread) else self.branch


class Turns:
    """Lets the branches of a frame's code hear of outcomes in their order. It needs no task, so that nobody has to end
    it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, thread: int, frame: Frame) -> None:
        self._loop = loop
        self._thread = thread
        self._context = Context()
        self._frame = frame
        self._left = frame.run.ledger.remade(frame.scope)
        self._waiting: list[_Waiting] = []
        self._numbers = count()
        self._about: dict[int, float] = {}
        """The threads that were handed an outcome of that order, and have yet to ask for it, or to call something."""
        self._next: asyncio.Handle | None = None
        """The next look."""
        self._is_deaf = False
        """Whether code blocks the loop until its threads have ended: they can't wait for it."""
        self._last: Task | _Thread | None = None
        """The branch that heard of an outcome last, until something is called."""
        self._steps = 0
        """How many calls the code had made then."""
        self._still = 0
        """For how many turns nothing has been heard of, and nothing called."""
        self._patience = PATIENCE
        self._waited = 0.0
        """Of that, what is used up unless something is called."""

    @property
    def are_awaited(self) -> bool:
        """Whether a branch waits."""
        return any(not each.has_given_up() for each in self._waiting)

    @property
    def stuck(self) -> set[Task | None]:
        """The branches that wait, where nothing has happened for so long."""
        return {each.task for each in self._waiting} if self._still >= STILL else set()

    def matter(self, order: float) -> bool:
        """Whether there is any order to what is heard of from now on. One who is handed an outcome asks."""
        is_any = bool(self._waiting) or self._left.is_left_before(inf)
        if (me := get_ident()) != self._thread:
            self._about[me] = order if is_any else inf
        return is_any

    async def come(self, order: float, place: float) -> None:
        """Suspend the running branch until it may hear of an outcome; what a thread's own loop runs goes on."""
        if (me := get_ident()) != self._thread:
            self._about.pop(me, None)
            return
        branch = asyncio.current_task(self._loop)
        if not self._goes_on(order, place, branch):
            heard = self._loop.create_future()
            tell = partial(heard.set_result, None)
            self._wait(_Waiting(order, next(self._numbers), place, branch, tell, heard.done))
            await heard
        elif branch is not self._frame.home or self._frame.numbers.given:
            await asyncio.sleep(0)  # others have yet to take this step: to begin, and to take an item each

    def block(self, order: float, place: float, timeout: float | None) -> None:
        """Block this thread until it may hear of an outcome, for so many seconds at most; what runs a loop goes on."""
        thread, met, heard = _Thread(get_ident(), branch_around(self._frame)), ending(), ending()

        def come() -> None:
            met.release()
            self._about.pop(thread.ident, None)
            if self._goes_on(order, place, thread):
                heard.release()
            else:
                self._wait(_Waiting(order, next(self._numbers), place, thread, heard.release, bool))

        if not self._is_deaf and running_loop() is None:
            call_soon(self._loop, come)
            if met.acquire(timeout=PATIENCE):
                while not heard.acquire(timeout=PATIENCE if timeout is None else max(timeout, 0)):
                    if timeout is not None or not self._loop.is_running():
                        break
                return
            self._is_deaf = True
        self._about.pop(thread.ident, None)

    def _goes_on(self, order: float, place: float, branch: Task | _Thread | None) -> bool:
        """Whether a branch may hear of an outcome at once; then it does."""
        if self._waiting and order >= self._waiting[0].order:
            return False
        if may_hear := self._may_hear(order, place, branch):
            self._note(branch)
        return may_hear

    def _wait(self, waiting: _Waiting) -> None:
        """Have a branch told when it may hear of an outcome."""
        heappush(self._waiting, waiting)
        if self._next is None or self._still >= STILL:  # the next look may come after a rest
            self._look_soon()

    def _note(self, branch: Task | _Thread | None) -> None:
        self._last, self._steps, self._still, self._waited = branch, self._frame.steps, 0, 0.0

    def _may_hear(self, order: float, place: float, branch: Task | _Thread | None) -> bool:
        """Whether it is the turn of a branch, if nobody waits for an earlier one."""
        return (
            not self._left.is_left_before(place)
            and (self._last == branch or self._has_gone_on())
            and not (self._about and self._about_to_ask(order))
        )

    def _has_gone_on(self) -> bool:
        """Whether the branch that heard of an outcome last has ended, or something was called since."""
        return self._last is None or self._last.done() or self._frame.steps != self._steps

    def _about_to_ask(self, order: float) -> list[int]:
        """The threads that are about to ask for an outcome which comes before one."""
        return [thread for thread, its in self._about.copy().items() if its < order]

    def _look_soon(self) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next = self._loop.call_soon(self._look, context=self._context)

    def _look(self) -> None:
        """Let the earliest be heard of, if it is its turn, or if nothing has happened for long enough."""
        waiting, self._next = self._waiting, None
        while waiting and waiting[0].has_given_up():
            heappop(waiting)
        if not waiting:
            return
        earliest = waiting[0]
        if self._frame.steps != self._steps:
            self._note(None)
        if self._still >= STILL:
            if self._waited < self._patience and self._is_under_way(earliest):
                self._waited += TICK
                self._next = self._loop.call_later(TICK, self._look, context=self._context)
                return
            self._left.pass_by(earliest.place)
            self._about.clear()
            self._patience -= self._waited
            self._note(None)
        if self._may_hear(earliest.order, earliest.place, earliest.branch):
            heappop(waiting)
            self._note(earliest.branch)
            earliest.tell()
        self._still += 1
        self._look_soon()

    def _is_under_way(self, earliest: _Waiting) -> bool:
        """Whether a branch is about to go on that the earliest waits for: it waits neither for an outcome, nor for what
        others do. Where no call is missing, that is the one that heard last, or a thread that was handed an outcome."""
        frame, last = self._frame, self._last
        if self._left.is_left_before(earliest.place):
            branches = {frame.home, *numbers_of(frame).given} - {each.task for each in self._waiting}
            return not all(task.done() or comes_no_further(task, frame) for task in branches)
        threads = self._about_to_ask(earliest.order)
        if isinstance(last, _Thread) and not self._has_gone_on():
            threads.append(last.ident)
        return bool(threads) and (self._waited < BRIEFLY or not all(map(waits_on_thread, threads)))
