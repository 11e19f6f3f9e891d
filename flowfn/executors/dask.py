"""Tasks on a Dask cluster (extra `dask`).

Rule: an attempt runs once. Dask would run what was on a worker that died once more by itself, and would compute
a lost result again; so each attempt leaves a mark with the scheduler before it starts, and a second one that finds it
refuses. The retry policy then decides.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import cached_property
from typing import Any, TypeVar
from uuid import uuid4

from flowfn.errors import WorkerDied

T = TypeVar("T")


class DaskExecutor(Executor):
    """Runs functions on the workers of a Dask scheduler: of its address, or of a `distributed.Client`.

    A function that runs can't be stopped on a Dask worker: one whose time is up is left behind there.
    """

    def __init__(self, target: Any) -> None:
        self._target = target

    @cached_property
    def _client(self) -> Any:
        """The client, connected at its first use."""
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise ImportError(
                "a Dask cluster needs distributed: pip install 'flowfn-durable[dask]'"
            ) from error
        return Client(self._target) if isinstance(self._target, str) else self._target

    @cached_property
    def lost(self) -> tuple[type[BaseException], ...]:
        """The errors that mean that a worker was lost."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        return KilledWorker, CancelledError, CommClosedError

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have a worker call `fn`."""
        mark = f"flowfn-{uuid4().hex}"
        pool = self._client.get_executor(pure=False, retries=0)
        future: Future[T] = pool.submit(_once, mark, fn, args, kwargs)
        future.add_done_callback(lambda _: self._forget(mark))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the connection, if it is the executor's own."""
        client = self.__dict__.pop("_client", None)
        if client is not None and isinstance(self._target, str):
            client.close()

    def _forget(self, mark: str) -> None:
        """Take the mark from the scheduler, without waiting for that."""
        client = self._client
        client.loop.add_callback(client.scheduler.event_clear, name=mark)


def _once(mark: str, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    """Call a function, on a worker, unless somebody has begun to."""
    from distributed import Event

    event = Event(mark)
    if event.is_set():
        raise WorkerDied("the Dask worker that ran it was lost")
    event.set()
    return function(*args, **kwargs)
