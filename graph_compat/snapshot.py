"""A thread's state, as programs that name its configurations `RunnableConfig` are annotated.

Rule: for type checkers alone; what runs has flowfn's class, whose configurations are plain mappings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn import values

__all__ = ["StateSnapshot"]

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    class StateSnapshot(values.StateSnapshot):
        """The state of a thread at one checkpoint."""

        config: RunnableConfig
        parent_config: RunnableConfig | None

else:
    StateSnapshot = values.StateSnapshot
