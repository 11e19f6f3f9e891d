"""The base of managed values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from flowfn.pregel import Steps

V = TypeVar("V")


class ManagedValue(ABC, Generic[V]):
    """A value that is worked out for each superstep, from its number and that of the last one allowed."""

    @staticmethod
    @abstractmethod
    def get(scratchpad: Steps) -> V:
        """The value in the superstep `scratchpad.step`, of which `scratchpad.stop` is the last."""


ManagedValueSpec = type[ManagedValue[Any]]
ManagedValueMapping = dict[str, ManagedValueSpec]


def is_managed_value(value: Any) -> bool:
    """Whether an annotation names a managed value."""
    return isinstance(value, type) and issubclass(value, ManagedValue)
