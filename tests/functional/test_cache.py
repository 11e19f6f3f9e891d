"""Cached task results are reused across runs, threads and workflows (section 3)."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flowfn import CachePolicy, InvalidInput, MemoryCache, entrypoint, interrupt, task
from flowfn.caching import open_cache

from ..worlds import World, asked


def doubling(world: World, **options: Any) -> Any:
    """A cached task that notes its runs."""

    @world.task(**{"cache_policy": CachePolicy(), **options})
    async def double(x: int, y: int = 0) -> int:
        world.ran.append(x)
        if x < 0:
            raise ValueError("negative")
        return 2 * x + y

    return double


def calling(world: World, double: Any, cache: Any) -> Any:
    """A workflow of one call of a task."""

    @world.entrypoint(cache=cache)
    async def wf(x: int) -> int:
        return await world.value(double(x))

    return wf


def test_an_equal_call_of_another_run_is_a_hit(world: World) -> None:
    """The same arguments give the kept result, on any thread."""
    wf = calling(world, doubling(world), MemoryCache())
    assert [world.invoke(wf, 3, thread_id=name) for name in ("a", "b")] == [6, 6]
    assert world.ran == [3]


def test_other_arguments_are_a_miss(world: World) -> None:
    """Each set of arguments has an entry of its own."""
    wf = calling(world, doubling(world), MemoryCache())
    assert [world.invoke(wf, x) for x in (3, 4, 3, 4)] == [6, 8, 6, 8]
    assert world.ran == [3, 4]


def test_a_default_counts_as_if_it_were_passed(world: World) -> None:
    """Passing the default explicitly is the same call, by position or by keyword."""
    double = doubling(world)

    @world.entrypoint(cache=MemoryCache())
    async def wf() -> list[int]:
        calls = (lambda: double(3), lambda: double(3, 0), lambda: double(x=3, y=0))
        return [await world.value(call()) for call in calls]

    assert world.invoke(wf) == [6, 6, 6]
    assert world.ran == [3]


def test_equal_calls_of_one_run_share_an_entry(world: World) -> None:
    """Occurrence doesn't count for the cache."""
    double = doubling(world)

    @world.entrypoint(cache=MemoryCache())
    async def wf() -> list[int]:
        return [await world.value(double(3)), await world.value(double(3))]

    assert world.invoke(wf) == [6, 6]
    assert world.ran == [3]


def test_two_caches_share_nothing(world: World) -> None:
    """A result is kept where the entrypoint's `cache=` says."""
    double = doubling(world)
    for cache in (MemoryCache(), MemoryCache()):
        world.invoke(calling(world, double, cache), 3)
    assert world.ran == [3, 3]


def test_a_cleared_cache_computes_anew(world: World) -> None:
    """After `cache.clear()` a call is computed anew."""
    cache = MemoryCache()
    wf = calling(world, doubling(world), cache)
    world.invoke(wf, 3)
    cache.clear()
    assert world.invoke(wf, 3) == 6
    assert world.ran == [3, 3]


def test_errors_are_not_cached(world: World) -> None:
    """A task that failed runs again on the next call."""
    wf = calling(world, doubling(world), MemoryCache())
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            world.invoke(wf, -1)
    assert world.ran == [-1, -1]


