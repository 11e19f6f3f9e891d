"""Managed values: what a node may read of the superstep rather than of the state."""

from graph_compat.managed.base import ManagedValue, ManagedValueSpec, is_managed_value
from graph_compat.managed.is_last_step import IsLastStep, RemainingSteps

__all__ = ["IsLastStep", "ManagedValue", "ManagedValueSpec", "RemainingSteps", "is_managed_value"]
