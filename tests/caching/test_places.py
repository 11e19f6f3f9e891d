"""What every cache does: bytes by key, for a time, and claims among those that share it."""

import pickle
import shutil
import socket
import sys
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flowfn import CacheError, InvalidInput
from flowfn.caching import DiskCache, MemoryCache, RedisCache, open_cache


def test_bytes_come_back(cache: Any) -> None:
    """What was set last is found under its key, and nothing elsewhere."""
    cache.set("f:1", b"one")
    cache.set("f:1", b"another")
    cache.set("f:2", b"")
    assert [cache.get("f:1"), cache.get("f:2"), cache.get("f:3")] == [b"another", b"", None]


def test_clearing_by_prefix(cache: Any) -> None:
    """`clear(prefix)` forgets what begins so, whatever pattern the prefix would be elsewhere; `clear()` everything."""
    for key in ("f*:1", "f*:2", "fx:1", "f[x]:1"):
        cache.set(key, b"kept")
    cache.clear("f*:")
    assert sorted(cache.keys()) == ["f[x]:1", "fx:1"]
    cache.clear("f[x]:1")
    assert sorted(cache.keys()) == ["fx:1"]
    cache.clear()
    assert list(cache.keys()) == []


def test_keys_by_prefix(cache: Any) -> None:
    """`keys(prefix)` lists what begins so."""
    for key in ("f:1", "f:2", "g:1"):
        cache.set(key, b"kept")
    assert sorted(cache.keys("f:")) == ["f:1", "f:2"]


