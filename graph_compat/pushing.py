"""Writing to the state, and reading it, while a node runs: what `push_message` and libraries do.

Rule: what is pushed becomes part of what the node writes when it ends, before its return value. A task's pushes are the
caller's once it has the task's result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.context import current_frame
from flowfn.pregel import SENT, peek, shown, view
from flowfn.values import Write

if TYPE_CHECKING:
    from graph_compat.graph.schema import Schema


class _Running(NamedTuple):
    """A running node: what its code has pushed, and the schema of its input."""

    pushed: list[Write]
    schema: Schema


_running_node = partial(tuple.__new__, _Running)
"""Makes one of a tuple of its parts: calling the class costs a Python call more."""

_running: ContextVar[_Running | None] = ContextVar("graph_compat.running", default=None)


def pushes(schema: Schema) -> list[Write]:
    """What the code of a node will push, which runs from here to the end of the context that it has to itself."""
    pushed: list[Write] = []
    _running.set(_running_node((pushed, schema)))
    return pushed


@contextmanager
def pushing() -> Iterator[list[Write]]:
    """Collects what a task of the running node pushes, if a node runs here."""
    pushed: list[Write] = []
    around = _running.get()
    token = _running.set(None if around is None else _Running(pushed, around.schema))
    try:
        yield pushed
    finally:
        _running.reset(token)


def push(key: str, value: Any) -> None:
    """Write to the state with what the running node returns, and before it.

    Raises:
        RuntimeError: no node is running here.
    """
    send([(key, value)])


def send(writes: Iterable[tuple[str, Any]]) -> None:
    """`push` several values, each with its key.

    Raises:
        RuntimeError: no node is running here.
    """
    running, given = _running.get(), list(writes)
    if running is None:
        raise RuntimeError(
            f"nothing can be written to {[key for key, _ in given]}: no node of a graph is running here"
        )
    running.pushed.extend(Write(key, value) for key, value in given)


def read(select: str | Sequence[str], fresh: bool = False) -> Any:
    """The value of a key of the state, None where it has none; for several keys a dict of those that have one.

    It is the state at the start of the superstep; where it is `fresh`, the one after it, with what the running node has
    pushed and nobody else's writes.

    Raises:
        RuntimeError: no node is running here.
    """
    frame, running = current_frame.get(), _running.get()
    if frame is None or running is None:
        raise RuntimeError(f"{select!r} can't be read: no node of a graph is running here")
    run, task = frame.run, frame.call.node_task
    if fresh:
        whose = () if task is None else (task.name, task.path)
        state = peek(run.program, run.checkpoint, running.pushed, run.managed, *whose)
    else:
        state = view(run.program, run.checkpoint, run.managed)
    return state.get(select) if isinstance(select, str) else state.pick(select)


def state_here() -> Any:
    """The state that the running node works on, None where none is running.

    Of a node that was sent something it is what its input would be otherwise, by its own schema; else all that streams
    show at the start of the superstep.
    """
    frame, running = current_frame.get(), _running.get()
    if frame is None or running is None:
        return None
    run, schema = frame.run, running.schema
    if frame.call.triggers != (SENT,):
        return shown(run.program, view(run.program, run.checkpoint))
    values = view(run.program, run.checkpoint, run.managed).pick(schema.keys)
    return values if schema.make is None else schema.make(values)
