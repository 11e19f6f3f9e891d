"""The calls of a run as they are heard of: events on one side, a tree of `CallView`s on the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

from flowfn.errors import Signal, Suspended
from flowfn.events import (
    Event,
    NodeReused,
    RunEnded,
    RunStarted,
    TaskFinished,
    TaskRetried,
    TaskReused,
    TaskStarted,
)
from flowfn.history.reading import CallView
from flowfn.pregel.program import HIDDEN, PUSH
from flowfn.python.forking import let_go_by_fork
from flowfn.rendering import render, render_value

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.pregel.program import Task

__all__ = ["Heard", "around", "is_shown"]


class _HeardCall:
    """A call that was heard of."""

    __slots__ = (
        "arguments",
        "attempts",
        "calls",
        "id",
        "name",
        "result",
        "seconds",
        "site",
        "started",
        "status",
        "step",
    )

    def __init__(
        self,
        name: str,
        arguments: str,
        site: str,
        id: str,
        status: str,
        now: float | None,
        step: int | None = None,
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.site = site
        self.id = id
        self.status = status
        self.started = now
        self.step = step
        self.seconds: float | None = None
        self.attempts = 1
        self.result: Any = None
        self.calls: list[_HeardCall] = []

    def view(self, now: float) -> CallView:
        running = self.status in ("running", "retried") and self.started is not None
        return CallView(
            self.name,
            self.arguments,
            self.site,
            self.status,
            self.result,
            tuple(heard.view(now) for heard in self.calls),
            id=self.id,
            started=self.started,
            seconds=now - self.started if running and self.started is not None else self.seconds,
            attempts=self.attempts,
            step=self.step,
        )


class Heard:
    """One run. `status` is that of its thread; `thread` is empty where no past is kept."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.workflow = ""
        self.thread = ""
        self.status = "running"
        self.error: BaseException | None = None
        self.questions: tuple[Any, ...] = ()
        self._clock = clock
        self._began = self._ended = clock()
        self._lock = let_go_by_fork(Lock())
        self._calls: list[_HeardCall] = []
        self._by_call: dict[Any, _HeardCall] = {}

    def __call__(self, event: Event) -> None:
        """Hear an event, on any thread."""
        with self._lock:
            self._hear(event)

    @property
    def calls(self) -> tuple[CallView, ...]:
        """The calls as they stand, in the order in which they were heard of."""
        with self._lock:
            now = self._clock()
            return tuple(heard.view(now) for heard in self._calls)

    @property
    def seconds(self) -> float:
        """How long the run has taken so far, or took."""
        return (self._clock() if self.status == "running" else self._ended) - self._began

    def _hear(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.workflow, self.thread = event.workflow, event.thread
        elif isinstance(event, RunEnded):
            self._end(event)
        elif isinstance(event, NodeReused) and HIDDEN not in event.task.node.tags:
            given = _given(event.task)
            heard = _HeardCall(event.task.name, given, "", event.id, "reused", None, event.step + 1)
            self._around(event.caller).append(heard)
        elif isinstance(event, TaskStarted):
            self._heard(event.call)
        elif isinstance(event, TaskRetried):
            heard = self._heard(event.call)
            heard.status, heard.attempts = "retried", event.attempt + 1
        elif isinstance(event, TaskReused):
            heard = self._heard(event.call)
            heard.status, heard.started = "reused", None
        elif isinstance(event, TaskFinished):
            self._finish(self._heard(event.call), event)

    def _end(self, event: RunEnded) -> None:
        self._ended = self._clock()
        self.error, self.questions = event.error, event.interrupts
        if event.error is None:
            self.status = "interrupted" if event.interrupts else "done"
        else:
            self.status = "cancelled" if isinstance(event.error, Signal) else "failed"

    def _heard(self, call: Call) -> _HeardCall:
        """Where a call is in the tree; a workflow's own node is the root, and isn't seen itself."""
        heard = self._by_call.get(call)
        if heard is None:
            name, site = call.definition.name, call.site
            heard = self._by_call[call] = _HeardCall(
                name, _arguments(call), site, call.task, "running", self._clock(), _step(call)
            )
            siblings = self._around(around(call))
            if is_shown(call):
                siblings.append(heard)
            else:
                heard.calls = siblings
        return heard

    def _around(self, caller: Call | None) -> list[_HeardCall]:
        """What is called by a call; without one, by the run."""
        return self._calls if caller is None else self._heard(caller).calls

    def _finish(self, heard: _HeardCall, event: TaskFinished) -> None:
        error = event.error
        if heard.started is not None:
            heard.seconds = self._clock() - heard.started
        if error is None:
            heard.status = "cached" if event.call.from_cache else "done"
        elif isinstance(error, Suspended):
            heard.status, heard.seconds = "waiting", None
        elif isinstance(error, Exception):
            heard.status, heard.result = "failed", error
        else:
            heard.status = "cancelled"


def around(call: Call) -> Call | None:
    """The call that a call is part of."""
    frame = call.parent or call.run.frame
    return None if frame is None else frame.call


def is_shown(call: Call) -> bool:
    """Whether a call is one that its program's author knows of: no workflow as its own only node, nothing hidden."""
    if call.node is None:
        return not call.definition.hidden
    return not call.run.program.opaque and HIDDEN not in call.node.tags


def _arguments(call: Call) -> str:
    if call.node_task is not None:
        return _given(call.node_task)
    return render(call.arguments or call.definition.identifying(call.args, call.kwargs))


def _given(task: Task) -> str:
    """What a `Send` gave a node's task, in a line; empty where it was given the state."""
    return render_value(task.input) if task.path[0] == PUSH else ""


def _step(call: Call) -> int | None:
    """The number of a node's superstep."""
    return None if call.node is None else call.run.step + 1