def test_a_folder_that_is_deleted_is_a_cleared_cache(tmp_path: Path) -> None:
    """Who has it open forgets what it held, and goes on sharing results and claims with whoever opens it next."""
    with closing(DiskCache(tmp_path / "c")) as one, closing(DiskCache(tmp_path / "c")) as other:
        one.set("f:1", b"old")
        assert [one.claim("f:2", "one", 60), other.get("f:1")] == [True, b"old"]
        shutil.rmtree(tmp_path / "c")
        assert [one.get("f:1"), other.get("f:1")] == [None, None]
        assert [other.claim("f:2", "other", 60), one.claim("f:2", "one", 60)] == [True, False]
        one.set("f:1", b"new")
        other.close()
        assert other.get("f:1") == b"new"


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_time_is_up(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry is gone after its `ttl`, and at the latest after the cache's `max_age`."""
    clock = [1000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    cache: Any = MemoryCache(max_age=timedelta(seconds=20))
    if kind == "disk":
        cache = DiskCache(tmp_path / "c", max_age=timedelta(seconds=20))
    cache.set("short", b"1", 10)
    cache.set("long", b"2", 60)
    clock[0] = 1009.0
    assert [cache.get("short"), cache.get("long")] == [b"1", b"2"]
    clock[0] = 1011.0
    assert [cache.get("short"), cache.get("long")] == [None, b"2"]
    clock[0] = 1021.0
    assert cache.get("long") is None


def test_redis_is_told_how_long_to_keep(redis_url: str) -> None:
    """Redis forgets by its own clock: it is given milliseconds, and keeps the rest for ever."""
    from redis import Redis

    cache = RedisCache(redis_url, prefix="p:", max_age=3600)
    cache.set("short", b"1", 10)
    cache.set("long", b"2")
    cache.close()
    with Redis.from_url(redis_url) as client:
        left = {key: client.pttl(key) for key in client.scan_iter()}
    assert sorted(left) == [b"p:entry:long", b"p:entry:short"]
    assert 0 < left[b"p:entry:short"] <= 10_000 < left[b"p:entry:long"] <= 3_600_000


def test_one_owner_at_a_time(shared_cache: Any) -> None:
    """A claim is its owner's until it is given back, and nobody else can give it back."""
    assert shared_cache.claim("k", "one", 60)
    assert shared_cache.claim("k", "one", 60)
    assert not shared_cache.claim("k", "two", 60)
    shared_cache.release("k", "two")
    assert not shared_cache.claim("k", "two", 60)
    shared_cache.release("k", "one")
    assert shared_cache.claim("k", "two", 60)


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_claim_ends_by_no_clock_on_the_wall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """That may be set: a live owner keeps its claim, and a killed one stands in the way for no longer than that."""
    wall, since_boot = time.time(), time.monotonic()
    cache = DiskCache(tmp_path / "cache")
    assert cache.claim("k", "one", 10)
    monkeypatch.setattr(time, "time", lambda: wall + hours * 3600)
    monkeypatch.setattr(time, "monotonic", lambda: since_boot + 9)
    assert not cache.claim("k", "two", 10)
    monkeypatch.setattr(time, "monotonic", lambda: since_boot + 12)
    assert cache.claim("k", "two", 10)
    cache.close()


def test_a_claim_does_not_outlast_its_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that was started anew counts from the beginning, and nobody who had a claim is left."""
    cache = DiskCache(tmp_path / "cache")
    assert cache.claim("k", "one", 10)
    monkeypatch.setattr(time, "monotonic", lambda: 1.0)
    assert cache.claim("k", "two", 10)
    cache.close()


def test_clearing_takes_no_claims(shared_cache: Any) -> None:
    """Whoever computes goes on doing so alone when the cache is cleared."""
    shared_cache.claim("k", "one", 60)
    shared_cache.clear()
    assert not shared_cache.claim("k", "two", 60)


def test_another_process_opens_the_same(shared_cache: Any) -> None:
    """A cache travels to another process as its address."""
    shared_cache.set("k", b"kept")
    again = pickle.loads(pickle.dumps(shared_cache))
    assert again.get("k") == b"kept"
    again.close()


def test_memory_is_not_shared() -> None:
    """Another process gets an empty cache of the same budgets."""
    cache = MemoryCache(max_bytes=7, max_age=5)
    cache.set("k", b"kept")
    again = pickle.loads(pickle.dumps(cache))
    assert [again.get("k"), again.max_bytes, again.max_age] == [None, 7, 5.0]


def test_a_closed_cache_opens_again(shared_cache: Any) -> None:
    """`close()` frees connections; the next use opens new ones."""
    shared_cache.set("k", b"kept")
    shared_cache.close()
    assert shared_cache.get("k") == b"kept"


FORK = """
import os, sys, threading
from flowfn import CacheError
from flowfn.python import forking
from flowfn.caching import DiskCache

cache = DiskCache(sys.argv[1])
cache.set("a", b"before")
cache.claim("c", "one", 60)
"""


def forked(run_python: Any, tmp_path: Path, script: str) -> list[str]:
    """What a script prints that forks with a cache open."""
    done = run_python("-W", "ignore", "-c", FORK + script, tmp_path / "c")
    assert done.returncode == 0, done.stderr
    lines: list[str] = done.stdout.splitlines()
    return lines


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists what is open")
def test_no_connection_to_a_folder_crosses_a_fork(run_python: Any, tmp_path: Path) -> None:
    """SQLite would take its parent's locks for the child's; each side opens the folder anew, and has the same."""
    script = """
files = lambda: [name for name in map(os.readlink, map("/proc/self/fd/{}".format, open_ones())) if "cache.db" in name]
def open_ones():
    return [fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
assert files()
child = os.fork()
if child == 0:
    print(files(), cache.get("a"), cache.claim("c", "other", 60), flush=True)
    cache.set("b", b"the child's")
    os._exit(0)
os.waitpid(child, 0)
print(cache.get("a"), cache.get("b"), cache.claim("c", "one", 60))
"""
    assert forked(run_python, tmp_path, script) == [
        "[] b'before' False",
        "b'before' b\"the child's\" True",
    ]


def test_a_child_forked_while_its_folder_is_in_use_is_refused_it(run_python: Any, tmp_path: Path) -> None:
    """No fork waits for ever: the child is told, however it opens the folder, and the parent goes on."""
    script = """
forking.PATIENCE = 0.0
inside, go = threading.Event(), threading.Event()
asking = threading.Thread(target=cache._asked, args=(lambda rows: (inside.set(), go.wait()),))
asking.start()
inside.wait()
child = os.fork()
if child == 0:
    for use in (lambda: cache.get("a"), lambda: DiskCache(sys.argv[1]).set("a", b""), lambda: cache.claim("c", "x", 9)):
        try:
            use()
        except CacheError as error:
            print("was forked while its parent was in the middle" in str(error), flush=True)
    sys.exit()
os.waitpid(child, 0)
go.set()
asking.join()
print(cache.get("a"))
"""
    assert forked(run_python, tmp_path, script) == ["True", "True", "True", "b'before'"]


def test_memory_keeps_within_its_budget() -> None:
    """Beyond `max_bytes` what was kept first goes first; setting a key again makes it new."""
    cache = MemoryCache(max_bytes=10)
    for key in ("a", "b", "a", "c"):
        cache.set(key, b"12345")
    assert sorted(cache.keys()) == ["a", "c"]
    cache.set("huge", b"more than ten bytes")
    assert list(cache.keys()) == []


def test_a_folder_keeps_within_its_budget(tmp_path: Path) -> None:
    """Beyond `max_bytes` what was kept first goes first."""
    with_budget, without = (
        DiskCache(tmp_path / name, max_bytes=size) for name, size in (("b", 200_000), ("n", None))
    )
    for number in range(60):
        for cache in (with_budget, without):
            cache.set(f"{number:03}", bytes(10_000))
    kept = list(with_budget.keys())
    assert 0 < len(kept) < 30
    assert kept[-1] == "059"
    assert len(list(without.keys())) == 60
    with_budget.close()
    without.close()


def test_a_folder_is_its_owners(tmp_path: Path) -> None:
    """A new folder can be read by nobody else."""
    cache = DiskCache(tmp_path / "deep" / "cache")
    cache.set("k", b"kept")
    cache.close()
    assert (tmp_path / "deep" / "cache").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_bytes": 0}, "must be positive"),
        ({"max_bytes": "1 GB"}, "whole number of bytes"),
        ({"max_age": -1}, "must be positive"),
        ({"max_age": "1 day"}, "seconds or a timedelta"),
    ],
)
def test_budgets_that_are_none(options: dict[str, Any], message: str) -> None:
    """A budget that can't be is refused, with what to write."""
    with pytest.raises((TypeError, ValueError), match=message):
        MemoryCache(**options)


def test_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is a folder, and the same folder is the same cache however it is written."""
    monkeypatch.chdir(tmp_path)
    named = open_cache("c")
    assert isinstance(named, DiskCache)
    assert open_cache(tmp_path / "c") is named
    assert open_cache(f"disk://{tmp_path}/c") is named
    assert isinstance(open_cache("memory://"), MemoryCache)
    assert isinstance(open_cache("redis://localhost:1/0"), RedisCache)
    assert open_cache(named) is named


@pytest.mark.parametrize("target", ["ftp://host", "memory://x", "disk://relative", 3, object()])
def test_what_is_no_cache(target: Any) -> None:
    """Anything else is refused, with what can be passed."""
    with pytest.raises(InvalidInput, match=r"Pass a cache of flowfn\.caching"):
        open_cache(target)


def test_a_server_that_is_down() -> None:
    """A cache that can't be reached says so."""
    cache = RedisCache("redis://127.0.0.1:1/0")
    with pytest.raises(CacheError, match="can't be used"):
        cache.get("k")
    cache.close()


@pytest.mark.parametrize("options", ["", "?socket_timeout=0.01"])
def test_a_server_that_never_answers(options: str) -> None:
    """Nobody waits for longer than `timeout`, or than the URL says: it is as one that is down."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0{options}"
        cache = RedisCache(url, timeout=60 if options else 0.01)
        with pytest.raises(CacheError, match="can't be used"):
            cache.get("k")
        cache.close()
