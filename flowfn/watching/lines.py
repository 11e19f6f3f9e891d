"""Runs as lines of the log `flowfn`, at the level DEBUG, each with the ids of its thread and its call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.errors import Suspended
from flowfn.events import Event, RunEnded, RunStarted, TaskFinished, TaskRetried, TaskReused, TaskStarted
from flowfn.logs import logger
from flowfn.watching.calls import is_shown

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call

__all__ = ["log_event"]


def log_event(event: Event) -> None:
    """Log an event of a run, if it is one that people care for."""
    if isinstance(event, RunStarted):
        logger.debug("run of %s begins or goes on", event.workflow, extra={"flowfn_thread": event.thread})
    elif isinstance(event, RunEnded):
        came_to = repr(event.error) if event.error else "questions" if event.interrupts else "a result"
        logger.debug("run ended with %s", came_to, extra={"flowfn_thread": event.thread})
    elif isinstance(event, TaskStarted | TaskFinished | TaskRetried | TaskReused) and is_shown(event.call):
        logger.debug("%s %s", event.call.definition.name, _said(event), extra=_ids(event.call))


def _said(event: TaskStarted | TaskFinished | TaskRetried | TaskReused) -> str:
    if isinstance(event, TaskStarted):
        return "started"
    if isinstance(event, TaskReused):
        return "reused"
    if isinstance(event, TaskRetried):
        return f"failed in attempt {event.attempt}, again in {event.delay:g} s: {event.error!r}"
    if isinstance(event.error, Suspended):
        return "waits for an answer"
    return "finished" if event.error is None else f"failed: {event.error!r}"


def _ids(call: Call) -> dict[str, str]:
    return {"flowfn_thread": call.run.thread, "flowfn_task": call.definition.name, "flowfn_task_id": call.id}
