"""Branches: the asyncio tasks that one frame's user code has split into.

A held call (`engine/calls/holding.py`) is placed once every other branch of its frame waits too, so that a
slow branch that has yet to claim its records is no false alarm. A branch counts as waiting when it
waits for a held call, or for other branches (`gather`, `TaskGroup`, `wait`, a task). Where it waits
for anything else (a timer, a socket) it is still under way.

One that is held for the branch that a record is of is placed once that needn't be waited for. A branch that waits for a
call that runs comes no further before that has ended, which it had not in the attempt that left the record; nor does
one that waits for what others put into a queue. One that waits for a lock, or longer than there is patience, is
expected to come: the record is left to it.

A branch may stay under way for ever, such as a keep-alive loop: after `PATIENCE` seconds in which
no branch took a step towards the tasks of the run, the call is placed all the same.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextvars import Context
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.hosts.numbering import number_of
from flowfn.hosts.standing import comes_no_further, is_at_work, joins
from flowfn.python.apart import run_apart
from flowfn.python.handling import chain_of

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.futures import Before, Future
    from flowfn.hosts.loop import LoopHost

PATIENCE = 5.0
"""Seconds that a held call waits for a branch that does something else."""

BRIEFLY = 0.05
"""Seconds that it waits for one that is at work, or for a queue, though a third one does something else."""

TICK = 0.001

_held: dict[asyncio.Task[Any], Frame] = {}


async def branches_wait(host: LoopHost, frame: Frame, future: Future[Any]) -> None:
    """Suspend until `future` can be placed, or has been placed meanwhile."""
    me = asyncio.current_task()
    assert me is not None
    _held[me] = frame
    try:
        await asyncio.sleep(0)
        while future.held and (before := future.before()) is not None:
            if before.branch is None or not await _branch_comes(frame, future, before):
                if before.in_doubt:
                    await _all_wait(frame, future)
                break
    finally:
        del _held[me]


async def _all_wait(frame: Frame, future: Future[Any]) -> None:
    """Suspend until every other branch waits."""
    patience, steps = PATIENCE, -1
    while future.held and patience > 0 and not _wait(frame, lambda task, _: joins(task)):
        at_work = len(frame.children) > len(frame.unplaced)
        patience = PATIENCE if at_work or frame.steps != steps else patience - TICK
        steps = frame.steps
        await asyncio.sleep(TICK)


async def _branch_comes(frame: Frame, future: Future[Any], first: Before) -> bool:
    """Suspend until a branch has come for what a future is held for, or won't before others go on; whether that makes
    a difference to it."""
    patience, known = PATIENCE, None
    while future.held and (before := future.before()) is not None and before.branch == first.branch:
        if patience <= 0 or _wait(frame, comes_no_further):
            return _expect(frame, before)
        patience = PATIENCE if before != known else patience - TICK
        if _is_busy(frame, before.branch):
            patience = min(patience, BRIEFLY)
        known = before
        await asyncio.sleep(TICK)
    return True


def _is_busy(frame: Frame, branch: int | None) -> bool:
    """Whether a branch is there, and waits for a call that runs, or to be given something to do."""
    tasks = [task for task in _tasks_of(frame) if number_of(task, frame) == branch]
    return bool(tasks) and all(is_at_work(task, frame) for task in tasks)


def _expect(frame: Frame, before: Before) -> bool:
    """Say of a branch that it will come: it is there, and waits for a lock, a timer or other branches. Whether that
    wasn't said yet.

    One that waits for other branches to end may wait for the call that is held. What it made then it made after these
    had ended, so that no call of theirs is that; but one that is in doubt is no call of theirs for sure.
    """
    assert frame.branches is not None
    assert before.branch is not None
    tasks = [task for task in _tasks_of(frame) if number_of(task, frame) == before.branch]
    waits_for_it = before.in_doubt and any(joins(task) for task in tasks)
    if waits_for_it or any(is_at_work(task, frame) for task in tasks) or not tasks:
        return False
    is_news = before.branch not in frame.branches.expected
    frame.branches.expected.add(before.branch)
    return is_news


def _wait(frame: Frame, stands: Callable[[asyncio.Task[Any], Frame], bool]) -> bool:
    """Whether all branches wait: for a held call, or where one `stands`."""
    return all(task in _held or stands(task, frame) for task in _tasks_of(frame))


def _tasks_of(frame: Frame) -> Iterator[asyncio.Task[Any]]:
    return (task for task in asyncio.all_tasks() if _frame_of(task) is frame)


def _frame_of(task: asyncio.Task[Any]) -> Frame | None:
    """The frame of the code in a task: of the innermost, as what is awaited in place has a context of its own."""
    if task is asyncio.current_task():
        return current_frame.get()
    contexts = [found[1] for code in chain_of(task.get_coro()) if (found := run_apart(code)) is not None]
    context = contexts[-1] if contexts else _context_of(task)
    return None if context is None else context.get(current_frame)


def _context_of(task: asyncio.Task[Any]) -> Context | None:
    """The context that a task began in; Python 3.11 keeps it where only the garbage collector looks."""
    if hasattr(task, "get_context"):
        context: Context = task.get_context()
        return context
    return next((ref for ref in gc.get_referents(task) if isinstance(ref, Context)), None)
