"""Which error code handles that runs elsewhere: on another thread, or in another asyncio task.

Rule: who asks is given what is handled at this moment, and keeps neither the code nor its errors alive.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from gc import get_referents
from itertools import pairwise
from threading import get_ident
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ReferenceType, ref

from flowfn.python.apart import run_apart
from flowfn.python.event_loop import current_task

if TYPE_CHECKING:
    from asyncio import Task


class Handler(NamedTuple):
    """Code that may handle errors: what runs on a thread, or an asyncio task of a loop that runs there."""

    thread: int
    task: ReferenceType[Task[Any]] | None = None


def handler_here() -> Handler:
    """The code that asks."""
    task = current_task()
    return Handler(get_ident(), None if task is None else ref(task))


def handled_by(handler: Handler) -> BaseException | None:
    """The error that code handles at this moment, as `sys.exc_info` has it."""
    if handler.task is None:
        return _on(handler.thread)
    task = handler.task()
    while task is not None:
        runs = _runs(task)
        found = _on(handler.thread) if runs else _in(task.get_coro())
        if runs == _runs(task):  # else it began to wait, or to run, while it was looked at
            return found
    return None


def part_from(error: BaseException, around: BaseException | None) -> None:
    """Have an error not name as a context what whoever ran its code in place handled."""
    each, seen = error, set[int]()
    while around is not None and (context := each.__context__) is not None and id(each) not in seen:
        seen.add(id(each))
        if context is around:
            BaseException.__setattr__(each, "__context__", None)  # its class may refuse
        each = context


def _runs(task: Task[Any]) -> bool:
    return sys.modules["asyncio"].current_task(task.get_loop()) is task


def _on(thread: int) -> BaseException | None:
    found: Any = sys._current_exceptions().get(thread)
    parts = found if isinstance(found, tuple) else (None, found)  # as `sys.exc_info`, before Python 3.12
    error: BaseException | None = parts[1]
    return error


def _in(code: Any) -> BaseException | None:
    """What the innermost handles of the coroutines that wait in a task, from the one that it runs.

    Python tells the garbage collector alone: last, after what their frames hold, on top of which is what they await.
    """
    handled = None
    for each, _ in pairwise(chain_of(code)):
        last = get_referents(each)[-1]
        handled = last if isinstance(last, BaseException) else handled
    return handled


def chain_of(code: Any) -> Iterator[Any]:
    """A coroutine, and what waits in it: what it awaits, what that does, and so on."""
    while code is not None:
        yield code
        code = _awaited(code)


def _awaited(code: Any) -> Any:
    if (found := run_apart(code)) is not None:
        return found[0]
    for kind, attribute in _AWAITED:
        if type(code) is kind:
            return getattr(code, attribute)
    inside = (each for each in get_referents(code) if type(each) in _KINDS)  # of what C has put around one
    return next(inside, None)


_AWAITED = ((CoroutineType, "cr_await"), (GeneratorType, "gi_yieldfrom"), (AsyncGeneratorType, "ag_await"))
_KINDS = frozenset(kind for kind, _ in _AWAITED)
