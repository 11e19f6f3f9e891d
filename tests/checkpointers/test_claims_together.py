"""Runs of one event loop that start at once take their leases at once (G4)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, cast

import pytest

from checkpointers import EncryptedSaver, MemorySaver, PostgresSaver, SqliteSaver
from checkpointers.conformance.rows import claimed, put, writes
from flowfn import entrypoint
from flowfn.encryption import KeyRing
from flowfn.errors import LeaseLost, SaverError
from flowfn.hosts.admission import INLINE
from flowfn.hosts.loop import LoopHost
from flowfn.ports import Busy, ClaimsTogether, Commit, Lease

from ..postgres_database import Database

KEYS = KeyRing({"now": bytes(range(32))})

AnySaver = SqliteSaver | PostgresSaver | EncryptedSaver


@pytest.fixture(params=["sqlite", "postgres", "encrypted-sqlite", "encrypted-postgres"])
def saver(request: pytest.FixtureRequest) -> AnySaver:
    """Each saver that takes leases together."""
    around, _, kind = request.param.rpartition("-")
    inner: SqliteSaver | PostgresSaver = request.getfixturevalue(f"{kind}_saver")
    return EncryptedSaver(inner, KEYS) if around else inner


def test_threads_that_are_free_are_taken(saver: AnySaver) -> None:
    """New ones and ones that were given back, each once; not what is held. Who held one before is fenced off."""
    held, former = claimed(saver, "held"), claimed(saver, "free")
    put(saver, writes("c1"), thread="free", lease=former, status="done", release=True)
    leases = saver.claim_free(["a\\b\0", "free", "held", "new", "new"])
    assert [lease and (lease.thread, lease.new) for lease in leases] == [
        ("a\\b\0", True),
        ("free", False),
        None,
        ("new", True),
        None,
    ]
    taken = [lease for lease in leases if lease is not None]
    assert min(lease.token for lease in taken) > held.token > 0
    assert saver.commit([Commit(lease.thread, lease, status="running") for lease in taken]) == [None] * 3
    (refusal,) = saver.commit([Commit("free", former, status="done")])
    assert isinstance(refusal, LeaseLost)
    assert isinstance(saver.claim("new"), Busy)
    for lease in (held, *taken):
        saver.release(lease)


def test_a_thread_that_somebody_has_in_hand_is_passed_over(postgres_database: Database) -> None:
    """Nobody waits for another's thread."""
    saver = postgres_database.saver()
    saver.release(claimed(saver, "locked"))
    with postgres_database.connection.transaction():
        postgres_database.execute("SELECT FROM flowfn.thread FOR NO KEY UPDATE")
        locked, new = saver.claim_free(["locked", "new"])
    assert locked is None
    assert new is not None
    saver.release(new)


