"""`thread.fork(before=…)`: a new thread that is where the run was before one of its calls."""

from typing import Any

import pytest

from flowfn import InvalidInput, UnknownCall, gather

from ..worlds import World


def workflow(world: World) -> Any:
    """Fetches two pages side by side, joins them, and publishes what came of it."""

    @world.task
    async def fetch(url: str) -> str:
        world.ran.append(f"fetch {url}")
        return url.upper()

    @world.task
    async def join(pages: list[str]) -> str:
        world.ran.append("join")
        return "+".join(pages)

    @world.task
    async def publish(text: str) -> str:
        world.ran.append("publish")
        return text

    @world.entrypoint
    async def digest(urls: list[str]) -> Any:
        pages = await world.value(gather(*[fetch(url) for url in urls]))
        return await world.value(publish(await world.value(join(pages))))

    return digest


@pytest.mark.parametrize(
    ("before", "again"),
    [
        ("publish", ["publish"]),
        ("join", ["join", "publish"]),
        ("fetch#2", ["fetch b", "join", "publish"]),
        ("fetch#1", ["fetch a", "join", "publish"]),
    ],
)
def test_what_may_have_come_of_the_call_runs_anew(world: World, before: str, again: list[str]) -> None:
    """The call itself and what was called after it had ended; what ran beside it is reused."""
    digest = workflow(world)
    world.invoke(digest, ["a", "b"], thread_id="t")
    world.ran.clear()
    fork = digest.thread("t").fork(before=before, thread_id="f")
    assert fork.status == "cancelled"
    assert world.invoke(digest, None, thread_id="f") == "A+B"
    assert world.ran == again
    assert digest.thread("t").status == "done"


def test_a_call_inside_a_task(world: World) -> None:
    """The task around it runs anew too, and its other calls are reused."""

    @world.task
    async def price(item: str) -> int:
        world.ran.append(item)
        return len(item)

    @world.task
    async def total(items: list[str]) -> int:
        world.ran.append("total")
        return sum(await world.value(gather(*[price(item) for item in items])))

    @world.entrypoint
    async def order(items: list[str]) -> Any:
        return await world.value(total(items))

    world.invoke(order, ["ink", "pencil"], thread_id="t")
    world.ran.clear()
    order.thread("t").fork(before="price#1", thread_id="f")
    assert world.invoke(order, None, thread_id="f") == 9
    assert len(world.ran) == 2
    assert world.ran[0] == "total"


def test_only_the_last_run_is_looked_at(world: World) -> None:
    """A thread that was called twice is forked within its second call, and remembers the first."""

    @world.task
    async def add(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def count(x: int, *, previous: Any = None) -> Any:
        return (previous or 0) + await world.value(add(x))

    world.invoke(count, 1, thread_id="t")
    world.invoke(count, 2, thread_id="t")
    count.thread("t").fork(before="add", thread_id="f")
    assert world.invoke(count, None, thread_id="f") == 3
    assert world.ran == [1, 2, 2]


def test_calls_that_cannot_be_meant(world: World) -> None:
    """No such call, several of the name, a number beyond them; and a thread that exists already."""
    digest = workflow(world)
    world.invoke(digest, ["a", "b"], thread_id="t")
    thread = digest.thread("t")
    for name in ("nope", "fetch", "fetch#3", "fetch#0"):
        with pytest.raises(UnknownCall):
            thread.fork(before=name)
    with pytest.raises(InvalidInput, match="exists already"):
        thread.fork(thread_id="t")


def test_a_call_is_known_by_its_id(world: World) -> None:
    """The id that `flowfn show --json` prints, or how it begins."""
    digest = workflow(world)
    world.invoke(digest, ["a", "b"], thread_id="t")
    world.ran.clear()
    from flowfn.history.reading import view

    row = world.saver.thread("t")
    assert row is not None
    (join,) = [call for call in view(world.saver, row).calls if call.name == "join"]
    digest.thread("t").fork(before=join.id[:12], thread_id="f")
    world.invoke(digest, None, thread_id="f")
    assert world.ran == ["join", "publish"]
