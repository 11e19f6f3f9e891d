"""What goes on beside an event loop outlives it without a word, and is made durable all the same."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import entrypoint, task
from flowfn.ports import Busy, Commit, Lease


class SlowSaver(MemorySaver):
    """Blocks, as a database does, in the method of this name until let go."""

    def __init__(self, slow: str) -> None:
        super().__init__()
        self._slow = slow
        self._lock_of_slow = threading.Lock()
        self.reached, self.go_on, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.released = threading.Event()

    @property
    def inline(self) -> bool:
        return False

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        return self._slowly("claim", lambda: MemorySaver.claim(self, thread, force=force))  # type: ignore[no-any-return]

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        return self._slowly("commit", lambda: MemorySaver.commit(self, commits, wait=wait))  # type: ignore[no-any-return]

    def release(self, lease: Lease) -> None:
        super().release(lease)
        self.released.set()

    def _slowly(self, method: str, call: Any) -> Any:
        if method != self._slow:
            return call()
        self.reached.set()
        assert self.go_on.wait(10)
        try:
            return call()
        finally:
            self.ended.set()


@pytest.mark.parametrize("slow", ["claim", "commit"])
def test_a_loop_that_ends_while_the_saver_is_at_work(slow: str) -> None:
    """Its thread finds the loop closed, and its work done; a lease that nobody waits for any more is given back.

    An exception in that thread would fail this test.
    """
    saver = SlowSaver(slow)

    @task
    async def one() -> int:
        return 1

    @entrypoint(checkpointer=saver)
    async def flow(n: int) -> int:
        return await one()

    async def main() -> None:
        run = asyncio.ensure_future(flow.ainvoke(1, thread_id="t"))
        while not saver.reached.is_set():
            await asyncio.sleep(0)
        run.cancel()

    asyncio.run(main())
    saver.go_on.set()
    assert saver.ended.wait(10)
    saver.released.wait(10)
    row = saver.thread("t")
    assert (None if row is None else row.owner) is None
    assert (row is not None) == (slow == "commit")
