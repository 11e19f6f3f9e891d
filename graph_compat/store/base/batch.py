"""`langgraph.store.base.batch`: operations of one turn of the event loop, done at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, cast

from flowfn.stores import BaseStore, Item, Op, PutOp, SearchItem
from flowfn.stores.base import TTL, Indexed
from flowfn.stores.items import NOT_PROVIDED, Namespace, NamespacePath, Result
from flowfn.stores.namespaces import checked


class AsyncBatchedBaseStore(BaseStore):
    """A store whose awaited methods are collected: those called before the loop turns are one `abatch`.

    Derive from it, and write `batch` and `abatch`.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Op, asyncio.Future[Result]]] = []
        self._running: set[asyncio.Task[None]] = set()

    async def aget(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """As `get`."""
        return cast("Item | None", await self._ask(self._get(namespace, key, refresh_ttl)))

    async def asearch(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """As `search`."""
        op = self._search(namespace_prefix, query, filter, limit, offset, refresh_ttl)
        return cast("list[SearchItem]", await self._ask(op))

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Indexed = None,
        *,
        ttl: TTL = NOT_PROVIDED,
    ) -> None:
        """As `put`."""
        await self._ask(self._put(namespace, key, value, index, ttl))

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """As `delete`."""
        await self._ask(PutOp(checked(namespace), key, None))

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """As `list_namespaces`."""
        op = self._list(prefix, suffix, max_depth, limit, offset)
        return cast("list[Namespace]", await self._ask(op))

    async def _ask(self, op: Op) -> Result:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((op, answer))
        if len(self._waiting) == 1:
            loop.call_soon(self._begin)
        return await answer

    def _begin(self) -> None:
        waiting, self._waiting = self._waiting, []
        task = asyncio.ensure_future(self._answer(waiting))
        self._running.add(task)  # the loop alone would let it be collected
        task.add_done_callback(self._running.discard)

    async def _answer(self, waiting: Iterable[tuple[Op, asyncio.Future[Result]]]) -> None:
        asked = [(op, answer) for op, answer in waiting if not answer.done()]
        try:
            results = await self.abatch([op for op, _ in asked])
        except Exception as error:
            for _, answer in asked:
                if not answer.done():
                    answer.set_exception(error)
            return
        for (_, answer), result in zip(asked, results, strict=True):
            if not answer.done():
                answer.set_result(result)


__all__ = ["AsyncBatchedBaseStore"]
