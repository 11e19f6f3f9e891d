"""Writing to the state, and reading it, while a node runs: what `push_message` and libraries do.

Rule: what is pushed becomes part of what the node writes when it ends, before its return value. A task's pushes are the
caller's once it has the task's result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from flowfn.context import current_frame
from flowfn.pregel import peek
from flowfn.values import Write

_pushed: ContextVar[list[Write] | None] = ContextVar("graph_compat.pushed", default=None)


@contextmanager
def pushing() -> Iterator[list[Write]]:
    """Collects what the running code pushes."""
    pushed: list[Write] = []
    token = _pushed.set(pushed)
    try:
        yield pushed
    finally:
        _pushed.reset(token)


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
    pushed, given = _pushed.get(), list(writes)
    if pushed is None:
        raise RuntimeError(
            f"nothing can be written to {[key for key, _ in given]}: no node of a graph is running here"
        )
    pushed.extend(Write(key, value) for key, value in given)


def read(select: str | Sequence[str], fresh: bool = False) -> Any:
    """The value of a key of the state, None where it has none; for several keys a dict of those that have one.

    It is the state at the start of the superstep; `fresh` adds what the running node has pushed.

    Raises:
        RuntimeError: no node is running here.
    """
    frame, pushed = current_frame.get(), _pushed.get()
    if frame is None or pushed is None:
        raise RuntimeError(f"{select!r} can't be read: no node of a graph is running here")
    run = frame.run
    state = peek(run.program, run.checkpoint, pushed if fresh else (), run.managed)
    return state.get(select) if isinstance(select, str) else state.pick(select)
