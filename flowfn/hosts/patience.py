"""How long a call is held, by what the branches of its frame's code do: the asyncio tasks that this has split into.

A held call (`engine/calls/holding.py`) that is in doubt is placed once every other branch of its frame waits too, so
that a slow branch that has yet to claim its records is no false alarm. A branch counts as waiting when it
waits for a held call, or for other branches (`gather`, `TaskGroup`, `wait`, a task). Where it waits
for anything else (a timer, a socket) it is still under way.

One that is held for the branch that a record is of is placed once that needn't be waited for, whether or not anybody
waits for the call. A branch that waits for a call that runs comes no further before that has ended, which it had not in
the attempt that left the record; nor does one that waits for what others put into a queue, if the branch whose call is
held has that at hand, and so may take from it. One that waits for a lock, for other branches or at another queue, or
longer than there is patience, is expected to come: the record is left to it.

A branch may stay under way for ever, such as a keep-alive loop: after `PATIENCE` seconds in which
no branch took a step towards the tasks of the run, the call is placed all the same.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import Context
from math import inf
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.futures import Future
from flowfn.hosts.at_hand import has_at_hand
from flowfn.hosts.in_turn import keeps_waiting
from flowfn.hosts.numbering import number_of, numbers_of
from flowfn.hosts.standing import Task, comes_no_further, is_at_work, joins, queues_of
from flowfn.python.apart import run_apart
from flowfn.python.cached_property import cached_property
from flowfn.python.handling import chain_of

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.futures import Before

PATIENCE = 5.0
"""Seconds that a held call waits for a branch that does something else."""

BRIEFLY = 0.05
"""Seconds that it waits for one that is busy, though a third one does something else."""

TICK = 0.001

_SHARE = 4
"""A look at the branches is followed by a rest that is so many times as long, where there are many to look at."""

_waiting: dict[Task, int] = {}
"""The branches that wait for held calls, themselves or on threads of theirs, and how many they wait for."""


async def until_placeable(frame: Frame, future: Future[Any], branch: Task) -> None:
    """Suspend until a held call, for which a branch waits, can be placed, or has been meanwhile."""
    with _waits(branch):
        await asyncio.sleep(0)
        if is_held_for_branch(future):
            await watch_of(frame).decided(future)
        if future.held and (before := future.before()) is not None and before.in_doubt:
            await _all_wait(frame, future)


def is_held_for_branch(future: Future[Any]) -> bool:
    """Whether a future is held for one branch, rather than for all."""
    before = future.before() if future.held else None
    return before is not None and before.branch is not None


@contextmanager
def _waits(branch: Task) -> Iterator[None]:
    _waiting[branch] = _waiting.get(branch, 0) + 1
    try:
        yield
    finally:
        _waiting[branch] -= 1
        if not _waiting[branch]:
            del _waiting[branch]


async def _all_wait(frame: Frame, future: Future[Any]) -> None:
    """Suspend until every other branch waits."""
    patience, steps = PATIENCE, -1
    while future.held and patience > 0 and not _all(_tasks_of(frame), joins, frame):
        at_work = len(frame.calls.open) > len(frame.calls.unplaced)
        patience = PATIENCE if at_work or frame.steps != steps else patience - TICK
        steps = frame.steps
        await asyncio.sleep(TICK)


def watch_of(frame: Frame) -> Watch:
    """Who looks at the branches of a frame's code; asked for on the loop that they run on."""
    numbers = numbers_of(frame)
    if numbers.watch is None:
        numbers.watch = Watch(asyncio.get_running_loop(), frame)
    found: Watch = numbers.watch
    return found


class Watch:
    """Looks at the branches of a frame's code on behalf of all its calls that are held for one of them, and places each
    of these when it has been decided on. It needs no task, so that nobody has to end it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, frame: Frame) -> None:
        self._loop = loop
        self._frame = frame
        self._held: dict[Future[Any], _Held] = {}
        self._looks = False

    def add(self, future: Future[Any], context: Context | None = None) -> None:
        """Have a call placed, in that context."""
        self._find(future).context = context

    async def decided(self, future: Future[Any]) -> None:
        """Suspend until the branch for which a call is held has come, or won't before others go on."""
        over = self._loop.create_future()
        self._find(future).waiters.append(over)
        await over

    def _find(self, future: Future[Any]) -> _Held:
        if not self._looks:
            self._looks = True
            self._loop.call_soon(self._look, context=Context())
        return self._held.setdefault(future, _Held(future))

    def _look(self) -> None:
        began, look = self._loop.time(), _Look(self._frame)
        for held in tuple(self._held.values()):
            if held.is_decided(look):
                del self._held[held.future]
                held.end()
        rest = max(TICK, _SHARE * (self._loop.time() - began))
        for held in self._held.values():
            held.patience -= rest
        self._looks = bool(self._held)
        if self._looks:
            self._loop.call_later(rest, self._look, context=Context())


