"""Where an asyncio task stands: what it waits for, as far as the coroutines tell in which it does.

Rule: what waits can't be asked by whom it is woken, so the functions that wait are known by name: those of asyncio, and
of anyio upon it. What waits in any other, for a timer or a socket, does something else.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

from flowfn.python.handling import chain_of

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame

Task = asyncio.Task[Any]

_ANYIO = "anyio._backends._asyncio"

_JOINS = {
    ("asyncio.taskgroups", "__aexit__"),
    *(("asyncio.tasks", name) for name in ("_wait", "wait", "_wait_for_one")),
    (_ANYIO, "__aexit__"),
}
"""What waits for other tasks: `TaskGroup`, `wait`, `as_completed`."""

_WAIT_FOR = {("asyncio.tasks", "wait_for")}
"""Before Python 3.12 it makes a task of what it waits for, and waits to be told that this has ended."""

_LOCKS = {*(("asyncio.locks", name) for name in ("wait", "acquire", "_block")), (_ANYIO, "acquire")}
"""What waits for something that another branch may give back, or set. Where anyio has no such code of its own, it waits
by an event of asyncio's."""

_QUEUES = {
    *(("asyncio.queues", name) for name in ("get", "put", "join")),
    *(("anyio.streams.memory", name) for name in ("receive", "send")),
}
"""What waits to be given something to do, or for what is left of it."""

_CALLS = {("flowfn.hosts.loop", name) for name in ("_settle_here", "_wait")}
"""What waits for a call: for its `future`."""


def joins(task: Task) -> bool:
    """Whether a task waits for other tasks."""
    waiter = getattr(task, "_fut_waiter", None)
    if waiter is None:
        return False
    if isinstance(waiter, asyncio.Task) or type(waiter).__name__ == "_GatheringFuture":
        return True
    return _stands_in(task, _JOINS) or any(
        isinstance(code.cr_frame.f_locals.get("fut"), asyncio.Task) for code in _standing(task, _WAIT_FOR)
    )


def comes_no_further(task: Task, frame: Frame) -> bool:
    """Whether a task waits for what others do, or for a call of the frame's that runs."""
    return joins(task) or is_at_work(task, frame) or _stands_in(task, _LOCKS) or _stands_in(task, _QUEUES)


def is_at_work(task: Task, frame: Frame) -> bool:
    """Whether a task waits for a call of the frame's that runs."""
    return any(code.cr_frame.f_locals["future"] in frame.calls.open for code in _standing(task, _CALLS))


def waits_on_thread(thread: int) -> bool:
    """Whether a thread waits for others: for a queue, a lock or an event of Python's, to end, or to be given work."""
    frame = sys._current_frames().get(thread)
    return frame is None or frame.f_globals.get("__name__") in _THREADS


_THREADS = ("threading", "queue", "concurrent.futures.thread")


def queues_of(task: Task) -> Iterator[Any]:
    """The queues at which a task waits. Of a stream of anyio's, what all have in common that receive from it."""
    for code in _standing(task, _QUEUES):
        queue = code.cr_frame.f_locals["self"]
        yield getattr(queue, "_state", queue)


def _stands_in(task: Task, places: Container[Any]) -> bool:
    """Whether a task waits in one of these coroutines."""
    return next(_standing(task, places), None) is not None


def _standing(task: Task, places: Container[Any]) -> Iterator[Any]:
    """Those of these coroutines in which a task waits."""
    return (code for code in chain_of(task.get_coro()) if _place_of(code) in places)


def _place_of(code: Any) -> tuple[str, str] | None:
    """The module of a coroutine's function, and its name."""
    frame = getattr(code, "cr_frame", None)
    return None if frame is None else (frame.f_globals.get("__name__", ""), frame.f_code.co_name)
