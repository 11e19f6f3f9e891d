"""Tasks on a Dask cluster (extra `dask`).

Rule: an attempt runs once. Dask would run what was on a worker that died once more by itself, and would compute
a lost result again; so each attempt leaves a mark with the scheduler before it starts, and a second one that finds it
refuses. The retry policy then decides. Marks outlive their attempts by a hundred others: until the scheduler has
heard that a result was fetched it may still compute it again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

from flowfn.errors import WorkerDied
from flowfn.python.cached_property import cached_property
from flowfn.python.forking import let_go_by_fork

T = TypeVar("T")
_MARKS = 100
"""How many marks of ended attempts stay with the scheduler."""


class DaskExecutor(Executor):
    """Runs functions on the workers of a Dask scheduler: of its address, or of a `distributed.Client`.

    A function that runs can't be stopped on a Dask worker: one whose time is up is left behind there.
    """

    def __init__(self, target: Any) -> None:
        self._target = target
        self._marks: deque[str] = deque()
        self._connected: Any = None
        self._connecting = let_go_by_fork(Lock())

    def _client(self) -> Any:
        """The client, connected at its first use."""
        with self._connecting:
            if self._connected is None:
                self._connected = self._connect()
            return self._connected

    def _connect(self) -> Any:
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
        client, mark = self._client(), f"flowfn-{uuid4().hex}"
        attempt = client.submit(_once, mark, fn, args, kwargs, pure=False, retries=0)
        return asyncio.run_coroutine_threadsafe(self._fetch(client, attempt, mark), client.loop.asyncio_loop)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the connection, if it is the executor's own."""
        client, self._connected = self._connected, None
        if client is None:
            return
        if client.status == "running":
            client.sync(self._forget, client, 0)
        if isinstance(self._target, str):
            client.close()

    async def _fetch(self, client: Any, attempt: Any, mark: str) -> Any:
        """What an attempt returns, or raises. Dask's own executor never answers for one that was lost on its way."""
        try:
            return await client.gather(attempt, asynchronous=True)
        except asyncio.CancelledError:
            await attempt.cancel(asynchronous=True)
            raise
        finally:
            attempt.release()
            self._marks.append(mark)
            client.loop.add_callback(self._forget, client, _MARKS)  # which nobody's result waits for

    async def _forget(self, client: Any, keep: int) -> None:
        """Take all marks but the newest from the scheduler; if it is gone, they are."""
        with suppress(OSError):
            while len(self._marks) > keep:
                await client.scheduler.event_clear(name=self._marks.popleft())


def _once(mark: str, function: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    """Call a function, on a worker, unless somebody has begun to."""
    from distributed import Event

    event = Event(mark)
    if event.is_set():
        raise WorkerDied("the Dask worker that ran it was lost")
    event.set()
    return function(*args, **kwargs)