class _Held:
    """A call that is held for a branch."""

    def __init__(self, future: Future[Any]) -> None:
        self.future = future
        self.context: Context | None = None
        """Where it is to be placed; None where whoever waits for it does that."""
        self.waiters: list[asyncio.Future[None]] = []
        self.patience = inf
        self._before: Before | None = None

    def is_decided(self, look: _Look) -> bool:
        """Whether it is held for no branch any more, or for one that needn't be waited for."""
        while self.future.held and (before := self.future.before()) is not None and before.branch is not None:
            if before != self._before:
                self._before, self.patience = before, PATIENCE
            if self.patience > 0 and not look.wait:
                if look.is_busy(before.branch, self.future):
                    self.patience = min(self.patience, BRIEFLY)
                return False
            if not look.expect(before, self.future):
                break
        return True

    def end(self) -> None:
        """It is decided on."""
        before = self.future.before() if self.future.held else None
        if self.context is not None and self.future.held and (before is None or not before.in_doubt):
            try:
                self.context.run(self.future.place)
            except Exception as error:
                if not self.future.done():
                    self.future.become(Future.failed(error))
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)


class _Look:
    """The branches of a frame's code at one moment."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._tasks = [task for task in asyncio.all_tasks() if _is_branch_of(task, frame)]

    @cached_property
    def wait(self) -> bool:
        """Whether all wait for what others do, or for calls."""
        return _all(self._tasks, lambda task: comes_no_further(task, self._frame), self._frame)

    @cached_property
    def _by_number(self) -> dict[int | None, list[Task]]:
        found: dict[int | None, list[Task]] = {}
        for task in self._tasks:
            found.setdefault(number_of(task, self._frame), []).append(task)
        return found

    def is_busy(self, branch: int, future: Future[Any]) -> bool:
        """Whether a branch is there, and waits for a call that runs, or to be given what that one might have been given
        whose call is held."""
        tasks = self._by_number.get(branch, ())
        return bool(tasks) and all(self._is_busy(task, future) for task in tasks)

    def _is_busy(self, task: Task, future: Future[Any]) -> bool:
        if is_at_work(task, self._frame):
            return True
        call = self._frame.calls.open.get(future)
        mine = () if call is None else self._by_number.get(call.branch, ())
        return any(has_at_hand(each, queue) for queue in queues_of(task) for each in mine)

    def expect(self, before: Before, future: Future[Any]) -> bool:
        """Say of a branch that it will come, if it is there, isn't busy, and is one that may; see `Branches.expect`.

        One that waits for other branches to end may wait for the call that is held. What it made then it made after
        these had ended, so that no call of theirs is that; but one that is in doubt is no call of theirs for sure.
        One whose own call is held comes no further by itself: where both calls are in doubt, both are refused.
        """
        known = self._frame.branches
        assert known is not None
        assert before.branch is not None
        tasks = self._by_number.get(before.branch, ())
        waits_for_it = before.in_doubt and any(task in _waiting or joins(task) for task in tasks)
        if not tasks or waits_for_it or any(self._is_busy(task, future) for task in tasks):
            return False
        return known.expect(before.branch, all_wait=self.wait)


def _all(tasks: Iterable[Task], stand: Callable[[Task], bool], frame: Frame) -> bool:
    """Whether all branches wait: for a held call, for a turn that nobody brings about, or as they `stand`."""
    left = tuple(task for task in tasks if task not in _waiting and not stand(task))
    return not left or keeps_waiting(frame).issuperset(left)


def _is_branch_of(task: Task, frame: Frame) -> bool:
    """Whether a task runs a frame's code, be it that this awaits a call in place."""
    return number_of(task, frame) is not None or _frame_of(task) is frame


def _tasks_of(frame: Frame) -> Iterator[Task]:
    """Those that run its code, and nothing within."""
    return (task for task in asyncio.all_tasks() if _frame_of(task) is frame)


def _frame_of(task: Task) -> Frame | None:
    """The frame of the code in a task: of the innermost, as what is awaited in place has a context of its own."""
    if task is asyncio.current_task():
        return current_frame.get()
    contexts = [found[1] for code in chain_of(task.get_coro()) if (found := run_apart(code)) is not None]
    context = contexts[-1] if contexts else _context_of(task)
    return None if context is None else context.get(current_frame)


def _context_of(task: Task) -> Context | None:
    """The context that a task began in; Python 3.11 keeps it where only the garbage collector looks."""
    if hasattr(task, "get_context"):
        context: Context = task.get_context()
        return context
    return next((ref for ref in gc.get_referents(task) if isinstance(ref, Context)), None)
