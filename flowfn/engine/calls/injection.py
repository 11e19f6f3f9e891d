"""What the engine hands to running code: the runtime, the configuration, the writer, and injected parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flowfn.config import GIVEN_THREAD
from flowfn.engine.ids import shown_namespace
from flowfn.events import Custom
from flowfn.instance_ids import instance_id
from flowfn.runtime import ExecutionInfo, Runtime, StreamWriter, unheard

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame


def runtime_of(frame: Frame) -> Runtime[Any]:
    """The runtime that a frame's code sees."""
    run, shown = frame.run, frame.shown
    call = shown.call
    return Runtime(
        context=run.settings.context,
        store=run.settings.store,
        stream_writer=writer_of(frame),
        heartbeat=frame.heartbeat,
        previous=run.previous,
        execution_info=ExecutionInfo(
            checkpoint_id=run.checkpoint.id,
            checkpoint_ns=place_of(frame),
            task_id=call.id,
            thread_id=run.config.configurable.get(GIVEN_THREAD, run.thread or None),
            run_id=run.config.run_text,
            node_attempt=shown.attempt,
            node_first_attempt_time=shown.began,
        ),
        control=run.root.control,
        name=call.definition.name,
        idempotency_key=instance_id(run.thread, run.namespace, run.checkpoint.id, frame.call.task),
        config=config_of(frame),
    )


def place_of(frame: Frame) -> str:
    """The `name:id` of each call around a frame's, and its own, from the root inwards."""
    call = frame.call.shown
    around, own = place_around(call), f"{call.definition.name}:{call.id}"
    return f"{around}|{own}" if around else own


def place_around(call: Call) -> str:
    """The `name:id` of each call around a call, from the root inwards."""
    call = call.shown
    return shown_namespace(call.run.namespace) if call.parent is None else place_of(call.parent)


def config_of(frame: Frame) -> dict[str, Any]:
    """The configuration that a frame's code sees."""
    run = frame.run
    return run.config.to_dict(
        thread_id=run.thread or None, checkpoint_ns=run.namespace, checkpoint_id=run.checkpoint.id
    )


def writer_of(frame: Frame) -> StreamWriter:
    """Writes to the run's custom stream."""
    post, namespace, call = frame.run.post, frame.run.namespace, frame.call
    if post is None:
        return unheard if frame.watch is None else lambda data: frame.sign()

    def write(data: Any) -> None:
        frame.sign()
        post(Custom(namespace, data, call))

    return write


def _previous_of(frame: Frame) -> Any:
    return frame.run.previous


def _kept_runtime_of(frame: Frame) -> Runtime[Any]:
    return frame.runtime


def _store_of(frame: Frame) -> Any:
    return frame.run.settings.store


_FILL: dict[str, Callable[[Frame], Any]] = {
    "previous": _previous_of,
    "config": config_of,
    "runtime": _kept_runtime_of,
    "store": _store_of,
    "writer": writer_of,
}
"""What fills each parameter that a function may ask for by its name."""


def injected(frame: Frame) -> dict[str, Any]:
    """The call's keyword arguments with what its function asks the engine for."""
    call, definition = frame.call, frame.call.definition
    given = definition.parameters.taken(call.args, call.kwargs)
    added = {name: _FILL[name](frame) for name in definition.filled if name not in given}
    if frame.run.previous is None and "previous" in added and definition.parameters.has_default("previous"):
        del added["previous"]
    return {**call.kwargs, **added}
