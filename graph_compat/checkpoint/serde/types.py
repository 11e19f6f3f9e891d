"""LangGraph's `langgraph.checkpoint.serde.types`: names of special channels, and two protocols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from graph_compat.left_out import stand_in

ERROR = "__error__"
SCHEDULED = "__scheduled__"
INTERRUPT = "__interrupt__"
RESUME = "__resume__"
TASKS = "__pregel_tasks"

ValueT_co = TypeVar("ValueT_co", covariant=True)
UpdateT_contra = TypeVar("UpdateT_contra", contravariant=True)
StoredT_co = TypeVar("StoredT_co", covariant=True)


@runtime_checkable
class SendProtocol(Protocol):
    """What has a node and an input for it, as `Send` has."""

    node: str
    arg: Any


class ChannelProtocol(Protocol[ValueT_co, UpdateT_contra, StoredT_co]):
    """What a channel can be asked: its value, what is stored of it, and to take what was written."""

    def get(self) -> ValueT_co: ...

    def checkpoint(self) -> StoredT_co: ...

    def update(self, values: Sequence[UpdateT_contra]) -> bool: ...


_DeltaSnapshot: Any = stand_in(__name__, "_DeltaSnapshot", "a DeltaChannel is stored as every channel is")
