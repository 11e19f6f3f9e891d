"""When a host of threads is given more workers: where they help."""

from itertools import count

from flowfn.hosts.pace import Pace

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
