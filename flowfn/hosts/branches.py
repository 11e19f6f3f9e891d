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
import sys
from collections import Counter
from collections.abc import Collection
from contextvars import Context
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from itertools import count
from pathlib import PurePath
from types import FrameType
from typing import TYPE_CHECKING, Any
from uuid import UUID
from weakref import WeakKeyDictionary

from flowfn.context import current_frame
from flowfn.python.project import is_own_module

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


def branch_number(frame: Frame, attempts: Collection[asyncio.Task[Any]]) -> int:
    """Which branch of a frame's code is current: 0 for what calls it, else by the order in which they were made, which
    asyncio's own name of a task tells; by what it runs where that has another name.

    A branch is numbered when it, or one made no earlier, first calls something; `attempts` are the tasks that run
    other frames, or are about to.
    """
    me = _branch(frame)
    if me is None:
        return 0
    if frame.numbers is None:
        frame.numbers = _Numbers()
    numbers: _Numbers = frame.numbers
    if me not in numbers.given and not _made(me):
        numbers.give_by_code(me)
    elif me not in numbers.given:
        known = {frame.home, *attempts, *numbers.given}
        others = (task for task in asyncio.all_tasks() if task not in known and _made(task))
        numbers.give({me, *(task for task in others if _frame_of(task) is frame)})
    return numbers.given[me]


def branch_began(frame: Frame) -> FrameType | None:
    """The frame of the coroutine that the current branch of a frame's code runs; None for what calls it."""
    me = _branch(frame)
    return None if me is None else getattr(me.get_coro(), "cr_frame", None)


def _branch(frame: Frame) -> asyncio.Task[Any] | None:
    """The asyncio task of the current branch of a frame's code; None for what calls it."""
    try:
        me = asyncio.current_task()
    except RuntimeError:  # a thread of the code's own
        return None
    return None if me is frame.home else me


class _Numbers:
    """The branches of a frame, but for its home, and their numbers."""

    def __init__(self) -> None:
        self.given: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()
        self._last = 0
        self._alike: Counter[str] = Counter()
        """How many branches ran that, by what is said of it."""

    def give(self, tasks: Collection[asyncio.Task[Any]]) -> None:
        """Number branches, the oldest first."""
        self.given.update(zip(sorted(tasks, key=_made), count(self._last + 1), strict=False))
        self._last += len(tasks)

    def give_by_code(self, task: asyncio.Task[Any]) -> None:
        """Number a branch by its name, its code, and which of several alike it is: the same on every attempt."""
        said = _said(task)
        self._alike[said] += 1
        digest = sha256(f"{said}\0{self._alike[said]}".encode("utf-8", "surrogatepass")).digest()
        self.given[task] = _BY_CODE | int.from_bytes(digest[:4])


_BY_CODE = 1 << 32
"""Above all numbers that are counted."""


def _made(task: asyncio.Task[Any]) -> int:
    """When a task was made, by the name that asyncio gave it; 0 where the program or a task factory named it."""
    kind, _, number = task.get_name().partition("-")
    return int(number) if kind == "Task" and number.isdecimal() else 0


_ATOMS = (type(None), bool, int, float, str, bytes, UUID, date, timedelta, Decimal, Enum, PurePath)


def _said(task: asyncio.Task[Any]) -> str:
    """What tells the running task from others of its frame: its name, and the first of the project's functions in it,
    with those of its arguments that can't change. Around that may be a library's, such as a task group's."""
    began = getattr(task.get_coro(), "cr_frame", None)
    first, each = began, sys._getframe()
    while each is not began and each.f_back is not None:
        each = each.f_back
        first = each if is_own_module(each.f_globals.get("__name__", "")) else first
    if first is None:
        return task.get_name()
    code = first.f_code
    held = map(first.f_locals.get, code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return f"{task.get_name()} {code.co_qualname}({', '.join(map(_shown, held))})"


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return repr(value) if isinstance(value, _ATOMS) else type(value).__qualname__


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
