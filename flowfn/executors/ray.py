"""Tasks on a Ray cluster (extra `ray`).

Rule: an attempt runs once; Ray's own retries are off, and the retry policy decides.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from flowfn.python.cached_property import cached_property

T = TypeVar("T")


class RayExecutor(Executor):
    """Runs functions on the workers of a Ray cluster: of its address, or (None) the one that Ray is connected to.

    Where Ray is connected to none, it looks for one, or starts one on this machine. The worker of a function that
    is stopped is killed.
    """

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        self._refs: WeakKeyDictionary[Future[Any], Any] = WeakKeyDictionary()

    @cached_property
    def _ray(self) -> Any:
        """The library, connected."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ModuleNotFoundError as error:
            raise ImportError("a Ray cluster needs ray: pip install 'flowfn-durable[ray]'") from error
        if not ray.is_initialized():
            ray.init(self._address, include_dashboard=False, log_to_driver=False)
        return ray

    @cached_property
    def _call(self) -> Any:
        return self._ray.remote(_call).options(max_retries=0)

    @cached_property
    def lost(self) -> tuple[type[BaseException], ...]:
        """The errors that mean that a worker was lost."""
        from ray import exceptions as errors

        return (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.ObjectLostError,
            errors.OutOfMemoryError,
            errors.TaskCancelledError,
            errors.RaySystemError,
        )

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have a worker call `fn`."""
        ref = self._call.remote(fn, args, kwargs)
        future: Future[T] = ref.future()
        self._refs[future] = ref
        return future

    def stop(self, future: Future[Any]) -> bool:
        """Kill the worker that runs it."""
        ref = self._refs.get(future)
        if ref is None or future.done():
            return False
        self._ray.cancel(ref, force=True)
        return True


def _call(function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    return function(*args, **kwargs)
