"""An attempt at a task that doesn't run on this process's threads, but on an executor.

Everything else about it stays here: its identity, its record, its retries, its time. Code on a worker has no
run around it: a task that it calls is part of its attempt, and it can't ask.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.errors import InvalidInput
from flowfn.executors.opening import open_executor
from flowfn.executors.shipping import pack, portable, unpack
from flowfn.executors.waiting import await_for, call_on_pool, is_on, wait_for
from flowfn.policies import TimeoutPolicy

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.ports import Host, Serializer
    from flowfn.runtime import Runtime


async def call_there(frame: Frame, host: Host, kwargs: dict[str, Any]) -> Any:
    """Make an attempt where the task, or else its run, says, and return its value.

    Raises:
        WorkerDied: its worker was lost.
        TaskTimeout: its time was up.
        UnshippableError: it can't travel to another process.
        Exception: the function's own.
    """
    call, definition = frame.call, frame.call.definition
    named = definition.executor if definition.executor is not None else call.run.settings.executor
    executor = open_executor(named)
    if executor is None or is_on(executor):
        there = host.call_async if definition.is_async else host.call
        return await there(definition.function, call.args, kwargs, call.timeout)
    timeout = _whole(call.timeout, definition)
    if isinstance(executor, ThreadPoolExecutor) and not definition.is_async:
        function = partial(copy_context().run, definition.function)
        on_pool = (executor, definition.name, function, call.args, kwargs)
        return await host.call(call_on_pool, on_pool, {}, timeout)
    runtime = frame.runtime
    sent = {**kwargs, **_replaced(definition, kwargs, runtime)}
    payload = pack(definition.function, call.args, sent, runtime, call.run.serde)
    if definition.is_async:
        data = await host.call_async(await_for, (executor, payload, definition.name), {}, timeout)
        return unpack(data, call.run.serde)
    waiting = (executor, payload, definition.name, timeout, partial(_stoppable, call))
    return await host.call(_outcome, (call.run.serde, *waiting), {}, None)


def _whole(limit: float | TimeoutPolicy | None, definition: Definition) -> float | None:
    """The seconds that an attempt elsewhere may take.

    Raises:
        InvalidInput: it would have to give signs of life, which come from no worker.
    """
    if not isinstance(limit, TimeoutPolicy):
        return limit
    raise InvalidInput(
        f"task {definition.name!r} has an idle timeout, and no worker of an executor gives signs of life: "
        "write timeout=60 for the whole attempt, or run it with executor='threads'"
    )


def _outcome(serde: Serializer, *waiting: Any) -> Any:
    """What an attempt comes to: raised where the host calls it, which tells of errors that no coroutine can raise."""
    return unpack(wait_for(*waiting), serde)


def _replaced(definition: Definition, kwargs: dict[str, Any], runtime: Runtime[Any]) -> dict[str, Any]:
    """What the function asks the engine for, as it can travel.

    Raises:
        InvalidInput: it asks for the stream, which stays here.
    """
    if "writer" in definition.filled:
        raise InvalidInput(
            f"task {definition.name!r} names the parameter 'writer', and on an executor there is no stream: "
            "return the data, or run it with executor='threads'"
        )
    return {"runtime": portable(runtime)} if "runtime" in definition.filled and "runtime" in kwargs else {}


def _stoppable(call: Call, stop: Callable[[], bool]) -> None:
    """Let whoever cancels the call's future stop the attempt."""
    if call.future is not None:
        call.future.stop = stop
