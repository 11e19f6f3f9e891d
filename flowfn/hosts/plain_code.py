"""User code that is no coroutine, as those who are coroutines call it.

Rule: nobody can stop it. What has a time limit runs on a thread that is left behind when that has passed; and what
raises `StopIteration`, which Python takes for the end of the coroutine around it, is told as another error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.futures import Future
from flowfn.hosts.watch import Watch
from flowfn.hosts.workers import run_soon

if TYPE_CHECKING:
    from flowfn.hosts.clock import Clock
    from flowfn.policies import TimeoutPolicy


def call_within(
    limit: float | TimeoutPolicy,
    clock: Clock,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function in a copy of the context, on a thread, and wait on this one; `limit` is in seconds.

    Raises:
        TaskTimeout: the limit has passed. The function goes on, and nobody hears what it comes to.
    """
    future: Future[Any] = Future()
    frame, context = current_frame.get(), copy_context()
    ended = threading.Event()

    def call() -> None:
        if frame is not None:
            frame.home = threading.get_ident()
        try:
            future.set_result(context.run(function, *args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        finally:
            ended.set()

    watch = Watch(limit, clock.elapsed)
    run_soon(call)
    left, kind = watch.left()
    while not clock.wait(ended, left):
        left, kind = watch.left()
        if left <= 0:
            raise watch.error(_name_of(function), kind, "was left behind on its thread")
    return future.result()


def no_end(function: Callable[..., Any], error: StopIteration) -> RuntimeError:
    """What stands for a `StopIteration` of user code, which no coroutine can raise: it is the end of one."""
    frame = current_frame.get()
    name = _name_of(function) if frame is None else frame.call.definition.name
    return RuntimeError(
        f"{name!r} raised {error!r}, which Python would take for the end of a coroutine, such as a run is: "
        "catch it there and raise another error, or give next() a default"
    )


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
