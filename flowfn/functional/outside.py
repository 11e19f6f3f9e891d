"""A task called outside any run: its function runs, with its retries and its timeout, and nothing is kept.

A thread that a workflow's function has started is outside, unless it was given the context, and so is a process that
was forked in it: what they call is not recorded, and runs again on resume. Who calls a task there is told so; on a
thread, where a run under way names the task.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from typing import Any

from flowfn.config import RunConfig
from flowfn.context import forked_in, under_way
from flowfn.definition import Definition
from flowfn.engine.calls.attempt import attempt
from flowfn.engine.calls.call import Call
from flowfn.engine.drive import drive
from flowfn.engine.runs.run import Run
from flowfn.engine.settings import Settings
from flowfn.errors import AsyncInBlockingRun, Interrupted, Suspended
from flowfn.futures import Future
from flowfn.invocation import blocking_hosts, loop_hosts
from flowfn.pregel.program import Program
from flowfn.python.cached_property import renew
from flowfn.python.event_loop import running_loop
from flowfn.rendering import quoted
from flowfn.serde import DEFAULT


def call_outside(definition: Definition, args: Sequence[Any], kwargs: dict[str, Any]) -> Future[Any]:
    """Run a task without a run; the future is done, or, for an async task, waits to be awaited.

    Raises:
        InvalidInput: the arguments don't fit.
        AsyncInBlockingRun: the task is async, and no event loop is running.
        Interrupted: the task asks.
        Exception: a sync task's own.
    """
    definition.parameters.taken(args, kwargs)
    if forked_in:
        _warn_of_fork(definition)
    elif under_way:
        _warn_of_thread(definition)
    if definition.cache is not None:
        renew()
    definition = definition.unrecorded
    if definition.is_async:
        return _on_loop(definition, args, kwargs)
    run = Run(_NOTHING, blocking_hosts(), None, RunConfig(), Settings(), DEFAULT)
    return Future.of(drive(_unasked(Call(run, None, definition, args, kwargs))))


def _on_loop(definition: Definition, args: Sequence[Any], kwargs: dict[str, Any]) -> Future[Any]:
    if running_loop() is None:
        raise AsyncInBlockingRun(
            f"task {definition.name!r} is async: await it inside a coroutine, or call its plain function by "
            f"asyncio.run({definition.name}.func(...))"
        )
    hosts = loop_hosts()
    run = Run(_NOTHING, hosts, None, RunConfig(), Settings(), DEFAULT)
    call = Call(run, None, definition, args, kwargs)
    future: Future[Any] = hosts.own.future(lambda: _unasked(call))
    hosts.own.start(future)
    return future


async def _unasked(call: Call) -> Any:
    """An attempt that can ask nobody."""
    try:
        return await attempt(call)
    except Suspended as asking:
        (questions,) = asking.args
        raise Interrupted(
            f"task {call.definition.name!r} asks {', '.join(quoted(each.value) for each in questions)}, and was called "
            "outside a run, so that nobody can answer: call it inside an @entrypoint with a checkpointer",
            questions,
        ) from None


_warned: dict[str, object] = {}


def _warn_of_thread(definition: Definition) -> None:
    """Say once of a task that a workflow's own threads call it unrecorded, as far as can be told."""
    if threading.current_thread() is threading.main_thread() or definition.qualified in _warned:
        return
    from flowfn.identity.code.fingerprint import fingerprint
    from flowfn.identity.names import qualified_name

    name, first = qualified_name(definition.author_function), object()
    for workflow in tuple(under_way):
        if name in fingerprint(workflow.author_function).helpers:
            if _warned.setdefault(definition.qualified, first) is first:
                warnings.warn(_ON_A_THREAD.format(task=definition.name, workflow=workflow.name), stacklevel=5)
            return


def _warn_of_fork(definition: Definition) -> None:
    """Say once of a task that a process calls it unrecorded that was forked in a run."""
    first = object()
    if _warned.setdefault(definition.qualified, first) is first:
        warnings.warn(_IN_A_CHILD.format(task=definition.name, caller=forked_in[-1].name), stacklevel=5)


_IN_A_CHILD = (
    "task {task!r} was called in a process that was forked in {caller!r}, and is no part of its run: such a call isn't "
    "recorded, and runs again on resume. Let tasks be the concurrency: {task}.map(items), with executor='processes' "
    "for work that needs a process"
)

_ON_A_THREAD = (
    "task {task!r} was called on a thread that is no part of a run, while {workflow!r} runs, which names it: such a "
    "call isn't recorded, and runs again on resume. Let tasks be the concurrency: {task}.map(items). Or give the "
    "thread the context: pool.submit(contextvars.copy_context().run, {task}, item)"
)

_NOTHING = Program(nodes={}, channels={}, input=lambda _: (), result=lambda _: None, name="outside")
