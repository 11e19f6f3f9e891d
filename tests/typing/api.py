"""What a type checker sees of the public API: checked by mypy --strict and pyright, never run.

A call that must be a type error carries `type: ignore[code]`: mypy says so where one is not needed, so
that a promise of an error that no longer comes fails too. pyright counts the same comments.
"""

import asyncio
import concurrent.futures
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, assert_type

from checkpointers import MemorySaver, SqliteSaver
from flowfn import (
    CachePolicy,
    Command,
    Entrypoint,
    Future,
    Interrupt,
    Report,
    RetryPolicy,
    Runtime,
    Send,
    StateSnapshot,
    Task,
    Thread,
    as_completed,
    current,
    entrypoint,
    gather,
    interrupt,
    task,
)
from flowfn.functional.final import final

assert_type(Interrupt("publish?", id="i1").key, str | None)
assert_type(Send("node", {"x": 1}).timeout, float | None)
assert_type(Command[str](resume="yes").resume, Any)
assert_type(current(), Runtime)

# -- tasks: a call gives Future[R], and takes what the function takes ------------------------------


@task
def double(x: int, *, times: int = 2) -> int:
    return times * x


@task
async def fetch(url: str) -> bytes:
    return url.encode()


@task(name="get", retry_policy=RetryPolicy(max_attempts=3), cache_policy=CachePolicy(ttl=60), timeout=3)
def get(url: str) -> dict[str, int]:
    return {url: 1}


@task(retry_policy=[RetryPolicy()], key="url", ignore=["client"])
async def aget(url: str, client: object) -> list[str]:
    return [url]


@task(timeout=3)
def later(url: str) -> Awaitable[bytes]:
    return fetch(url)


@task
def count(n: int) -> Iterator[int]:
    yield from range(n)


@task
async def acount(n: int) -> AsyncIterator[int]:
    for i in range(n):
        yield i


assert_type(double(1), Future[int])
assert_type(double(1, times=3), Future[int])
assert_type(double(1).result(), int)
assert_type(double(1).exception(), BaseException | None)
assert_type(fetch("u"), Future[bytes])
assert_type(get("u"), Future[dict[str, int]])
assert_type(aget("u", object()), Future[list[str]])
assert_type(later("u"), Future[bytes])
assert_type(count(3).result(), list[int])
assert_type(acount(3).result(), list[int])
assert_type(double.map([1, 2]), list[Future[int]])
assert_type(double.with_options(timeout=3)(1), Future[int])
assert_type(task(partial(int, base=2))("11"), Future[int])
assert_type(gather(double(1), double(2)).result(), list[int])
assert_type(gather(double(x) for x in range(3)).result(), list[int])
real: concurrent.futures.Future[int] = double(1)
for ended in as_completed([double(1)]):
    assert_type(ended, Future[int])

double("one")  # type: ignore[arg-type]
double()  # type: ignore[call-arg]
double(1, twice=True)  # type: ignore[call-arg]
double(1, 2)  # type: ignore[call-arg]
double.func("one")  # type: ignore[arg-type]
fetch(1)  # type: ignore[arg-type]
task(3)  # type: ignore[call-overload]
task(timeout="soon")  # type: ignore[call-overload]


async def awaits() -> None:
    assert_type(await double(1), int)
    assert_type(await fetch("u"), bytes)
    assert_type(await gather(fetch("a"), fetch("b")), list[bytes])
    assert_type(await asyncio.gather(fetch("a"), double(1)), tuple[bytes, int])


class Shop:
    @task
    def method(self, x: int) -> str:
        return str(x)

    @task
    async def amethod(self, x: int) -> str:
        return str(x)

    @task(timeout=3)
    def optioned(self, x: int) -> str:
        return str(x)

    @staticmethod
    @task
    def static(x: int) -> str:
        return str(x)


assert_type(Shop().method(1), Future[str])
assert_type(Shop().amethod(1), Future[str])
assert_type(Shop().optioned(1), Future[str])
assert_type(Shop.static(1), Future[str])
assert_type(Shop().method.map([1]), list[Future[str]])
Shop().method("one")  # type: ignore[arg-type]
Shop().method()  # type: ignore[call-arg]

