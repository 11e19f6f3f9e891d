"""Run the engine's coroutines without an event loop.

The engine is written once as `async def` and awaits nothing but its ports. Blocking ports answer by
blocking, so that one `send` runs the coroutine from its beginning to its end; or they await a `Wait`,
and leave it to whoever drives the coroutine who blocks for that, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


class Wait:
    """What a blocking port may await, instead of blocking."""

    __slots__ = ()

    def block(self) -> BaseException | None:
        """Wait; returns what that failed with, for the coroutine that awaits this."""
        raise NotImplementedError

    def __await__(self) -> Generator[Wait, None, None]:
        yield self


Leave = Callable[[Wait, Coroutine[Any, Any, Any]], bool]
"""Asked, where a coroutine waits, whether to leave it there."""

LEFT: Any = object()
"""What `drive` returns of a coroutine that it has left."""


def drive(
    coroutine: Coroutine[Any, Any, T], error: BaseException | None = None, leave: Leave | None = None
) -> T:
    """Run a coroutine and return its result; its waits block, but for one that it is left at: LEFT.

    `error`: what a wait failed with that it had been left at.

    Raises:
        RuntimeError: it suspended, which means that it awaited something other than a blocking port.
    """
    while True:
        try:
            wait = coroutine.send(None) if error is None else coroutine.throw(error)
        except StopIteration as stop:
            result: T = stop.value
            return result
        if not isinstance(wait, Wait):
            break
        if leave is not None and leave(wait, coroutine):
            return LEFT  # type: ignore[no-any-return]
        error = wait.block()
    coroutine.close()
    raise RuntimeError(
        f"{coroutine!r} suspended outside an event loop: a blocking run may await only blocking ports"
    )
