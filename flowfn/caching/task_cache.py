"""`task.cache`: what is kept of one task's results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flowfn.caching.keys import key_of
from flowfn.caching.opening import open_cache, place_of
from flowfn.caching.sources import forget_sources
from flowfn.context import current_frame
from flowfn.definition import Definition
from flowfn.errors import CacheError
from flowfn.python.cached_property import renew
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.caching.explaining import Explanation


class TaskCache:
    """One task's results in the cache where it keeps them.

    That is the task's own `cache=`; without one, inside a run the run's, and elsewhere what FLOWFN_CACHE names
    or this process's memory. `on(cache)` looks into another.
    """

    def __init__(self, definition: Definition, args: Sequence[Any] = (), cache: Any = None) -> None:
        self._definition = definition
        self._args = args
        """What stands before the caller's arguments: the instance of a method."""
        self._cache = cache

    def on(self, cache: Any) -> TaskCache:
        """The task's results in another cache, or in what a path or URL names."""
        return TaskCache(self._definition, self._args, open_cache(cache))

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Whether a call with these arguments would be a hit, and why not; nothing runs.

        Raises:
            CacheError: the task has no cache policy, or the cache can't be read.
            InvalidInput: the arguments don't fit.
        """
        from flowfn.caching.explaining import explain

        self._check_policy()
        renew()  # no run has begun that would
        return explain(self._definition, self._place(), (*self._args, *args), kwargs, time.time())

    def clear(self, *args: Any, **kwargs: Any) -> None:
        """Forget the result of this very call; without arguments, all results of the task.

        Raises:
            CacheError: the task has no cache policy, or the cache can't be used.
            InvalidInput: the arguments don't fit.
        """
        self._check_policy()
        place = self._place()
        if args or kwargs:
            renew()
            key = key_of(self._definition, (*self._args, *args), kwargs).text
            if key:
                place.clear(key)
        else:
            place.clear(f"{self._definition.qualified}:")
            forget_sources(place)

    def _check_policy(self) -> None:
        if self._definition.cache is None:
            raise CacheError(
                f"task {self._definition.name!r} has no cache policy: write @task(cache_policy=CachePolicy())"
            )

    def _place(self) -> Any:
        if self._cache is not None:
            return self._cache
        frame = current_frame.get()
        place = place_of(self._definition, MISSING if frame is None else frame.run.settings.cache)
        if place is None:
            raise CacheError(
                f"task {self._definition.name!r} names no cache, nor does what called it: write @task(cache=…), "
                "or give the graph or entrypoint one with cache=…"
            )
        return place
