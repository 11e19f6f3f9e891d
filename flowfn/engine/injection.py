"""What the engine hands to running code: the runtime, the configuration, the writer, and injected parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flowfn.engine.identity import instance_id
from flowfn.events import Custom
from flowfn.runtime import Runtime, StreamWriter

if TYPE_CHECKING:
    from flowfn.engine.frame import Frame


def runtime_of(frame: Frame) -> Runtime:
    """The runtime that a frame's code sees."""
    run, call = frame.run, frame.call
    key = instance_id(run.thread, run.namespace, run.checkpoint.id, call.task)
    return Runtime(
        thread_id=run.thread or None,
        task_id=key,
        name=call.definition.name,
        attempt=frame.attempt,
        idempotency_key=key,
        config=config_of(frame),
        previous=run.previous,
        store=run.settings.store,
        context=run.settings.context,
        stream_writer=writer_of(frame),
    )


def config_of(frame: Frame) -> dict[str, Any]:
    """The configuration that a frame's code sees."""
    run = frame.run
    return run.config.to_dict(
        thread_id=run.thread or None, checkpoint_ns=run.namespace, checkpoint_id=run.checkpoint.id
    )


def writer_of(frame: Frame) -> StreamWriter:
    """Writes to the run's custom stream."""
    post, namespace = frame.run.root.post, frame.run.namespace
    if post is None:
        return _unheard
    return lambda data: post(Custom(namespace, data))


def _unheard(data: Any) -> None:
    """The writer of a run that nobody watches."""


def injected(frame: Frame) -> dict[str, Any]:
    """The call's keyword arguments with what its function asks the engine for."""
    call, run = frame.call, frame.run
    definition = call.definition
    given = definition.bind(call.args, call.kwargs)
    fill: dict[str, Callable[[], Any]] = {
        "previous": lambda: run.previous,
        "config": lambda: config_of(frame),
        "runtime": lambda: runtime_of(frame),
        "store": lambda: run.settings.store,
        "writer": lambda: writer_of(frame),
    }
    added = {name: fill[name]() for name in definition.filled if name not in given}
    if run.previous is None and "previous" in added and definition.has_default("previous"):
        del added["previous"]
    return {**call.kwargs, **added}
