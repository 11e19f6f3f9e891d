"""Stream modes: which events of a run a caller sees, and in which shape. The shapes are LangGraph's.

| mode | a chunk is |
|---|---|
| `values` | the result, each time that it changes; on a question `{"__interrupt__": (…)}` |
| `updates` | `{name: result}` of each task that ends; on a question `{"__interrupt__": (…)}` |
| `custom` | what user code wrote, and the items of generator tasks |
| `tasks` | the start, and the end, of each task |
| `checkpoints` | each checkpoint, and what runs next |
| `debug` | `tasks` and `checkpoints`, each with its step and time |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from flowfn.engine.identity import instance_id
from flowfn.errors import InvalidInput, Suspended
from flowfn.events import (
    CheckpointSaved,
    Custom,
    Event,
    RunSuspended,
    TaskFinished,
    TaskReused,
    TaskStarted,
    ValuesChanged,
)
from flowfn.values import MISSING, Write

MODES = ("values", "updates", "custom", "tasks", "checkpoints", "debug")


class Shaper:
    """Turns events into the chunks that one caller asked for."""

    def __init__(self, mode: str | Sequence[str], subgraphs: bool) -> None:
        self._single = isinstance(mode, str)
        self._modes = (mode,) if isinstance(mode, str) else tuple(mode)
        self._subgraphs = subgraphs
        for name in self._modes:
            if name not in MODES:
                raise InvalidInput(
                    f"stream_mode={name!r} is unknown: use {', '.join(MODES)}, or a list of such"
                )

    def chunks(self, event: Event) -> Iterator[Any]:
        """The chunks of one event, in the order of the modes."""
        if event.namespace and not self._subgraphs:
            return
        for mode in self._modes:
            for payload in _SHAPES[mode](event):
                yield self._framed(event.namespace, mode, payload)

    def _framed(self, namespace: str, mode: str, payload: Any) -> Any:
        path = tuple(namespace.split("|")) if namespace else ()
        if self._single:
            return (path, payload) if self._subgraphs else payload
        return (path, mode, payload) if self._subgraphs else (mode, payload)


def _values(event: Event) -> Iterator[Any]:
    if isinstance(event, ValuesChanged):
        yield event.values
    elif isinstance(event, RunSuspended):
        yield {"__interrupt__": event.interrupts}


def _updates(event: Event) -> Iterator[Any]:
    if isinstance(event, RunSuspended):
        yield {"__interrupt__": event.interrupts}
    elif isinstance(event, TaskFinished) and event.error is None:
        update = {event.call.definition.name: _update_of(event)}
        yield {**update, "__metadata__": {"cached": True}} if event.call.from_cache else update


def _update_of(event: TaskFinished) -> Any:
    """What a task's end shows: a call's value, or what a node wrote to the output channels."""
    if event.call.node is None:
        return event.value
    outputs = event.call.run.program.output_channels
    return _folded(event.call.node.output(event.value), outputs, single=len(outputs) == 1)


def _folded(writes: Sequence[Write], channels: Sequence[str], *, single: bool) -> Any:
    found = {write.channel: write.value for write in writes if write.channel in channels}
    return found.get(channels[0]) if single else found


def _custom(event: Event) -> Iterator[Any]:
    if isinstance(event, Custom):
        yield event.data
    elif isinstance(event, TaskReused) and event.call.definition.is_generator:
        yield from event.value


def _tasks(event: Event) -> Iterator[dict[str, Any]]:
    if isinstance(event, TaskStarted):
        call = event.call
        given = call.shown_input
        yield {"id": _id_of(event), "name": call.definition.name, "input": given, "triggers": call.triggers}
    elif isinstance(event, TaskFinished):
        yield _task_end(event)


def _task_end(event: TaskFinished) -> dict[str, Any]:
    call, failed = event.call, event.error is not None
    result: dict[str, Any] = {}
    if not failed:
        writes = [Write("__return__", event.value)] if call.node is None else call.node.output(event.value)
        shown = ("__return__", *call.run.program.output_channels)
        result = {write.channel: write.value for write in writes if write.channel in shown}
    error = event.error if failed and not isinstance(event.error, Suspended) else None
    interrupts = call.open_interrupts if isinstance(event.error, Suspended) else ()
    return {
        "id": _id_of(event),
        "name": call.definition.name,
        "error": None if error is None else repr(error),
        "result": result,
        "interrupts": [{"value": i.value, "id": i.id} for i in interrupts],
    }


def _id_of(event: TaskStarted | TaskFinished) -> str:
    run = event.call.run
    raw = instance_id(run.thread, run.namespace, run.checkpoint.id, event.call.task)
    return f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"


def _checkpoints(event: Event) -> Iterator[dict[str, Any]]:
    if isinstance(event, CheckpointSaved):
        yield checkpoint_payload(event)


def checkpoint_payload(event: CheckpointSaved) -> dict[str, Any]:
    """A checkpoint as the `checkpoints` mode shows it."""
    checkpoint = event.checkpoint
    metadata = {**checkpoint.metadata, "source": checkpoint.source, "step": checkpoint.step}
    parent = checkpoint.parent
    return {
        "config": coordinates(event.thread, event.namespace, checkpoint.id),
        "parent_config": None if parent is None else coordinates(event.thread, event.namespace, parent),
        "values": None if event.values is MISSING else event.values,
        "metadata": metadata,
        "next": [name for _, name in event.next],
        "tasks": [{"id": task, "name": name, "interrupts": (), "state": None} for task, name in event.next],
    }


def coordinates(thread: str, namespace: str, checkpoint: str) -> Mapping[str, Any]:
    """A config that names a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}}


def _debug(event: Event) -> Iterator[dict[str, Any]]:
    kinds = {CheckpointSaved: "checkpoint", TaskStarted: "task", TaskFinished: "task_result"}
    kind = kinds.get(type(event))
    if kind is None:
        return
    step = event.checkpoint.step if isinstance(event, CheckpointSaved) else getattr(event, "step", 0) + 1
    for payload in (*_checkpoints(event), *_tasks(event)):
        yield {"step": step, "timestamp": datetime.now(UTC).isoformat(), "type": kind, "payload": payload}


_SHAPES = {
    "values": _values,
    "updates": _updates,
    "custom": _custom,
    "tasks": _tasks,
    "checkpoints": _checkpoints,
    "debug": _debug,
}
