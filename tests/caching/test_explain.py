"""`task.cache`: whether a call would be a hit, which part is to blame if not, and forgetting."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from flowfn import CacheError, CachePolicy, InvalidInput, MemoryCache, entrypoint, task
from flowfn.caching import Explanation

RATE = 3


def clean(x: int) -> int:
    return abs(x)


def pricing(cache: Any, **options: Any) -> Any:
    @task(cache=cache, **options)
    def price(x: int, y: int = 2) -> int:
        return clean(x) * RATE + y

    return price


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def test_a_hit(cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kept result is a hit of some age and size; asking runs nothing."""
    price = pricing(cache)
    price(3)
    found = price.cache.explain(3)
    assert (found.hit, found.reasons, found.diff) == (True, (), "")
    assert found.key.startswith("test_explain.pricing.<locals>.price:") or "price:" in found.key
    assert found.size == len(cache.get(found.key))
    assert str(found).startswith(f"hit: {found.key}, ")


def test_nothing_kept(cache: Any) -> None:
    """Where the task has no results, that is the reason."""
    found = pricing(cache).cache.explain(3)
    assert (found.hit, found.age, found.size) == (False, None, None)
    assert found.reasons[0].startswith("no result of ")
    assert found.reasons[0].endswith("price is kept")


def test_another_argument(cache: Any) -> None:
    """The nearest result is the one with the fewest differences; what differs is shown with both values."""
    price = pricing(cache)
    price(3, 9)
    price(4, 5)
    assert price.cache.explain(4, 6).reasons == ("argument 'y': 5 → 6",)
    assert price.cache.explain(8, 8).reasons == ("argument 'x': 4 → 8", "argument 'y': 5 → 8")


def test_the_newest_of_several_is_the_nearest(clock: list[float]) -> None:
    """Among results that differ in as many parts, the newest is compared with."""
    price = pricing(MemoryCache())
    for x in (5, 3, 4):
        clock[0] += 1
        price(x)
    assert price.cache.explain(9).reasons == ("argument 'x': 4 → 9",)


def test_an_argument_that_looks_the_same() -> None:
    """Long arguments are shown cut short; that they differ is said all the same."""
    price = pricing(MemoryCache(), cache_policy=CachePolicy(key=lambda x, y=2: ["a" * 10_000, x]))
    price(3)
    (reason,) = price.cache.explain(4).reasons
    assert reason.startswith("argument 'key': ")
    assert "where it isn't shown" in reason or "→" in reason


