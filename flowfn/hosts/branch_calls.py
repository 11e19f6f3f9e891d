"""What a branch runs, and with which arguments: what tells it from others.

Rule: as it is made, a branch is told by its function and by those arguments that are data. One that is met later is
told by the first function in it that isn't a library's, and by the arguments that can't have changed. Nothing of these
is called.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from gc import get_referents
from inspect import CORO_CREATED, getcoroutinestate
from threading import get_ident
from types import CodeType, CoroutineType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.futures import Future
from flowfn.hosts.branch_arguments import ATOMS, arguments_of, said_of_arguments
from flowfn.hosts.in_task import settle_in_task
from flowfn.identity.code.compiled import parameters_of, steps_of
from flowfn.identity.forms.attributes import attributes_of

if TYPE_CHECKING:
    from dis import Instruction
    from types import FrameType

__all__ = [
    "BranchCall",
    "call_awaited_by",
    "call_of",
    "given_to",
    "is_own",
    "runs_a_job",
    "said_of",
    "waiting_in",
]

_OURS = ("flowfn.", "graph_compat.", "checkpointers.")
_INSTALLED = tuple(os.sep.join(("", folder, "")) for folder in ("site-packages", "dist-packages"))
_PYTHONS = os.path.join(os.path.dirname(os.__file__), "")
"""Where code is a library's. Told by texts alone: to look at files would block the loop."""


def given_to(coro: Any) -> Any:
    """The project's coroutine that a library's was given, and that has yet to begin, as those of anyio's groups are."""
    for each in get_referents(coro):
        found: Iterable[Any] = ()
        if type(each) is CoroutineType:
            found = (each,)
        elif not issubclass(type(each), _NO_HANDLES):  # a task's is another branch's, and data may be large
            with suppress(Exception):  # a library's objects may raise anything when looked at
                found = attributes_of(each).values()
        for one in found:
            if type(one) is CoroutineType and getcoroutinestate(one) == CORO_CREATED and is_own(one.cr_frame):
                return one
    return None


_NO_HANDLES = (
    asyncio.Future,
    dict,
    list,
    tuple,
    set,
    frozenset,
    str,
    bytes,
    FunctionType,
    ModuleType,
    CodeType,
    type,
)


def runs_a_job(coro: Any) -> bool:
    """Whether a coroutine runs a job of ours: that has a frame of its own, and is no branch of the one around it."""
    return getattr(coro, "cr_code", None) is _JOB


_JOB = settle_in_task.__code__


def call_awaited_by(coro: Any) -> Future[Any] | None:
    """The call of a task that a coroutine does nothing but await, as asyncio makes one of that for `gather`."""
    # Before Python 3.12 it is a generator.
    code = getattr(coro, "cr_code", None) or getattr(coro, "gi_code", None)
    if code is None or code.co_name != "_wrap_awaitable" or code.co_filename != _TASKS:
        return None
    # Not by its frame's locals: a dict would be made of them, and kept.
    return next((each for each in get_referents(coro) if type(each) is Future), None)


_TASKS = asyncio.tasks.__file__


def is_own(frame: FrameType | None) -> bool:
    """Whether a function that is under way, or has yet to begin, is one of the project's."""
    return frame is not None and not _is_of_a_library(frame)


def _is_of_a_library(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return (
        file.startswith(_PYTHONS)
        or any(folder in file for folder in _INSTALLED)
        or str(frame.f_globals.get("__name__", "")).startswith(_OURS)
    )


def said_of(task: asyncio.Task[Any], thread: int) -> str | None:
    """What tells a task from others of its frame: its name, unless that is a number, and the first function in it that
    isn't a library's, with those of its arguments that can't change; None where it has none. `thread` is the loop's."""
    name = "" if task.get_name().startswith("Task-") else task.get_name()
    coro: Any = task.get_coro()
    for _ in range(_MOST_LOOKS):
        runs, first = _running(getattr(coro, "cr_frame", None), thread)
        first = (
            first if runs else next((each for each in waiting_in(coro) if not _is_of_a_library(each)), None)
        )
        if first is not None:
            return f"{name} {_shown_call(first, _kept_parameters(first.f_code), shown)}"
        if runs or not getattr(coro, "cr_running", False):
            break
    return None


_MOST_LOOKS = 100
"""Of another thread, at a task that may begin to wait just between the two ways to look."""


def _running(began: FrameType | None, thread: int) -> tuple[bool, FrameType | None]:
    """Whether a task runs at present, and the first function of the project's in it, from where it began."""
    first = None
    each = sys._getframe(1) if thread == get_ident() else sys._current_frames().get(thread)
    while each is not None:
        first = first if _is_of_a_library(each) else each
        if each is began:
            return True, first
        each = each.f_back
    return False, None


def waiting_in(coro: Any) -> Iterator[FrameType]:
    """What a task waits in, from where it began; of one that runs only that."""
    while (frame := getattr(coro, "cr_frame", None)) is not None:
        yield frame
        coro = coro.cr_await


def _shown_call(frame: FrameType, parameters: Iterable[str], show: Callable[[Any], str]) -> str:
    """A call of a function, with those of its arguments that can't change."""
    return f"{frame.f_code.co_qualname}({', '.join(map(show, arguments_of(frame, parameters)))})"


@lru_cache(maxsize=1024)
def _kept_parameters(code: CodeType) -> tuple[str, ...]:
    """The parameters to which a function's code, and what is inside it, sets nothing else."""
    stored = {name for step in steps_of(code) for name in _stored(step)}
    return tuple(name for name in parameters_of(code) if name not in stored)


def _stored(step: Instruction) -> tuple[str, ...]:
    if not step.opname.startswith(("STORE_FAST", "STORE_DEREF")):
        return ()
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return names[:1] if step.opname == "STORE_FAST_LOAD_FAST" else names  # two in one, since Python 3.13


def shown(value: Any) -> str:
    """A value that tells one call from another, if it can't change; else its type."""
    if type(value) is tuple:
        return f"({', '.join(map(shown, value))})"
    if isinstance(value, Enum):
        return f"{type(value).__qualname__}.{value.name}"
    return repr(value) if type(value) in ATOMS else type(value).__qualname__


class BranchCall(NamedTuple):
    """What a coroutine runs that has yet to begin."""

    function: str
    said: Sequence[str]
    """Its arguments in the ways of `said_of_arguments`."""


def call_of(coro: Any) -> BranchCall:
    """What a coroutine runs that has yet to begin: nothing can have changed its arguments since it was made."""
    frame = getattr(coro, "cr_frame", None)
    if frame is None:
        return BranchCall(type(coro).__qualname__, said_of_arguments(()))
    arguments = arguments_of(frame, parameters_of(frame.f_code))
    return BranchCall(frame.f_code.co_qualname, said_of_arguments(arguments))
