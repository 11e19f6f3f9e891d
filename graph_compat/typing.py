"""The type variables of graphs: their state, context, input and output."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict, TypeVar

__all__ = [
    "ContextT",
    "ContextT_contra",
    "DeprecatedKwargs",
    "InputT",
    "NodeInputT",
    "NodeInputT_contra",
    "OutputT",
    "StateT",
    "StateT_co",
    "StateT_contra",
]

StateT = TypeVar("StateT")
StateT_co = TypeVar("StateT_co", covariant=True)
StateT_contra = TypeVar("StateT_contra", contravariant=True)

ContextT = TypeVar("ContextT", default=None)
ContextT_contra = TypeVar("ContextT_contra", contravariant=True, default=None)

InputT = TypeVar("InputT", default=StateT)
OutputT = TypeVar("OutputT", default=StateT)

NodeInputT = TypeVar("NodeInputT", default=Any)
NodeInputT_contra = TypeVar("NodeInputT_contra", contravariant=True, default=Any)


class DeprecatedKwargs(TypedDict):
    """Keyword arguments that a function takes by their old names alone."""
