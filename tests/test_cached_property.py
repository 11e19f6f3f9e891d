"""What is worked out when it is first asked for."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from weakref import ref

from flowfn.python.cached_property import cached_property, renew, renewed_property


class Slow:
    """Two threads ask for `value`, and each works it out."""

    def __init__(self) -> None:
        self.both = threading.Barrier(2)

    @cached_property
    def value(self) -> object:
        """What was worked out."""
        self.both.wait(timeout=20)
        return object()


def test_it_is_worked_out_once() -> None:
    """And kept in the object, which others are independent of."""
    first, second = Slow(), Slow()
    first.both = second.both = threading.Barrier(1)
    assert first.value is first.value
    assert first.value is not second.value


def test_threads_that_ask_at_once_get_the_same() -> None:
    """None waits for another, and the one that comes first decides."""
    slow = Slow()
    with ThreadPoolExecutor(2) as pool:
        one, other = (asked.result() for asked in [pool.submit(getattr, slow, "value") for _ in range(2)])
    assert one is other is slow.value


def test_of_the_class_it_is_itself() -> None:
    """With the docstring of what it calls."""
    assert isinstance(Slow.value, cached_property)
    assert Slow.value.__doc__ == "What was worked out."


class Counting:
    """Says how often it was asked."""

    times = 0

    @renewed_property
    def value(self) -> int:
        """How often it was worked out."""
        self.times += 1
        return self.times


def test_a_renewed_one_is_worked_out_again_when_told() -> None:
    """Of all objects, and when it is asked for only."""
    first, second = Counting(), Counting()
    assert [first.value, first.value, second.value] == [1, 1, 1]
    renew()
    renew()
    assert [first.value, first.value, second.value] == [2, 2, 2]


def test_what_is_renewed_while_it_is_worked_out_is_renewed_the_next_time() -> None:
    """Another run may begin meanwhile; whoever comes after that gets no older value for ever."""

    class Slowly:
        values = iter(range(9))

        @renewed_property
        def value(self) -> int:
            found = next(self.values)
            renew()
            return found

    slowly = Slowly()
    assert (slowly.value, slowly.value) == (0, 0)
    renew()
    assert slowly.value == 1


def test_a_renewed_one_holds_no_object() -> None:
    """An object that was asked is let go, and nothing is left of it."""
    counting = Counting()
    assert (counting.value, len(Counting.value.asked) > 0) == (1, True)
    renew()
    assert counting.value == 2
    gone = ref(counting)
    del counting
    assert (gone(), Counting.value.asked) == (None, set())
