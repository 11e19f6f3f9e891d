"""The events of a run as the third version of stream events has them: plain dicts, numbered in the order of the run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

__all__ = ["ProtocolEvent", "event_of", "event_that"]


class _Params(TypedDict):
    namespace: list[str]
    timestamp: int
    data: Any
    interrupts: NotRequired[tuple[Any, ...]]


class ProtocolEvent(TypedDict):
    """What happened in a run.

    `method` is the stream mode that shows it, "lifecycle", or "custom:NAME" for what a transformer tells in its channel
    NAME. `params` has the `namespace` of the graph that it happened in ([] is the outermost), the `timestamp` in
    milliseconds, the `data`, and with the state its open questions. `seq` counts the events of the run from 1.
    """

    type: Literal["event"]
    event_id: NotRequired[str]
    seq: NotRequired[int]
    method: str
    params: _Params


def event_that(method: str, namespace: Sequence[str], data: Any) -> ProtocolEvent:
    """An event that happens now; its number is given where it is shown."""
    params: _Params = {"namespace": list(namespace), "timestamp": time.time_ns() // 1_000_000, "data": data}
    return {"type": "event", "method": method, "params": params}


def event_of(part: Mapping[str, Any]) -> ProtocolEvent:
    """The event of a chunk of `stream(version="v2")`."""
    event = event_that(part["type"], part["ns"], part["data"])
    if "interrupts" in part:
        event["params"]["interrupts"] = part["interrupts"]
    return event
