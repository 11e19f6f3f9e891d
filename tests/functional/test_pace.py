"""When a host of threads is given more workers: where they help."""

from itertools import count

import pytest

from flowfn import entrypoint, task
from flowfn.hosts.pace import Pace, Processor

BUSY, HALF, IDLE = 1.0, 0.5, 0.0


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


def crowded(pace: Pace, *shares: float, helped: bool = True) -> list[bool]:
    """What is said at some looks in a row."""
    return [pace.crowded(share, helped=helped) for share in shares]


def test_workers_leave_where_all_compute_on_one_processor_and_the_caller_helps() -> None:
    """It takes their calls, and nobody takes the interpreter's lock from it."""
    assert crowded(Pace(), BUSY, BUSY, BUSY) == [False, True, True]


def test_workers_stay_where_nobody_else_takes_their_calls() -> None:
    """A caller who does something else must not be left to find its calls undone."""
    assert not any(crowded(Pace(), BUSY, BUSY, BUSY, helped=False))


def test_workers_stay_where_no_call_is_taken() -> None:
    """Whoever waits may wait for a long one, and what is left would have to wait as well."""
    pace, same = Pace(), "call"
    for _ in range(4):
        pace.more(same, same, 10, 4, BUSY)
    assert not any(crowded(pace, BUSY, BUSY, BUSY))


def test_workers_stay_where_they_compute_beside_each_other() -> None:
    """Code that has let go of the interpreter's lock gains by every processor."""
    assert not any(crowded(Pace(), 1.9, 1.9, 1.9))


def test_workers_stay_where_the_process_waits_for_something() -> None:
    """One pause says that they may be of use."""
    assert crowded(Pace(), BUSY, HALF, BUSY) == [False, False, False]


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
