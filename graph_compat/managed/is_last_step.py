"""How much of its recursion limit a run has left."""

from __future__ import annotations

from typing import Annotated

from flowfn.pregel import Steps
from graph_compat.managed.base import ManagedValue


class IsLastStepManager(ManagedValue[bool]):
    """Whether the superstep is the last but one that the limit allows."""

    @staticmethod
    def get(scratchpad: Steps) -> bool:
        return scratchpad.step == scratchpad.stop - 1


class RemainingStepsManager(ManagedValue[int]):
    """How many supersteps the limit allows after this one."""

    @staticmethod
    def get(scratchpad: Steps) -> int:
        return scratchpad.stop - scratchpad.step


IsLastStep = Annotated[bool, IsLastStepManager]
RemainingSteps = Annotated[int, RemainingStepsManager]
