"""LangGraph's `langgraph.checkpoint.serde.event_hooks`: who is told of types that were refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NotRequired, TypedDict

_logger = logging.getLogger("graph_compat.serde")
_listeners: list[Callable[[SerdeEvent], None]] = []


class SerdeEvent(TypedDict):
    """What happened: `kind` is "msgpack_blocked", "msgpack_method_blocked" or "json_blocked"."""

    kind: str
    module: str
    name: str
    method: NotRequired[str]


def register_serde_event_listener(listener: Callable[[SerdeEvent], None]) -> Callable[[], None]:
    """Have a function called with each event; returns what ends that."""
    _listeners.append(listener)

    def unregister() -> None:
        if listener in _listeners:
            _listeners.remove(listener)

    return unregister


def emit_serde_event(event: SerdeEvent) -> None:
    """Tell all listeners; what one of them raises is logged, and stops nobody."""
    for listener in tuple(_listeners):
        try:
            listener(event)
        except Exception:
            _logger.exception("a listener for events of serialization failed")
