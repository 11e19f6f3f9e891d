"""Run the engine's coroutines without an event loop.

The engine is written once as `async def` and awaits nothing but its ports. Blocking ports answer by
blocking, so the coroutine never suspends and one `send` runs it from its beginning to its end.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine whose waits all block instead of suspending, and return its result.

    Raises:
        RuntimeError: it suspended, which means that it awaited something other than a blocking port.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError(
        f"{coroutine!r} suspended outside an event loop: a blocking run may await only blocking ports"
    )
