"""LangGraph's channels: how the writes of one superstep become what the next one reads."""

from __future__ import annotations

from graph_compat.channels.any_value import AnyValue
from graph_compat.channels.base import BaseChannel
from graph_compat.channels.binop import BinaryOperatorAggregate
from graph_compat.channels.delta import DeltaChannel
from graph_compat.channels.ephemeral_value import EphemeralValue
from graph_compat.channels.last_value import LastValue, LastValueAfterFinish
from graph_compat.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish
from graph_compat.channels.topic import Topic
from graph_compat.channels.untracked_value import UntrackedValue
from graph_compat.errors import EmptyChannelError, InvalidUpdateError

__all__ = [
    "AnyValue",
    "BaseChannel",
    "BinaryOperatorAggregate",
    "DeltaChannel",
    "EmptyChannelError",
    "EphemeralValue",
    "InvalidUpdateError",
    "LastValue",
    "LastValueAfterFinish",
    "NamedBarrierValue",
    "NamedBarrierValueAfterFinish",
    "Topic",
    "UntrackedValue",
]
