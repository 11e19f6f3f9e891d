"""Where the running code is, and in which world the runs that it begins take place: the context variables of flowfn.

A worker thread and an asyncio task each see the frame of the task that their user code belongs to.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from flowfn.errors import RECORDED_AS
from flowfn.python.event_loop import whereabouts
from flowfn.python.forking import after_fork

if TYPE_CHECKING:
    from types import FrameType

    from flowfn.definition import Definition
    from flowfn.engine.calls.frame import Frame as Frame
    from flowfn.runtime import Runtime as Runtime


class World(Protocol):
    """What stands for the machine in tests (`flowfn.testing`)."""

    def saver(self, configured: Callable[[], Any]) -> Any:
        """The saver of a workflow; `configured` opens the one that it was given, or returns None."""

    def thread_host(self) -> Any:
        """The host of a run whose caller blocks."""

    def loop_host(self) -> Any:
        """The host of a run on the running event loop."""


current_frame: ContextVar[Frame | None] = ContextVar("flowfn.frame", default=None)
current_world: ContextVar[World | None] = ContextVar("flowfn.world", default=None)

met_error: ContextVar[tuple[Any, tuple[Any, ...]] | None] = ContextVar("flowfn.met", default=None)
"""Where code was given the error of a call last (`whereabouts`), and what is noted on that (`RECORDED_AS`): a thread or
a branch that is begun to act on it has a copy of the context."""


def meet(noted: tuple[Any, ...]) -> None:
    """Code is given the error of a call."""
    met_error.set((whereabouts(), noted))


def met_elsewhere() -> tuple[Any, ...]:
    """What is noted on an error that other code met, in a copy of whose context this runs; told once. The code that met
    it asks when it handles none any more, and forgets it."""
    met = met_error.get()
    if met is None:
        return ()
    met_error.set(None)
    return () if met[0] == whereabouts() else met[1]


def hand_over(handled: BaseException | None, context: Context) -> None:
    """Have code that is begun in a context act on the error that its maker handles, if any, by what it calls, and on no
    other one."""
    if handled is not None:
        context.run(met_error.set, (None, _noted_on(handled)))
    elif met_error in context:
        context.run(met_error.set, None)


def _noted_on(error: BaseException) -> tuple[Any, ...]:
    """What is noted on an error, and on those that it contains and came from."""
    waiting, seen, found = [error], set[int](), list[Any]()
    while waiting:
        each = waiting.pop()
        if id(each) not in seen:
            seen.add(id(each))
            with suppress(Exception):  # its class lets nobody look
                found += vars(each).get(RECORDED_AS, ())
            inner = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
            waiting += [one for one in (each.__cause__, each.__context__, *inner) if one is not None]
    return tuple(found)


under_way: list[Definition] = []
"""The workflows whose functions this process runs on record just now, once for each run."""

forked_in: list[Definition] = []
"""The workflow or task in whose code this process was forked: the run goes on in the parent alone."""


def _leave_the_run() -> None:
    frame = current_frame.get()
    if frame is not None:
        forked_in.append(frame.call.definition)
        current_frame.set(None)


after_fork(_leave_the_run)

shipped: ContextVar[Runtime[Any] | None] = ContextVar("flowfn.shipped", default=None)
"""On a worker, where there is no frame: what the attempt that was sent there may know of itself."""


def site_of(caller: FrameType | None) -> str:
    """Where a frame is in its code, as records name it: `file:line`; empty where nothing of Python's calls."""
    if caller is None:  # a thread that is started by C, a greenlet, a handler of `atexit`
        return ""
    return f"{caller.f_code.co_filename}:{caller.f_lineno}"
