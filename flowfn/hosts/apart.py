"""A coroutine in a context of its own, within the asyncio task that awaits it.

Rule: what it sets in context variables is its own, as if it ran in a task of its own, without the price of one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


class Apart(Awaitable[T]):
    """Awaits `coroutine`, each step of it in a copy of the context in which it was first awaited."""

    __slots__ = ("_coroutine",)

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, T]:
        run, coroutine = copy_context().run, self._coroutine
        step: Callable[[Any], Any] = coroutine.send
        given: Any = None
        while True:
            try:
                awaited = run(step, given)
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                given, step = (yield awaited), coroutine.send
            except BaseException as error:  # a cancellation, or the end of the loop
                given, step = error, coroutine.throw
