"""One computation per key, however many ask at once: threads, asyncio tasks, processes, and after a kill -9."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from flowfn import CachePolicy, MemoryCache, entrypoint, gather, task
from flowfn.caching import DiskCache, claims, open_cache
from flowfn.caching.entries import encode
from flowfn.caching.keys import key_of
from flowfn.futures import Future
from flowfn.serde import DEFAULT

PROGRAM = """
import os, sys, time
from concurrent.futures import ThreadPoolExecutor
from flowfn import CacheError, task
from flowfn.caching import DiskCache, RedisCache

place, what = sys.argv[1:]
cache = RedisCache(place, lease=1.0) if "://" in place else DiskCache(place, lease=1.0)

def note(line):
    with open("computed", "a") as file:
        file.write(line + "\\n")

@task(cache=cache)
def square(x: int) -> int:
    note(str(x))
    time.sleep(0.001)
    return x * x

@task(cache=cache)
def slow(name: str) -> str:
    note(f"{what} began")
    if what == "victim":
        time.sleep(600)
    return name.upper()

if what == "race":
    print("ready", flush=True)
    sys.stdin.readline()
    def ask(start):
        return [square((start * 13 + step) % 100).result() for step in range(100)]
    with ThreadPoolExecutor(8) as pool:
        assert [sorted(found) for found in pool.map(ask, range(8))] == [[x * x for x in range(100)]] * 8
else:
    print(slow("a").result())
"""

Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def start(shared_cache: Any, tmp_path: Path, installed: Path) -> Start:
    """Start the program on the cache, in a process of its own."""
    (tmp_path / "program.py").write_text(PROGRAM)
    place = getattr(shared_cache, "url", None) or shared_cache.path

    def start(what: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "program.py", place, what],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(installed)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    return start


def computed(folder: Path) -> Counter[str]:
    return Counter((folder / "computed").read_text().split("\n")[:-1])


def test_processes_and_threads_compute_each_key_once(start: Start, tmp_path: Path) -> None:
    """Four processes of eight threads ask for a hundred keys at once: a hundred computations."""
    processes = [start("race") for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * 4
    assert computed(tmp_path) == Counter({str(x): 1 for x in range(100)})


def test_a_killed_holder_stands_in_the_way_for_one_lease(start: Start, tmp_path: Path) -> None:
    """The process that computes is killed: one of those that wait computes, and the other gets what it kept."""
    with start("victim") as victim:
        while not (tmp_path / "computed").exists():
            assert victim.poll() is None
        others = [start("heir"), start("heir")]
        victim.send_signal(signal.SIGKILL)
    for process in others:
        assert process.communicate()[0] == "A\n"
    assert computed(tmp_path) == Counter({"victim began": 1, "heir began": 1})


def test_a_long_computation_keeps_its_claim(shared_cache: Any) -> None:
    """A holder that lives renews its claim, however long it takes."""
    from flowfn.caching.claims import Claim

    shared_cache.lease = 0.15
    claim = Claim(shared_cache, "k")
    assert claim.take()
    renewed = threading.Event()
    beats = iter(range(5))
    renew = claim.renew

    def counted() -> bool:
        held = renew()
        if next(beats, None) is None:
            renewed.set()
        return held

    claim.renew = counted  # type: ignore[method-assign]
    assert renewed.wait(30)
    assert not Claim(shared_cache, "k").take()
    claim.give_back()
    other = Claim(shared_cache, "k")
    assert other.take()
    other.give_back()


def test_a_claim_of_a_shorter_lease_is_renewed_in_time(tmp_path: Path) -> None:
    """It is taken while a longer one is held, which is not due for long."""
    renewed = threading.Event()

    class Watched(DiskCache):
        def claim(self, key: str, owner: str, lease: float) -> bool:
            if self.get("taken") is not None:
                renewed.set()
            self.set("taken", b"")
            return super().claim(key, owner, lease)

    long = claims.Claim(DiskCache(tmp_path / "long", lease=1000), "a")
    short = claims.Claim(Watched(tmp_path / "short", lease=0.15), "b")
    assert long.take()
    while claims._keeper._beat != 1000:
        time.sleep(0)
    assert short.take()
    assert renewed.wait(10)
    short.give_back()
    long.give_back()


def test_threads_of_one_process() -> None:
    """In memory too: all who ask while somebody computes get what that one kept."""
    started, ran = threading.Barrier(8, timeout=30), []

    @task(cache=MemoryCache())
    def square(x: int) -> int:
        ran.append(x)
        return x * x

    def ask(_: int) -> list[int]:
        started.wait()
        return [square(x).result() for x in range(100)]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [[x * x for x in range(100)]] * 8
    assert sorted(ran) == list(range(100))


def test_calls_of_one_run(cache: Any) -> None:
    """Equal calls in parallel compute once."""
    ran = []

    @task(cache=cache)
    def square(x: int) -> int:
        ran.append(x)
        return x * x

    @entrypoint
    def workflow() -> list[int]:
        return gather(*(square(x % 5) for x in range(50))).result()

    assert workflow() == [x % 5 * (x % 5) for x in range(50)]
    assert sorted(ran) == [0, 1, 2, 3, 4]


def test_asyncio_tasks(cache: Any) -> None:
    """Coroutines that ask while one computes wait without blocking the loop."""
    ran = []

    @task(cache=cache)
    async def square(x: int) -> int:
        ran.append(x)
        await asyncio.sleep(0)
        return x * x

    @entrypoint
    async def workflow() -> list[int]:
        return list(await asyncio.gather(*(square(x % 5) for x in range(50))))

    assert asyncio.run(workflow()) == [x % 5 * (x % 5) for x in range(50)]
    assert sorted(ran) == [0, 1, 2, 3, 4]


async def test_a_cancelled_computation_passes_to_the_next(cache: Any) -> None:
    """Whoever computes is cancelled: one of those who wait computes."""
    began, ran = asyncio.Event(), []

    @task(cache=cache)
    async def slow(x: int) -> int:
        ran.append(x)
        if len(ran) == 1:
            began.set()
            await asyncio.Event().wait()
        return x * x

    async def ask() -> int:
        return await slow(3)

    first = asyncio.create_task(ask())
    await began.wait()
    second = asyncio.create_task(ask())
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 9
    assert ran == [3, 3]


async def test_a_computation_that_is_cancelled_as_it_leaves_passes_to_the_next(tmp_path: Path) -> None:
    """It had failed, and was giving its claim back, which takes a while."""
    leaving, left, ran = threading.Event(), threading.Event(), []

    class Slow(DiskCache):
        def release(self, key: str, owner: str) -> None:
            leaving.set()
            left.wait()
            super().release(key, owner)

    @task(cache=Slow(tmp_path / "cache"))
    async def failing(x: int) -> int:
        ran.append(x)
        if len(ran) == 1:
            raise ValueError("not yet")
        return x * x

    async def ask() -> int:
        return await failing(3)

    first = asyncio.create_task(ask())
    await asyncio.to_thread(leaving.wait)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    left.set()
    assert await ask() == 9


def test_who_waits_may_be_cancelled_at_the_very_moment_when_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its cancellation comes too late then, and whoever tells it goes on to the others."""
    cache = MemoryCache()
    leader = claims.Queue()
    assert claims.join(cache, "key", leader) is None
    waiting = [claims.join(cache, "key", claims.Queue()) for _ in range(2)]
    settle = Future.set_result

    def cancelled_first(future: Future[None], value: None) -> None:
        future.cancel()
        settle(future, value)

    monkeypatch.setattr(Future, "set_result", cancelled_first)
    claims.leave(cache, "key", leader)
    assert all(future is not None and future.done() for future in waiting)