def test_a_result_lives_as_long_as_its_ttl(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `ttl` seconds the task runs again."""
    import time

    clock = [1000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    wf = calling(world, doubling(world, cache_policy=CachePolicy(ttl=timedelta(minutes=1))), MemoryCache())
    for seconds in (0, 59, 2):
        clock[0] += seconds
        assert world.invoke(wf, 3) == 6
    assert world.ran == [3, 3]


def test_a_clock_that_goes_back_keeps_no_result_alive(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was kept under a clock that ran ahead isn't reused for as long as that, once it is set right."""
    import time

    clock = [1000.0 + 7200]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    task = doubling(world, cache_policy=CachePolicy(ttl=timedelta(minutes=1)))
    wf = calling(world, task, MemoryCache())
    for seconds in (0, -30, -7200):
        clock[0] += seconds
        assert world.invoke(wf, 3) == 6
    assert world.ran == [3, 3]


def test_a_key_replaces_the_arguments(world: World) -> None:
    """`CachePolicy(key=)` decides what counts."""
    policy = CachePolicy(key=lambda x, y=0: x % 10)
    wf = calling(world, doubling(world, cache_policy=policy), MemoryCache())
    assert [world.invoke(wf, x) for x in (3, 13, 4)] == [6, 6, 8]
    assert world.ran == [3, 4]


def test_tasks_without_a_policy_are_not_cached(world: World) -> None:
    """Caching is asked for per task."""
    wf = calling(world, doubling(world, cache_policy=None), MemoryCache())
    for _ in range(2):
        world.invoke(wf, 3)
    assert world.ran == [3, 3]


def test_a_hit_shows_in_the_stream(world: World) -> None:
    """Behaviour page 3.7: a cached result streams with `__metadata__: {"cached": True}`."""
    wf = calling(world, doubling(world), MemoryCache())
    assert world.stream(wf, 3) == [{"double": 6}, {"wf": 6}]
    assert world.stream(wf, 3) == [{"double": 6, "__metadata__": {"cached": True}}, {"wf": 6}]


def test_a_kept_result_is_a_copy(world: World) -> None:
    """Changing a result in place doesn't change what the cache gives next time."""

    @world.task(cache_policy=CachePolicy())
    async def listed() -> list[int]:
        return [1]

    @world.entrypoint(cache=MemoryCache())
    async def wf() -> list[int]:
        result = await world.value(listed())
        result.append(2)
        return result

    assert [world.invoke(wf), world.invoke(wf)] == [[1, 2], [1, 2]]


def test_a_hit_is_recorded_like_a_result(world: World) -> None:
    """A run that goes on keeps the result that it got, although the cache has been cleared meanwhile."""
    cache, failures = MemoryCache(), [True]
    double = doubling(world)

    @world.entrypoint(cache=cache)
    async def wf() -> int:
        result = await world.value(double(3))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return result

    world.invoke(calling(world, double, cache), 3)
    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    cache.clear()
    assert world.invoke(wf, None, thread_id="t") == 6
    assert world.ran == [3]


def test_refresh_computes_anew_and_replaces(world: World) -> None:
    """`refresh` is asked of each call; what was kept is replaced."""
    cache, version = MemoryCache(), [1]

    @world.task(cache_policy=CachePolicy(refresh=lambda x, again: again), ignore="again")
    async def current(x: int, again: bool) -> int:
        return version[0]

    @world.entrypoint(cache=cache)
    async def wf(again: bool) -> int:
        found: int = await world.value(current(3, again))
        return found

    assert world.invoke(wf, False) == 1
    version[0] = 2
    assert [world.invoke(wf, again) for again in (False, True, False)] == [1, 2, 2]


def test_a_task_keeps_results_in_its_own_cache(world: World) -> None:
    """`@task(cache=)` needs no policy beside it, and goes before the entrypoint's cache."""
    own, of_workflow = MemoryCache(), MemoryCache()
    double = doubling(world, cache=own, cache_policy=None)
    for _ in range(2):
        assert world.invoke(calling(world, double, of_workflow), 3) == 6
    assert world.ran == [3]
    assert list(of_workflow.keys()) == []


def test_outside_a_run_a_cached_task_is_memoised(world: World) -> None:
    """A script or a notebook calls the task, and it runs once for equal arguments, also across runs."""
    double = doubling(world, cache=MemoryCache())

    async def call(x: int) -> int:
        found: int = await world.value(double(x))
        return found

    outside = world.colour(call)
    assert [world.call(outside, x) for x in (3, 4, 3)] == [6, 8, 6]
    with pytest.raises(ValueError, match="negative"):
        world.call(outside, -1)
    assert world.invoke(calling(world, double, None), 3) == 6
    assert world.ran == [3, 4, -1]


def test_the_environment_names_the_default(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FLOWFN_CACHE names where results go that nobody names a place for."""
    monkeypatch.setenv("FLOWFN_CACHE", str(tmp_path / "kept"))
    double = doubling(world)
    for _ in range(2):
        assert world.invoke(calling(world, double, None), 3) == 6
    assert world.ran == [3]
    assert (tmp_path / "kept" / "cache.db").exists()
    double.cache.clear()
    open_cache(tmp_path / "kept").close()


def test_a_question_is_not_cached(world: World) -> None:
    """A task that asks is not kept until it has been answered; then its result is."""

    @world.task(cache=MemoryCache())
    async def ask(x: int) -> str:
        world.ran.append(x)
        answer: str = interrupt("sure?")
        return answer

    @world.entrypoint
    async def wf(x: int) -> str:
        found: str = await world.value(ask(x))
        return found

    assert asked(world.invoke(wf, 3, thread_id="a")) == ["sure?"]
    assert world.resume(wf, "yes", thread_id="a") == "yes"
    assert world.invoke(wf, 3, thread_id="b") == "yes"
    assert world.ran == [3, 3]


def test_a_cached_workflow(world: World) -> None:
    """An entrypoint's policy keeps its whole result, and what it saves, called directly or inside another run."""

    @world.entrypoint(cache_policy=CachePolicy(), cache=MemoryCache())
    async def child(x: int, *, previous: Any = None) -> Any:
        world.ran.append((x, previous))
        return entrypoint.final(value=2 * x, save=x + 100)

    assert [world.invoke(child, 3, thread_id=name) for name in ("a", "b")] == [6, 6]
    assert world.ran == [(3, None)]
    assert [world.invoke(child, 4, thread_id=name) for name in ("a", "b")] == [8, 8]
    assert world.ran == [(3, None), (4, 103)]


def test_a_cache_that_is_none() -> None:
    """What can't be a cache is refused where it is written; so is a class of them, and a URL without its slashes."""
    for wrong in (3, "", "redis:localhost", "memory", "s3://bucket", MemoryCache):
        with pytest.raises(InvalidInput, match=f"cache={re.escape(repr(wrong))} is not a cache"):
            task(cache=wrong)
        with pytest.raises(InvalidInput, match=f"cache={re.escape(repr(wrong))} is not a cache"):
            entrypoint(cache=wrong)
    with pytest.raises(InvalidInput, match=r"is not a cache\. Write cache_policy="):
        task(cache=CachePolicy())


@pytest.mark.parametrize("decorated", [task, entrypoint])
def test_a_policy_of_another_type_is_refused(decorated: Any) -> None:
    """Where it is given, and not by the first call."""
    with pytest.raises(TypeError, match=r"cache_policy=True: write CachePolicy\(\)"):
        decorated(cache_policy=True)(len)
