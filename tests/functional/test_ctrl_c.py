"""Ctrl-C at the worst moment: the process goes on, as a notebook does, and so do its threads of work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpointers import MemorySaver, PostgresSaver, SqliteSaver
from checkpointers.leases import Holder, is_alive
from flowfn import entrypoint, task
from flowfn.hosts import streams, threads
from flowfn.invocation import running
from flowfn.ports import Begin, Commit, Lease


def test_a_call_that_was_taken_and_not_begun_is_waited_for_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupted thread had taken it to run it in place; the run ends, and the next one runs it."""
    settle = threads.settle
    interrupted: list[bool] = []

    def once(*job: Any) -> None:
        if not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        settle(*job)

    monkeypatch.setattr(threads, "settle", once)

    @task
    def double(x: int) -> int:
        return 2 * x

    with SqliteSaver(tmp_path / "runs.db") as saver:

        @entrypoint(checkpointer=saver)
        def doubled(x: int) -> int:
            return double(x).result()

        with pytest.raises(KeyboardInterrupt):
            doubled.invoke(21, thread_id="t")
        assert doubled.invoke(None, thread_id="t") == 42


def test_a_reading_transaction_that_was_left_open_is_ended_by_the_next(tmp_path: Path) -> None:
    """It came between its beginning and what ends it; every later read failed, or saw what was there then."""
    with SqliteSaver(tmp_path / "runs.db") as saver:
        saver._database._connected().reader().execute("BEGIN")
        assert saver.threads() == []


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT is Python's KeyboardInterrupt, also where whoever runs the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_a_stream_whose_next_event_is_waited_for_stops_its_run() -> None:
    """The run would wait for ever to be asked for more, and keep the lease."""
    interrupted: list[bool] = []

    @task
    def double(x: int) -> int:
        if not interrupted:
            interrupted.append(True)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return 2 * x

    @entrypoint(checkpointer=MemorySaver())
    def doubled(x: int) -> int:
        return double(x).result()

    with pytest.raises(KeyboardInterrupt):
        list(doubled.stream(21, thread_id="t"))
    assert doubled.invoke(None, thread_id="t", on_busy="reject") == 42


@pytest.mark.parametrize("given", [True, False])
def test_a_stream_whose_run_no_thread_has_begun_is_waited_for_by_nobody(
    given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came as the run was given to a thread, which may get to it afterwards, and then leaves it alone."""
    late: list[Callable[[], None]] = []

    def interrupt(job: Callable[[], None]) -> None:
        late.append(job)
        raise KeyboardInterrupt

    monkeypatch.setattr(streams, "run_soon", interrupt)

    @entrypoint(checkpointer=MemorySaver())
    def same(x: int) -> int:
        return x

    with pytest.raises(KeyboardInterrupt):
        list(same.stream(42, thread_id="t"))
    if given:
        late[0]()
    assert same.get_state(thread_id="t").created_at is None


@pytest.fixture(params=["sqlite", "memory"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteSaver | MemorySaver]:
    """A saver that calls use in place."""
    with SqliteSaver(tmp_path / "runs.db") if request.param == "sqlite" else MemorySaver() as opened:
        yield opened


def test_a_thread_that_is_being_claimed_is_left_free(
    saver: SqliteSaver | MemorySaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G4: the lease was taken and the caller never learnt of it; the process, which lives, held it for ever."""
    take = Holder.take

    def interrupted(self: Holder, lease: Lease) -> None:
        take(self, lease)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Holder, "take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            saver.claim("t")
    assert isinstance(saver.claim("t"), Lease)


class InterruptedLeave:
    """A connection of a pool, left by Ctrl-C."""

    def __init__(self, borrowed: Any) -> None:
        self._borrowed = borrowed

    def __enter__(self) -> Any:
        return self._borrowed.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._borrowed.__exit__(*error)
        raise KeyboardInterrupt


CLAIMS: dict[str, Callable[[PostgresSaver], Any]] = {
    "claim": lambda saver: saver.claim("t"),
    "claim_free": lambda saver: saver.claim_free(["t"]),
    "adopt": lambda saver: saver.adopt("app.flow", "call"),
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_thread_of_postgres_whose_claim_is_interrupted_is_left_free(
    postgres_saver: PostgresSaver, monkeypatch: pytest.MonkeyPatch, claim: Callable[[PostgresSaver], Any]
) -> None:
    """G4: the server had given the lease, and Ctrl-C came as the connection went back to its pool."""
    saver = postgres_saver
    lease = saver.claim("t")
    assert isinstance(lease, Lease)
    saver.commit([Commit("t", lease=lease, begin=Begin("app.flow", "call"), status="running", release=True)])
    opened = saver._database._opened()
    borrowed = opened.borrowed
    with monkeypatch.context() as patched:
        patched.setattr(opened, "borrowed", lambda patience: InterruptedLeave(borrowed(patience)))
        with pytest.raises(KeyboardInterrupt):
            claim(saver)
    assert isinstance(saver.claim("t"), Lease)


def test_a_thread_of_postgres_is_not_taken_for_ever(
    postgres_saver: PostgresSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G4: Ctrl-C came before it was noted that nobody is taking its lease any more."""

    class Interrupted(set[Any]):
        def discard(self, taking: Any) -> None:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(postgres_saver._holder, "_taking", Interrupted())
        with pytest.raises(KeyboardInterrupt):
            postgres_saver.claim("t")
        assert not is_alive(postgres_saver._holder.owner, "t", 1, expired=False)


def test_a_claim_whose_commit_is_interrupted_leaves_the_thread_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was made or not; so does one that fails."""
    with SqliteSaver(tmp_path / "runs.db") as saver:
        database, end = saver._database, saver._database.end

        def before() -> None:
            raise KeyboardInterrupt

        def after() -> None:
            end()
            raise KeyboardInterrupt

        for interrupted in (before, after):
            with monkeypatch.context() as patched:
                patched.setattr(database, "end", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    saver.claim("t")
            assert not saver._holder.leases()
            lease = saver.claim("t")
            assert isinstance(lease, Lease)
            saver.release(lease)


def test_a_call_that_came_to_no_run_gives_its_lease_back(
    saver: SqliteSaver | MemorySaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had claimed the thread, and was about to begin."""

    @entrypoint(checkpointer=saver)
    def echo(x: int) -> int:
        return x

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(running, "Journal", interrupted)
        with pytest.raises(KeyboardInterrupt):
            echo.invoke(1, thread_id="t")
    assert echo.invoke(1, thread_id="t") == 1
