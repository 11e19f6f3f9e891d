"""Ids of threads and checkpoints: UUIDs of version 6."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import RFC_4122, UUID

import pytest

from flowfn.hosts import ids
from flowfn.hosts.ids import new_id


def test_an_id_is_a_uuid_of_version_6() -> None:
    """It reads as one, in its usual spelling, and has the time of its making: what deletes old threads goes by it."""
    before, made, after = time.time_ns() // 100, new_id(), time.time_ns() // 100
    read = UUID(made)
    assert (read.version, read.variant, str(read)) == (6, RFC_4122, made)
    ticks = (read.int >> 80 << 12) + (read.int >> 64 & 0xFFF)
    assert before <= ticks - 0x01B21DD213814000 <= after


def test_a_new_id_is_greater_than_one_of_version_7() -> None:
    """Threads whose checkpoints have such ids go on, and savers that others wrote sort by them."""
    assert new_id() > str(UUID(int=time.time_ns() // 1_000_000 << 80 | 7 << 76 | 2 << 62))


def test_a_later_id_is_the_greater() -> None:
    """Savers that others wrote sort by them, also where many are made in a millisecond."""
    made = [new_id() for _ in range(5000)]
    assert made == sorted(set(made))


def test_ids_go_on_while_the_clock_stands_or_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is set back makes none that is less than those before."""
    times = iter([ids.time_ns() + shift for shift in (0, 0, 0, -(10**12), -(10**12), 10**9)])
    monkeypatch.setattr(ids, "time_ns", lambda: next(times))
    made = [new_id() for _ in range(6)]
    assert made == sorted(set(made))


def test_an_id_follows_that_of_another_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of version 6 and greater, however far that clock is ahead; what is no such id, nobody follows."""
    first = new_id()
    monkeypatch.setattr(ids, "_last", 0)
    monkeypatch.setattr(ids, "time_ns", lambda: 0)
    second = new_id(first)
    third = new_id(second)
    assert first < second < third
    assert UUID(third).version == 6
    assert new_id("z") < first


def test_threads_make_different_ids() -> None:
    """No two threads are given one."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: [new_id() for _ in range(500)], range(16)))
    assert len({id for part in made for id in part}) == 8000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_makes_ids_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was at hand in its parent is the parent's, whatever the clocks say."""
    monkeypatch.setattr(ids, "time_ns", lambda: (ids._last - ids._EPOCH) * 100)
    new_id()
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(there, "".join(new_id()[-17:] for _ in range(20)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    told = os.read(here, 17 * 20).decode()
    os.close(here)
    os.close(there)
    own = {new_id()[-17:] for _ in range(20)}
    assert own.isdisjoint(told[start : start + 17] for start in range(0, len(told), 17))
