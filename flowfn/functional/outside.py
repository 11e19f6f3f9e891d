"""A task called outside any run: its function runs, with its retries and its timeout, and nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowfn.config import RunConfig
from flowfn.definition import Definition
from flowfn.engine.attempt import attempt
from flowfn.engine.call import Call
from flowfn.engine.drive import drive
from flowfn.engine.run import Run, Settings
from flowfn.errors import AsyncInBlockingRun
from flowfn.event_loop import running_loop
from flowfn.futures import Future
from flowfn.invocation import blocking_hosts, loop_hosts
from flowfn.pregel.program import Program
from flowfn.serde import DEFAULT


def call_outside(definition: Definition, args: Sequence[Any], kwargs: dict[str, Any]) -> Future[Any]:
    """Run a task without a run; the future is done, or, for an async task, waits to be awaited.

    Raises:
        InvalidInput: the arguments don't fit.
        AsyncInBlockingRun: the task is async, and no event loop is running.
        Exception: a sync task's own.
    """
    definition.bind(args, kwargs)
    definition = definition.unrecorded
    if definition.is_async:
        return _on_loop(definition, args, kwargs)
    run = Run(_NOTHING, blocking_hosts(), None, RunConfig(), Settings(), DEFAULT)
    return Future.of(drive(attempt(Call(run, None, definition, args, kwargs))))


def _on_loop(definition: Definition, args: Sequence[Any], kwargs: dict[str, Any]) -> Future[Any]:
    if running_loop() is None:
        raise AsyncInBlockingRun(
            f"task {definition.name!r} is async: await it inside a coroutine, or call its plain function by "
            f"asyncio.run({definition.name}.func(...))"
        )
    hosts = loop_hosts()
    run = Run(_NOTHING, hosts, None, RunConfig(), Settings(), DEFAULT)
    call = Call(run, None, definition, args, kwargs)
    future: Future[Any] = hosts.own.future(lambda: attempt(call))
    hosts.own.start(future)
    return future


_NOTHING = Program(nodes={}, channels={}, input=lambda _: (), result=lambda _: None, name="outside")
