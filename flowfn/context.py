"""Where the running code is, and in which world the runs that it begins take place: the context variables of flowfn.

A worker thread and an asyncio task each see the frame of the task that their user code belongs to.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import ReferenceType, ref

from flowfn.python.forking import after_fork
from flowfn.python.handling import Handler, handler_here

if TYPE_CHECKING:
    from types import FrameType

    from flowfn.definition import Definition
    from flowfn.engine.calls.frame import Frame as Frame
    from flowfn.runtime import Runtime as Runtime


T = TypeVar("T")


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


def put_back(variable: ContextVar[T], token: Token[T]) -> None:
    """Give a context variable its former value, unless this is another context than that in which it got the present
    one: coroutines whose event loop is gone are closed wherever the garbage collector finds them."""
    with suppress(ValueError):
        variable.reset(token)


met_by: ContextVar[tuple[ReferenceType[Frame], Handler, int] | None] = ContextVar("flowfn.met", default=None)
"""The frame whose code was given the error of a call last, where that runs, and how many it had been given there. In a
copy of the context runs what that code has begun; see `hosts/makers.py`."""


def meet(frame: Frame) -> None:
    """Code of a frame is given the error of a call."""
    here = handler_here()
    frame.met = met = frame.met or {}
    met[here] = met.get(here, 0) + 1
    met_by.set((ref(frame), here, met[here]))


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
