"""LangGraph's asyncio stores: one of flowfn's, each of whose methods is awaited."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from flowfn.stores import BaseStore, IndexConfig, Op, Result, TTLConfig
from flowfn.stores.store import Store


class AwaitedStore(BaseStore):
    """Opens a store of flowfn's: by `setup()`, or with the first method that is awaited."""

    supports_ttl = True

    def __init__(self, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        self.index_config = index
        self.ttl_config = ttl
        self._opening = asyncio.Lock()
        self._store: Store | None = None

    @abstractmethod
    async def _open(self) -> Store:
        """The store that does the work."""

    async def __aenter__(self) -> Self:
        await self.setup()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            await asyncio.to_thread(self._store.close)

    async def setup(self) -> None:
        """Open it; that makes its tables."""
        await self._opened()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations, blocking.

        Raises:
            RuntimeError: it isn't open yet.
        """
        if self._store is None:
            raise RuntimeError("The store isn't open yet: `await store.setup()` first.")
        return self._store.batch(ops)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations."""
        return await (await self._opened()).abatch(ops)

    async def sweep_ttl(self) -> int:
        """Delete the items whose time is up; how many there were."""
        return await (await self._opened()).asweep_ttl()

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> asyncio.Future[None]:
        """Sweep now and then; a future that is done when that has ended."""
        return asyncio.wrap_future((await self._opened()).start_ttl_sweeper(sweep_interval_minutes))

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping, waiting for `timeout` seconds; whether it has ended."""
        return await asyncio.to_thread((await self._opened()).stop_ttl_sweeper, timeout)

    async def _opened(self) -> Store:
        async with self._opening:
            if self._store is None:
                self._store = await self._open()
            return self._store
