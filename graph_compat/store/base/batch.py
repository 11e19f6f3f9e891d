"""`langgraph.store.base.batch`: operations of one turn of the event loop, done at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from flowfn.stores import BaseStore, Op
from flowfn.stores.items import Result


class AsyncBatchedBaseStore(BaseStore):
    """A store whose awaited methods are collected: those called before the loop turns are one `abatch`.

    Derive from it, and write `batch` and `abatch`.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Op, asyncio.Future[Result]]] = []
        self._running: set[asyncio.Task[None]] = set()

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
