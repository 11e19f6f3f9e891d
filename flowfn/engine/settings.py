"""What the runs of a workflow were configured with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import is_
from typing import Any

from flowfn.definition import OnDivergence
from flowfn.errors import TaskTimeout
from flowfn.policies import RetryPolicy
from flowfn.values import MISSING


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What a workflow was configured with, for all runs of it."""

    on_divergence: OnDivergence = "doubt"
    retry: tuple[RetryPolicy, ...] = ()
    cache: Any = MISSING
    """A `Cache`, a path or a URL; MISSING stands for `default_cache()`, None for no cache."""
    executor: Any = None
    """Where tasks run that name no executor themselves; None for threads, or the event loop."""
    store: Any = None
    context: Any = None
    step_timeout: float | None = None
    """How many seconds a superstep may take."""
    positional: bool = False
    """LangGraph's habit: an answer goes to the question that is asked in its place."""
    timed_out: Callable[[TaskTimeout], Exception] | None = None
    """Makes of a task's timeout the error that its users know; None leaves it."""

    def within(self, around: Settings) -> Settings:
        """Those of a run inside another one, whose they are where it says nothing itself."""
        cache = around.cache if self.cache in (MISSING, None) else self.cache
        executor = around.executor if self.executor is None else self.executor
        store = around.store if self.store is None else self.store
        context = around.context if self.context is None else self.context
        if all(
            map(is_, (cache, executor, store, context), (self.cache, self.executor, self.store, self.context))
        ):
            return self
        return replace(self, cache=cache, executor=executor, store=store, context=context)