def test_a_constant(cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A constant that the code names is shown with both values."""
    price = pricing(cache)
    price(3)
    monkeypatch.setitem(globals(), "RATE", 4)
    assert price.cache.explain(3).reasons == ("constant 'RATE': 3 → 4",)


def test_an_edited_helper(cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A helper that was edited is named, and its diff shown."""
    price = pricing(cache)
    price(3)

    def clean(x: int) -> int:
        return max(x, 0)

    clean.__qualname__ = "clean"
    monkeypatch.setitem(globals(), "clean", clean)
    found = price.cache.explain(3)
    assert len(found.reasons) == 1
    assert found.reasons[0].startswith("helper '")
    assert found.reasons[0].endswith(".clean' was edited")
    assert [line for line in found.diff.splitlines() if line[:1] in "+-" and line[1:2] == " "] == [
        "-    return abs(x)",
        "+    return max(x, 0)",
    ]


def test_a_version() -> None:
    """A version stands for the code, and is what differs."""
    price = pricing(MemoryCache(), version="1")
    price(3)
    assert price.with_options(version="2").cache.explain(3).reasons == ("version: '1' → '2'",)


def test_time_is_up(clock: list[float]) -> None:
    """A result whose time to live is over is a miss for that reason."""
    cache = MemoryCache()
    pricing(cache)(3)
    clock[0] += 59
    assert pricing(cache, cache_policy=CachePolicy(ttl=60)).cache.explain(3).hit
    clock[0] += 1
    found = pricing(cache, cache_policy=CachePolicy(ttl=60)).cache.explain(3)
    assert (found.hit, found.age) == (False, 60.0)
    assert found.reasons == ("its time to live of 60 s is over",)


def test_a_refreshed_call() -> None:
    """A policy that refreshes is the reason."""
    cache = MemoryCache()
    pricing(cache)(3)
    price = pricing(cache, cache_policy=CachePolicy(refresh=lambda x, y=2: x == 3))
    assert price.cache.explain(3).reasons == ("its policy says refresh, so that it is computed anew",)


def test_an_argument_without_a_digest() -> None:
    """A call that can't be cached says which argument is to blame."""
    found = pricing(MemoryCache()).cache.explain(object())
    assert found == Explanation(
        False, "", reasons=("argument 'x' has no digest, so the call is never cached",)
    )


def test_clearing_one_call(cache: Any) -> None:
    """With arguments, that call's result is forgotten; without, all of the task, and nobody else's."""
    price = pricing(cache)

    @task(cache=cache)
    def other(x: int) -> int:
        return x

    for x in (3, 4, 5):
        price(x)
    other(3)
    price.cache.clear(3)
    assert [price.cache.explain(x).hit for x in (3, 4, 5)] == [False, True, True]
    price.cache.clear()
    assert [price.cache.explain(x).hit for x in (3, 4, 5)] == [False, False, False]
    assert other.cache.explain(3).hit
    price.cache.clear(object())
    assert other.cache.explain(3).hit


def test_sources_are_kept_again_after_clearing(cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `clear()` later results are explained as before."""
    price = pricing(cache)
    price(3)
    price.cache.clear()
    price(3)
    monkeypatch.setitem(globals(), "RATE", 4)
    assert price.cache.explain(3).reasons == ("constant 'RATE': 3 → 4",)


def test_inside_a_run() -> None:
    """A task without a cache of its own is asked about the run's, and elsewhere about the one that is named."""
    cache = MemoryCache()

    @task(cache_policy=CachePolicy())
    def square(x: int) -> int:
        return x * x

    @entrypoint(cache=cache)
    def workflow() -> list[bool]:
        before = square.cache.explain(3).hit
        square(3).result()
        return [before, square.cache.explain(3).hit]

    assert workflow() == [False, True]
    assert not square.cache.explain(3).hit
    assert square.cache.on(cache).explain(3).hit


class Shop:
    def __init__(self, tax: int) -> None:
        self.tax = tax

    @task(cache=MemoryCache(), key=("self", "x"), ignore=())
    def total(self, x: int) -> int:
        return x + self.tax

    def __getstate__(self) -> int:
        return self.tax


def test_a_method() -> None:
    """A bound method's calls are those of its instance."""
    with pytest.raises(InvalidInput):
        Shop(7).total.cache.explain(1, 2, 3)


def test_a_task_without_a_policy() -> None:
    """A task that isn't cached says what to write."""

    @task
    def square(x: int) -> int:
        return x * x

    with pytest.raises(CacheError, match=r"cache_policy=CachePolicy\(\)"):
        square.cache.explain(3)
    with pytest.raises(CacheError, match="no cache policy"):
        square.cache.clear()


def test_a_cache_that_lists_nothing() -> None:
    """A cache of one's own with `get`, `set` and `clear` alone answers as far as it can."""

    class Own:
        def __init__(self) -> None:
            self.held: dict[str, bytes] = {}

        def get(self, key: str) -> bytes | None:
            return self.held.get(key)

        def set(self, key: str, value: bytes, ttl: float | None = None) -> None:
            self.held[key] = value

        def clear(self, prefix: str = "") -> None:
            self.held = {key: value for key, value in self.held.items() if not key.startswith(prefix)}

    price = pricing(Own())
    price(3)
    assert price.cache.explain(3).hit
    assert price.cache.explain(4).reasons == (
        "nothing is kept under this key, and the cache can't list what it keeps instead",
    )


@pytest.fixture(autouse=True)
def _same_constants() -> Iterator[None]:
    yield
    assert RATE == 3