def test_who_waits_asks_again_once_who_computes_is_gone() -> None:
    """Ctrl-C may come between all that would have told them."""
    cache = MemoryCache()
    leader = claims.Queue()
    assert claims.join(cache, "key", leader) is None
    waiting = claims.join(cache, "key", claims.Queue())
    assert waiting is not None
    del leader
    assert waiting.result(timeout=10) is None
    next_one = claims.Queue()
    assert claims.join(cache, "key", next_one) is None
    claims.leave(cache, "key", next_one)


def test_after_an_error_the_next_computes(cache: Any) -> None:
    """An error is its own caller's: those who waited compute one after another until one succeeds."""
    ran, together = [], threading.Barrier(4, timeout=30)

    @task(cache=cache)
    def failing(x: int) -> int:
        ran.append(x)
        if len(ran) < 3:
            raise ValueError("not yet")
        return x

    def ask(_: int) -> int | str:
        together.wait()
        try:
            return failing(7).result()
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(map(str, pool.map(ask, range(4)))) == ["7", "7", "not yet", "not yet"]
    assert ran == [7, 7, 7]


def test_a_task_that_calls_itself_alike(cache: Any) -> None:
    """A call from within the very computation that it would wait for computes, rather than wait for ever."""
    depth = []

    @task(cache=cache)
    def again(x: int) -> int:
        depth.append(x)
        return x if len(depth) > 2 else again(x).result() + 1

    @entrypoint
    def workflow() -> int:
        return again(5).result()

    assert workflow() == 7


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_computes_for_itself() -> None:
    """A child that is forked while its parent computes waits for nobody that doesn't exist there."""
    cache, inside = MemoryCache(), threading.Event()
    leave = threading.Event()

    @task(cache=cache, cache_policy=CachePolicy(key=lambda wait: "one"))
    def held(wait: bool) -> str:
        if wait:
            inside.set()
            leave.wait(30)
        return "done"

    holder = threading.Thread(target=held, args=(True,))
    holder.start()
    assert inside.wait(30)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if held(False).result() == "done" else 1)
    _, status = os.waitpid(pid, 0)
    leave.set()
    holder.join()
    assert status == 0


def test_the_same_folder_is_one_cache(tmp_path: Path) -> None:
    """Two tasks that name one folder share what it keeps in this process, and its queue."""
    assert open_cache(tmp_path / "c") is open_cache(str(tmp_path / "c"))


def test_who_was_stopped_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its claim has lapsed, another process has kept a result, and others have used it; its caller gets its own."""
    cache = DiskCache(tmp_path / "cache", lease=1000)
    stopped = time.monotonic() + 2000
    seen: list[str] = []

    @task(cache=cache)
    def fetch(x: int) -> str:
        if seen:
            return "never"
        monkeypatch.setattr(time, "monotonic", lambda: stopped)
        key = key_of(fetch._self_definition, (x,), {})
        cache.set(key.text, encode(key.text, DEFAULT.dumps("the other's"), time.time(), key.made))
        return "mine"

    seen.append(fetch(1).result())
    assert [*seen, fetch(1).result()] == ["mine", "the other's"]


def test_a_claim_whose_taking_is_interrupted_is_given_back(
    shared_cache: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C came as it was taken; it was renewed for as long as the process lived."""
    take, taken = claims.Claim.take, list[claims.Claim]()

    def interrupted(self: claims.Claim) -> bool:
        take(self)
        taken.append(self)
        raise KeyboardInterrupt

    @task(cache=shared_cache)
    def double(x: int) -> int:
        return 2 * x

    with monkeypatch.context() as patched:
        patched.setattr(claims.Claim, "take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            double(21).result()
    assert claims.Claim(shared_cache, taken[0].key).take()
