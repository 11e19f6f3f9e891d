"""A coroutine in a context of its own, within the asyncio task that awaits it.

Rule: what it sets in context variables is its own, as if it ran in a task of its own, without the price of one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context
from types import GeneratorType
from typing import Any, TypeVar

T = TypeVar("T")


def apart(awaitable: Awaitable[T], context: Context) -> Awaitable[T]:
    """What awaits a coroutine, each step of it in `context`; whatever else can be awaited has no steps of its own."""
    coroutine: Any = awaitable
    return _Apart(coroutine, context) if hasattr(coroutine, "send") else awaitable


class _Apart(Awaitable[T]):
    __slots__ = ("_context", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, T], context: Context) -> None:
        self._coroutine = coroutine
        self._context = context

    def __await__(self) -> Generator[Any, Any, T]:
        context, coroutine = self._context, self._coroutine
        step: Callable[[Any], Any] = coroutine.send
        given: Any = None
        while True:
            try:
                awaited = context.run(step, given)
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                given, step = (yield awaited), coroutine.send
            except BaseException as error:  # a cancellation, or the end of the loop
                given, step = error, coroutine.throw


def run_apart(code: Any) -> tuple[Any, Context] | None:
    """What runs apart, and in which context, of what waits in an asyncio task; None if that is something else."""
    if type(code) is not GeneratorType or code.gi_code is not _AWAIT or code.gi_frame is None:
        return None
    held = code.gi_frame.f_locals
    return (held["coroutine"], held["context"]) if "coroutine" in held else None


_AWAIT = _Apart.__await__.__code__
