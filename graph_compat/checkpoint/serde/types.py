"""LangGraph's `langgraph.checkpoint.serde.types`: names of special channels, and two protocols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

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


class _DeltaSnapshot(NamedTuple):
    """What LangGraph keeps of a `DeltaChannel` now and then; for savers that look for it: nothing makes one here."""

    value: Any