def test_runs_that_start_at_once_are_claimed_at_once(
    saver: AnySaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one call of the saver's; each on a thread of its own, and two of one thread one after the other."""
    asked: list[Sequence[str]] = []
    claim_free = saver.claim_free

    def counting(threads: Sequence[str]) -> Any:
        asked.append(threads)
        return claim_free(threads)

    monkeypatch.setattr(saver, "claim_free", counting)

    @entrypoint(checkpointer=saver)
    async def count(number: int, *, previous: int = 0) -> int:
        return previous + number

    async def together() -> list[int]:
        threads = [f"{number % 20}" for number in range(30)]
        return await asyncio.gather(*(count.ainvoke(1, thread_id=thread) for thread in threads))

    assert sorted(asyncio.run(together())) == [1] * 20 + [2] * 10
    assert len(asked[0]) == (INLINE - 1 if saver.inline else 30)  # the first found nobody to wait for
    assert sum(map(len, asked[1:])) <= 200  # whoever waited asked again, with growing delays
    assert [row.owner for row in saver.threads()] == [None] * 20


class Slow:
    """A saver whose claims take until they are let go; what becomes of its leases."""

    inline = False

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.called, self.returned = asyncio.Event(), asyncio.Event()
        self.go = asyncio.Event()
        self.error: Exception | None = None

    def claim_free(self, threads: Sequence[str]) -> Sequence[Lease | None]:
        self.loop.call_soon_threadsafe(self.called.set)
        asyncio.run_coroutine_threadsafe(self.go.wait(), self.loop).result()
        if self.error is not None:
            raise self.error
        return [Lease(thread, 1) for thread in threads]

    def release(self, lease: Lease) -> None:
        self.loop.call_soon_threadsafe(self.returned.set)


def test_a_lease_that_nobody_waits_for_is_given_back() -> None:
    """Of two that claim, the one that was cancelled; the other has its own."""

    async def run() -> Any:
        saver: Any = Slow()
        assert isinstance(saver, ClaimsTogether)
        host = LoopHost()
        first, second = (asyncio.create_task(host.claim_free(saver, name)) for name in "ab")
        await saver.called.wait()
        first.cancel()
        saver.go.set()
        await saver.returned.wait()
        return first.cancelled(), await second

    assert asyncio.run(run()) == (True, Lease("b", 1))


def test_a_lease_that_is_taken_as_the_loop_ends_is_given_back() -> None:
    """The loop is told of it, and comes to nothing any more; who had asked was cancelled, as by `asyncio.run`."""
    called, go, told, returned = (threading.Event() for _ in range(4))

    class Saver:
        inline = False

        def claim_free(self, threads: Sequence[str]) -> Sequence[Lease | None]:
            called.set()
            assert go.wait(10)
            return [Lease(thread, 1) for thread in threads]

        def release(self, lease: Lease) -> None:
            returned.set()

    class Loop(asyncio.SelectorEventLoop):
        def call_soon_threadsafe(self, *args: Any, **kwargs: Any) -> asyncio.Handle:
            handle = super().call_soon_threadsafe(*args, **kwargs)
            if go.is_set():
                told.set()
            return handle

        def close(self) -> None:
            go.set()
            assert told.wait(10)
            super().close()

    async def run() -> None:
        claim = asyncio.create_task(LoopHost().claim_free(cast("Any", Saver()), "a"))
        while not called.is_set():
            await asyncio.sleep(0)
        claim.cancel()

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(run())
    assert returned.wait(10)


def test_an_error_is_of_all_who_claim() -> None:
    """Who was cancelled hears nothing of it."""

    async def run() -> Any:
        saver: Any = Slow()
        saver.error = SaverError("the server is gone")
        host = LoopHost()
        claims = [asyncio.create_task(host.claim_free(saver, name)) for name in "abc"]
        await saver.called.wait()
        claims[0].cancel()
        saver.go.set()
        return [type(end) for end in await asyncio.gather(*claims, return_exceptions=True)]

    assert asyncio.run(run()) == [asyncio.CancelledError, SaverError, SaverError]


def test_savers_of_databases_claim_together() -> None:
    """The savers of databases take together the leases that are wanted at once; others needn't."""
    assert issubclass(PostgresSaver, ClaimsTogether)
    assert issubclass(SqliteSaver, ClaimsTogether)


def test_an_encrypted_saver_takes_one_by_one_what_its_inner_one_does() -> None:
    """It takes nothing for those who ask together, and they claim by themselves."""
    with EncryptedSaver(MemorySaver(), KEYS) as saver:
        assert saver.claim_free(["a", "b"]) == [None, None]
        assert saver.threads() == []

        @entrypoint(checkpointer=saver)
        async def count(number: int, *, previous: int = 0) -> int:
            return previous + number

        async def together() -> list[int]:
            return await asyncio.gather(
                *(count.ainvoke(1, thread_id=f"{number % 20}") for number in range(30))
            )

        assert sorted(asyncio.run(together())) == [1] * 20 + [2] * 10
