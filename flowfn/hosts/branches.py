"""Branches: the asyncio tasks that one frame's user code has split into.

A held call (`engine/calls/spawn.py`) is placed once every other branch of its frame waits too, so that a
slow branch that has yet to claim its records is no false alarm. A branch counts as waiting when it
waits for a held call, or for other branches (`gather`, `TaskGroup`, `wait`, a task). Where it waits
for anything else (a timer, a socket) it is still under way.

A branch may stay under way for ever, such as a keep-alive loop: after `PATIENCE` seconds in which
no branch took a step towards the tasks of the run, the call is placed all the same.
"""

from __future__ import annotations

import asyncio
import gc
from contextvars import Context
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.futures import Future
    from flowfn.hosts.loop import LoopHost

PATIENCE = 5.0
"""Seconds that a held call waits for a branch that does something else."""

TICK = 0.001

_held: dict[asyncio.Task[Any], Frame] = {}


async def branches_wait(host: LoopHost, frame: Frame, future: Future[Any]) -> None:
    """Suspend until every other branch of `frame` waits, or `future` has been placed meanwhile."""
    me = asyncio.current_task()
    assert me is not None
    _held[me] = frame
    try:
        await asyncio.sleep(0)
        patience, steps = PATIENCE, -1
        while future.held and patience > 0 and not _all_wait(frame):
            at_work = len(frame.children) > len(frame.unplaced)
            patience = PATIENCE if at_work or frame.steps != steps else patience - TICK
            steps = frame.steps
            await asyncio.sleep(TICK)
    finally:
        del _held[me]


def _all_wait(frame: Frame) -> bool:
    return all(_waits(task) for task in asyncio.all_tasks() if _frame_of(task) is frame)


def _waits(task: asyncio.Task[Any]) -> bool:
    return task in _held or _waits_for_branches(task)


def _frame_of(task: asyncio.Task[Any]) -> Frame | None:
    context = _context_of(task)
    return None if context is None else context.get(current_frame)


def _context_of(task: asyncio.Task[Any]) -> Context | None:
    """The context that a task runs in; Python 3.11 keeps it where only the garbage collector looks."""
    if hasattr(task, "get_context"):
        context: Context = task.get_context()
        return context
    return next((ref for ref in gc.get_referents(task) if isinstance(ref, Context)), None)


def _waits_for_branches(task: asyncio.Task[Any]) -> bool:
    """Whether a task stands in a construct of asyncio that waits for other tasks."""
    waiter = getattr(task, "_fut_waiter", None)
    if waiter is None:
        return False
    if isinstance(waiter, asyncio.Task) or type(waiter).__name__ == "_GatheringFuture":
        return True
    coroutine: Any = task.get_coro()
    while (inner := getattr(coroutine, "cr_await", None)) is not None and hasattr(inner, "cr_code"):
        coroutine = inner
    code = getattr(coroutine, "cr_code", None)
    return code is not None and (code.co_name, code.co_filename.rpartition("asyncio")[2][1:]) in _JOINS


_JOINS = {
    ("__aexit__", "taskgroups.py"),
    ("_wait", "tasks.py"),
    ("wait", "tasks.py"),
    ("_wait_for_one", "tasks.py"),
}
"""Where the coroutines of asyncio stand that wait for other tasks: `TaskGroup`, `wait`, `as_completed`."""
