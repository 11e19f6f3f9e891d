"""LangGraph's `langgraph.checkpoint.serde.types`: names of special channels, and two protocols."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

ERROR = "__error__"
SCHEDULED = "__scheduled__"
INTERRUPT = "__interrupt__"
RESUME = "__resume__"
TASKS = "__pregel_tasks"


@runtime_checkable
class SendProtocol(Protocol):
    """What has a node and an input for it, as `Send` has."""

    node: str
    arg: Any


class ChannelProtocol(Protocol):
    """What a channel can be asked."""

    def get(self) -> Any: ...

    def checkpoint(self) -> Any: ...

    def update(self, values: Any) -> bool: ...
