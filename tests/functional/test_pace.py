"""When a host of threads is given more workers: where they help."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from flowfn import entrypoint, task
from flowfn.futures import Future
from flowfn.hosts.pace import Pace, Processor

BUSY, HALF, IDLE = 1.0, 0.5, 0.0


def done() -> Future[Any]:
    """A call that has ended."""
    ended: Future[Any] = Future()
    ended.set_result(None)
    return ended


def looks(pace: Pace, times: int, *, moving: bool, growing: bool, share: float, active: int = 0) -> list[int]:
    """How many workers are added at each of some looks, at ten calls that wait."""
    first, last = count(), count()
    oldest, newest = next(first), next(last)
    added = []
    for _ in range(times):
        oldest = next(first) if moving else oldest
        newest = next(last) if growing else newest
        added.append(pace.more(("call", oldest), ("call", newest), 10, active, share))
    return added


def test_a_process_that_waits_for_something_gets_a_worker_for_each_call() -> None:
    """Threads that sleep or read cost nothing."""
    assert looks(Pace(), 1, moving=False, growing=False, share=IDLE) == [10]


def test_a_process_that_computes_and_takes_its_calls_gets_none() -> None:
    """More threads would take the interpreter's lock from those that are there."""
    assert looks(Pace(), 500, moving=True, growing=False, share=BUSY) == [0] * 500


def test_a_process_with_time_to_spare_gets_ever_more_workers() -> None:
    """A single look may meet a pause, three in a row don't."""
    pace = Pace()
    assert looks(pace, 3, moving=True, growing=False, share=HALF) == [0, 0, 1]
    assert looks(pace, 1, moving=True, growing=False, share=HALF, active=1) == [3]
    assert looks(pace, 1, moving=True, growing=False, share=HALF, active=4) == [10]


def test_long_calls_get_company_though_the_process_computes() -> None:
    """What waits stays the same: it may be that those who compute have let go of the interpreter's lock."""
    same = "call"
    pace = Pace()
    assert [pace.more(same, same, 10, 0, BUSY) for _ in range(4)] == [0, 0, 0, 1]


def test_a_caller_who_calls_ever_more_and_never_waits_gets_a_worker_after_a_while() -> None:
    """It would run the calls itself as soon as it waited; it may never do so."""
    pace = Pace()
    added = [pace.more("first", ("last", look), 10, 0, BUSY) for look in range(200)]
    assert added.index(1) > 50
    assert not any(added[:50])


def test_what_was_seen_of_calls_that_were_taken_counts_no_more() -> None:
    """The next ones begin with no looks against them."""
    pace = Pace()
    looks(pace, 2, moving=False, growing=False, share=HALF)
    pace.rest()
    assert looks(pace, 2, moving=False, growing=False, share=HALF) == [0, 0]


def crowded(pace: Pace, *shares: float, waited: Sequence[Future[Any]] = ()) -> list[bool]:
    """What is said at some looks in a row, of a caller who waits for one call after the other."""
    found = []
    for look, share in enumerate(shares):
        pace.more(look, "last", 10, 4, share)
        found.append(pace.crowded(share, waited[look] if waited else Future()))
    return found


def test_workers_leave_where_all_compute_on_one_processor_and_the_caller_helps() -> None:
    """It takes their calls, and nobody takes the interpreter's lock from it."""
    assert crowded(Pace(), *[BUSY] * 5) == [False, False, False, True, True]


def test_a_caller_who_has_gone_on_since_the_last_look_helps() -> None:
    """What it waited for is done at the look, as it has yet to get the interpreter's lock from those that compute."""
    assert crowded(Pace(), *[BUSY] * 5, waited=[done() for _ in range(5)]) == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_workers_stay_where_nobody_else_takes_their_calls() -> None:
    """A caller who does something else must not be left to find its calls undone."""
    assert not any(crowded(Pace(), *[BUSY] * 9, waited=[done()] * 9))


def test_workers_stay_where_the_caller_waits_for_a_long_call() -> None:
    """What is left would have to wait as well."""
    found = crowded(Pace(), *[BUSY] * 60, waited=[Future()] * 60)
    assert any(found)
    assert not any(found[30:])


def test_the_more_there_are_the_longer_may_a_call_take() -> None:
    """Those that compute together take as many times as long as one of them would."""
    alone, beside = Pace(), Pace()
    alone.more("first", "last", 10, 0, BUSY)
    beside.more("first", "last", 10, 31, BUSY)
    same: Future[Any] = Future()
    told = [(alone.crowded(BUSY, same), beside.crowded(BUSY, same)) for _ in range(90)]
    assert not any(of for of, _ in told)
    assert all(of for _, of in told[10:])


def test_workers_stay_where_they_compute_beside_each_other() -> None:
    """Code that has let go of the interpreter's lock gains by every processor."""
    assert not any(crowded(Pace(), *[1.9] * 9))


def test_workers_stay_where_the_process_waits_for_something() -> None:
    """One pause says that they may be of use."""
    assert not any(crowded(Pace(), BUSY, BUSY, HALF, BUSY, BUSY, BUSY, HALF))


def test_a_worker_that_has_left_is_a_sign_that_calls_end() -> None:
    """What waits stays the same as nobody takes it: those who might are to leave."""
    pace = Pace()
    assert not any(pace.more("first", "last", 10, active, BUSY) for active in range(31, 0, -1))


def test_a_process_counts_as_busy_until_it_was_looked_at_for_long_enough() -> None:
    """The system counts by the tick: over less than that it may say nothing, or twice what there was."""
    times = iter([(0.0, 0.0), (0.001, 0.0), (0.004, 0.0), (0.006, 0.0), (0.008, 0.002), (0.012, 0.006)])
    processor = Processor(lambda: next(times))
    assert [round(processor.share(), 2) for _ in range(5)] == [1.0, 1.0, 0.0, 0.29, 1.0]


def test_calls_are_all_made_though_workers_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever leaves has ended its call, and what is left is taken by who waits."""
    monkeypatch.setattr(Pace, "crowded", lambda *_, **__: True)
    monkeypatch.setattr(Pace, "more", lambda *_: 4)

    @task
    def square(number: int) -> int:
        return number * number

    @entrypoint
    def squares(numbers: list[int]) -> list[int]:
        return [future.result() for future in square.map(numbers)]

    assert squares(list(range(2000))) == [number * number for number in range(2000)]
