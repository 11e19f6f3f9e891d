"""Coroutines that go on upon a stack of their own, as Python's is short; in a copy of the context that awaits them."""

from __future__ import annotations

from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any

from flowfn.engine.drive import drive
from flowfn.hosts.workers import run_soon
from flowfn.python.unlocked import UnlockedFuture


def drive_on_thread(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run it to its end on another thread, while this one waits; here where none can be started."""
    context, ended = copy_context(), UnlockedFuture[Any]()

    def run() -> None:
        try:
            ended.set_result(context.run(drive, coroutine))
        except BaseException as error:
            ended.set_exception(error)

    try:
        run_soon(run)
    except RuntimeError:
        return drive(coroutine)
    return ended.result()
