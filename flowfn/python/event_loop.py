"""Which event loop runs the code that asks. asyncio is loaded by whoever uses it: no loop runs before that."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task


def running_loop() -> AbstractEventLoop | None:
    """The event loop that runs on this thread; None where none does."""
    # Of the two that tell, the one that raises no error where none runs: this is asked wherever a run begins. Another
    # thread may be importing asyncio.
    running: Callable[[], AbstractEventLoop | None] | None
    running = getattr(sys.modules.get("asyncio"), "_get_running_loop", None)
    return None if running is None else running()


def current_task() -> Task[Any] | None:
    """The asyncio task that runs the code that asks; None where none does."""
    loop = running_loop()
    task: Task[Any] | None = None if loop is None else sys.modules["asyncio"].current_task(loop)
    return task


_held_up: Counter[int] = Counter()
"""By the id of an event loop, how many blocking calls are under way on its thread."""


@contextmanager
def held_up() -> Iterator[None]:
    """Around a blocking call: nothing else of the event loop runs that may run on this thread."""
    loop = running_loop()
    if loop is None:
        yield
        return
    _held_up[id(loop)] += 1
    try:
        yield
    finally:
        _held_up[id(loop)] -= 1
        if not _held_up[id(loop)]:
            del _held_up[id(loop)]


def is_held_up(loop: AbstractEventLoop) -> bool:
    """Whether code on the thread of an event loop blocks it, and may wait for whoever asks."""
    return id(loop) in _held_up


def needed_loop() -> AbstractEventLoop:
    """The event loop that runs on this thread.

    Raises:
        RuntimeError: none does, as where trio runs the code; it says what to write.
    """
    loop = running_loop()
    if loop is None:
        raise RuntimeError(
            "no event loop of asyncio runs here, and async workflows need one: call asyncio.run(…), or where something "
            "else runs the code, do so on a thread: await trio.to_thread.run_sync(lambda: asyncio.run(…))"
        )
    return loop
