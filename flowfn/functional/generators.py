"""Generator functions as tasks: each item goes to the stream as it comes; the result is all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from flowfn.context import current_frame
from flowfn.engine.calls.injection import writer_of


def collecting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function (or coroutine function) that returns the list of what a generator function yields."""
    if inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(type(function).__call__):
        return _collecting_async(function)

    @wraps(function)
    def collect(*args: Any, **kwargs: Any) -> list[Any]:
        items = []
        for item in function(*args, **kwargs):
            _emit(item)
            items.append(item)
        return items

    return collect


def _collecting_async(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def collect(*args: Any, **kwargs: Any) -> list[Any]:
        items = []
        async for item in function(*args, **kwargs):
            _emit(item)
            items.append(item)
        return items

    return collect


def _emit(item: Any) -> None:
    frame = current_frame.get()
    if frame is not None:
        writer_of(frame)(item)