# -- entrypoints: called as the function, and a workflow besides -----------------------------------


@entrypoint
def plain(x: int, *names: str, flag: bool = False) -> float:
    return x + len(names) + flag


@entrypoint(checkpointer=MemorySaver(), retry_policy=RetryPolicy(), durability="exit", on_busy="reject")
def kept(x: int) -> str:
    return str(x)


@entrypoint(checkpointer=SqliteSaver("runs.db"))
async def awaited(x: int) -> str:
    return str(x)


@entrypoint(checkpointer="runs.db")
def saving(x: int) -> final[str, int]:
    return entrypoint.final(value=str(x), save=x)


@entrypoint(checkpointer="runs.db")
async def asaving(x: int) -> final[str, int]:
    return entrypoint.final(value=str(x), save=x)


@entrypoint
def saving_plainly(x: int) -> entrypoint.final[str, int]:
    return entrypoint.final(value=str(x), save=x)


@entrypoint(checkpointer="runs.db")
def remembering(x: int, *, previous: list[int] | None = None) -> list[int]:
    return [*(previous or []), x]


assert_type(plain(1, "a", flag=True), float)
assert_type(kept(1), str)
assert_type(saving(1), str)
assert_type(saving_plainly(1), str)
assert_type(remembering(1), list[int])
assert_type(kept.get_state(thread_id="t"), StateSnapshot)
assert_type(kept.get_state_history(thread_id="t"), Iterator[StateSnapshot])
assert_type(kept.thread("t").state, StateSnapshot)
assert_type(kept.thread("t").report, Report)
assert_type(kept.thread("t")(1), str)
assert_type(kept.thread("t").once(1), str)
assert_type(saving.thread("t")(1), str)
assert_type(interrupt("sure?"), Any)
function: Callable[[int], str] = kept
kept_final: entrypoint.final[str, int] = final("a", 1)


class Desk:
    @entrypoint
    def opens(self, x: int) -> str:
        return str(x)

    @entrypoint(checkpointer="runs.db")
    async def aopens(self, x: int) -> str:
        return str(x)


assert_type(Desk().opens(1), str)
assert_type(Desk().opens.thread("t")(1), str)
Desk().opens("one")  # type: ignore[arg-type]

plain("one")  # type: ignore[arg-type]
plain()  # type: ignore[call-arg]
plain(1, 2)  # type: ignore[arg-type]
plain(1, flag="yes")  # type: ignore[arg-type]
kept.thread("t")("one")  # type: ignore[arg-type]
kept.thread("t").once("one")  # type: ignore[arg-type]
entrypoint(checkpointer="runs.db", durability="never")  # type: ignore[call-overload]
entrypoint(on_busy="shrug")  # type: ignore[call-overload]


async def awaits_workflows() -> None:
    assert_type(await awaited(1), str)
    assert_type(await asaving(1), str)
    assert_type(await awaited.thread("t")(1), str)
    assert_type(await awaited.thread("t").once(1), str)
    assert_type(await Desk().aopens(1), str)
    assert_type(await kept.aget_state(thread_id="t"), StateSnapshot)
    await awaited("one")  # type: ignore[arg-type]


def takes(a: Task[..., Any], b: Entrypoint[..., Any], c: Thread[..., Any]) -> Sequence[object]:
    return [a, b, c]


takes(double, kept, kept.thread("t"))
takes(kept, double, kept)  # type: ignore[arg-type]


# -- names: one that a package doesn't have is a type error, also where it imports the others when they are first used


def misspelt() -> Sequence[object]:
    import checkpointers.foreign
    import flowfn.caching
    import flowfn.executors
    import flowfn.stores

    return [
        checkpointers.SqliteSavor,  # type: ignore[attr-defined]
        checkpointers.foreign.ForeignSavor,  # type: ignore[attr-defined]
        flowfn.caching.DiskCash,  # type: ignore[attr-defined]
        flowfn.executors.ProcesExecutor,  # type: ignore[attr-defined]
        flowfn.stores.BasicStore,  # type: ignore[attr-defined]
    ]
