"""graph_compat's caches by themselves, and as what a graph keeps results in."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from flowfn import CacheError
from graph_compat.cache.base import BaseCache, FullKey, Namespace
from graph_compat.cache.memory import InMemoryCache
from graph_compat.cache.redis import RedisCache
from graph_compat.cache.sqlite import SqliteCache
from graph_compat.func import entrypoint, task
from graph_compat.types import CachePolicy


class FakeRedis:
    """What a cache asks of a `redis.Redis`, over a dict."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.lasting: dict[str, int | None] = {}

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        return [self.held.get(key) for key in keys]

    def pipeline(self, transaction: bool = True) -> "FakeRedis":
        return self

    def set(self, key: str, value: bytes, px: int | None = None) -> None:
        self.held[key], self.lasting[key] = value, px

    def execute(self) -> None:
        """Everything was done when it was asked for."""

    def scan_iter(self, match: str, count: int) -> list[str]:
        start = match.removesuffix("*").replace("\\", "")
        return [key for key in self.held if key.startswith(start)]

    def delete(self, *keys: str) -> None:
        for key in keys:
            del self.held[key]


@pytest.fixture(params=["memory", "sqlite", "redis"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> BaseCache[Any]:
    """A cache of each kind."""
    if request.param == "sqlite":
        return SqliteCache(path=str(tmp_path / "cache.db"))
    return InMemoryCache() if request.param == "memory" else RedisCache(FakeRedis())


A, B, C = (("ns",), "a"), (("ns",), "b"), (("ns", "deeper"), "a")


def test_values_come_back(cache: BaseCache[Any]) -> None:
    """What was set is found under its key, and what wasn't is left out."""
    cache.set({A: ({"x": [1, (2,)]}, None), C: (None, 60)})
    assert cache.get([A, B, C]) == {A: {"x": [1, (2,)]}, C: None}
    assert cache.get([]) == {}


def test_clearing_a_namespace(cache: BaseCache[Any]) -> None:
    """A namespace goes without those below it; None clears all."""
    cache.set({A: (1, None), B: (2, None), C: (3, None)})
    cache.clear([("ns",)])
    assert cache.get([A, B, C]) == {C: 3}
    cache.clear()
    assert cache.get([A, B, C]) == {}


async def test_asyncio_callers(cache: BaseCache[Any]) -> None:
    """The methods have twins for asyncio."""
    await cache.aset({A: (1, None)})
    assert await cache.aget([A, B]) == {A: 1}
    await cache.aclear()
    assert await cache.aget([A]) == {}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_time_is_up(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value is gone when its seconds have passed."""
    cache: BaseCache[Any] = (
        InMemoryCache() if kind == "memory" else SqliteCache(path=str(tmp_path / "cache.db"))
    )
    clock = [1000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    cache.set({A: (1, 10), B: (2, None)})
    clock[0] = 1009.0
    assert cache.get([A, B]) == {A: 1, B: 2}
    clock[0] = 1010.0
    assert cache.get([A, B]) == {B: 2}


def test_a_file_forgets_what_nobody_asks_for(tmp_path: Path) -> None:
    """A value whose seconds have passed leaves the file when the next one is kept."""
    file = tmp_path / "cache.db"
    cache: BaseCache[Any] = SqliteCache(path=str(file))
    cache.set({A: (1, 0)})
    cache.set({B: (2, None)})
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT key FROM cache").fetchall() == [("b",)]


def test_redis_is_told_how_long_to_keep() -> None:
    """Redis gets milliseconds, and keeps its keys under the prefix."""
    redis = FakeRedis()
    RedisCache(redis, prefix="p:").set({A: (1, 10), B: (2, None)})
    assert sorted(redis.lasting.values(), key=str) == [10_000, None]
    assert all(key.startswith("p:") for key in redis.held)


def test_a_file_is_shared(tmp_path: Path) -> None:
    """Another cache on the same file finds what the first one kept."""
    SqliteCache(path=str(tmp_path / "cache.db")).set({A: ("kept", None)})
    assert SqliteCache(path=str(tmp_path / "cache.db")).get([A]) == {A: "kept"}


def test_a_file_s_connection_does_not_cross_a_fork(run_python: Any, tmp_path: Path) -> None:
    """Each side opens it anew and has the same; a child that was forked while it was in use is refused it."""
    script = """
import os, sys
from flowfn import CacheError
from flowfn.python import forking
from graph_compat.cache.sqlite import SqliteCache

forking.PATIENCE = 0.0
A = (("a",), "key")
caches = [SqliteCache(path=path) for path in (sys.argv[1], ":memory:")]
for cache in caches:
    cache.set({A: ("kept", None)})

def in_a_child():
    if os.fork() == 0:
        for cache in caches:
            try:
                print(cache._opened is None, cache.get([A]) == {A: "kept"}, flush=True)
            except CacheError as error:
                print("was forked while its parent" in str(error), flush=True)
        os._exit(0)
    os.wait()

in_a_child()
with caches[0]._lock:
    in_a_child()
print([cache.get([A]) == {A: "kept"} for cache in caches])
"""
    done = run_python("-W", "ignore", "-c", script, tmp_path / "cache.db")
    assert done.returncode == 0, done.stderr
    told = ["True True", "False True", "True", "False True", "[True, True]"]
    assert done.stdout.splitlines() == told


class Broken(BaseCache[Any]):
    """A cache of a user's own, which always fails."""

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Any]:
        raise RuntimeError("down")

    def set(self, pairs: Mapping[FullKey, tuple[Any, int | None]]) -> None:
        raise RuntimeError("down")

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        raise RuntimeError("down")


def test_a_graph_keeps_results(cache: BaseCache[Any]) -> None:
    """A task with a cache policy runs once for equal arguments, until its cache is cleared."""
    ran = []

    @task(cache_policy=CachePolicy())
    def double(n: int) -> int:
        ran.append(n)
        return 2 * n

    @entrypoint(cache=cache)
    def flow(n: int) -> int:
        return double(n).result()  # type: ignore[no-any-return]

    assert [flow.invoke(1), flow.invoke(1), flow.invoke(2)] == [2, 2, 4]
    assert ran == [1, 2]
    double.clear_cache(cache)
    flow.invoke(1)
    assert ran == [1, 2, 1]


def test_a_graph_without_a_cache() -> None:
    """A cached task that is asked in it what it keeps says where to name a cache."""

    @task(cache_policy=CachePolicy())
    def square(x: int) -> int:
        return x * x

    @entrypoint()
    def flow(x: int) -> None:
        square.cache.explain(x)

    with pytest.raises(CacheError, match=r"task 'square' names no cache.*@task\(cache=…\)"):
        flow.invoke(3)


def test_a_cache_that_fails_is_a_miss(caplog: pytest.LogCaptureFixture) -> None:
    """A graph goes on without it, and the log says why."""

    @task(cache_policy=CachePolicy())
    def double(n: int) -> int:
        return 2 * n

    @entrypoint(cache=Broken())
    def flow(n: int) -> int:
        return double(n).result()  # type: ignore[no-any-return]

    assert flow.invoke(1) == 2
    assert "Broken.get: RuntimeError('down')" in caplog.text


def test_a_cache_of_ones_own_has_a_serializer_with_tags() -> None:
    """What LangGraph gives such a cache: its methods call `dumps_typed` and `loads_typed`."""

    class Own(Broken):
        """A cache that somebody else wrote."""

    serde = Own().serde
    assert serde.loads_typed(serde.dumps_typed({"a": (1, 2)})) == {"a": (1, 2)}
