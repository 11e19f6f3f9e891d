"""A tally counts, whichever thread does."""

from concurrent.futures import ThreadPoolExecutor

from flowfn.python.tally import Tally


def test_it_counts_from_its_first_number() -> None:
    """Before that the last one is the one before it."""
    tally = Tally(7)
    assert tally.last == 6
    assert [tally.count(), tally.count(), tally.last] == [7, 8, 8]


def test_no_number_is_counted_twice() -> None:
    """Many threads count."""
    tally = Tally()
    with ThreadPoolExecutor(8) as pool:
        counted = list(pool.map(lambda _: tally.count(), range(10_000)))
    assert (sorted(counted), tally.last) == (list(range(1, 10_001)), 10_000)
