"""G1, G2: random programs whose processes die again and again give the answer that they give in one calm life.

Programs are made of steps: tasks that fail and are caught, that retry, that call tasks or child workflows;
fan-out by `map`, `gather`, `as_completed`, and nested tasks side by side; recorded chance and questions. Every
result differs on each computation, and every place that sees one tells the `World`, which knows what was recorded.
`FLOWFN_EXAMPLES` is how many programs are tried.
"""

from __future__ import annotations

import functools
import os
import random
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import flowfn
from flowfn import RetryPolicy, Workflow, as_completed, current, entrypoint, gather, interrupt, task
from flowfn.ports import Saver
from flowfn.testing.processes import Crash

from .crashing import Disk, Job, World, answer_to

EXAMPLES = int(os.environ.get("FLOWFN_EXAMPLES", "60"))
DEATHS = 4
AT_ONCE = RetryPolicy(initial_interval=0, jitter=False)

Step = tuple[str, tuple[Any, ...]]
"""A kind of step, and the steps that are nested in it."""

FLAT = ("call", "call", "caught", "fallback", "retried", "map", "gather", "as_completed", "chance", "ask")
NESTING = ("nested", "child", "branches", "branches")


def steps(choose: random.Random, depth: int = 0) -> tuple[Step, ...]:
    """A random program."""
    kinds = FLAT + (NESTING if depth < 2 else ())
    chosen = [choose.choice(kinds) for _ in range(choose.randint(1, 2 if depth else 4))]
    return tuple((kind, steps(choose, depth + 1) if kind in NESTING else ()) for kind in chosen)


def build(program: tuple[Step, ...], colour: str, world: World, saver: Saver) -> Workflow[Any, Any]:
    """The program as a workflow of that colour."""

    def coloured(function: Callable[..., Any]) -> Any:
        if colour == "async":
            return function

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            try:
                function(*args, **kwargs).send(None)
            except StopIteration as stop:
                return stop.value

        return plain

    async def value(future: Any) -> Any:
        return await future if colour == "async" else future.result()

    async def each_completed(futures: list[Any]) -> list[Any]:
        if colour == "async":
            return [future.result() async for future in as_completed(futures)]
        return [future.result() for future in as_completed(futures)]

    async def made(at: str) -> str:
        world.runs(at)
        return f"{at} {uuid.uuid4().hex}"

    @task
    @coloured
    async def call(at: str) -> str:
        return await made(at)

    @task
    @coloured
    async def fail(at: str) -> None:
        raise ValueError(await made(at))

    @task(retry_policy=AT_ONCE)
    @coloured
    async def retried(at: str) -> str:
        result = await made(at)
        await seen(f"{at}/inside", call(f"{at}/inside"))
        if current().attempt == 1:
            raise ConnectionError(at)
        return result

    @task
    @coloured
    async def nested(at: str, inner: tuple[Step, ...]) -> str:
        result = await made(at)
        await walk(inner, at)
        return result

    @entrypoint
    @coloured
    async def child(at: str, inner: tuple[Step, ...]) -> str:
        await walk(inner, at)
        return f"{at} {uuid.uuid4().hex}"

    async def seen(at: str, future: Any) -> str:
        """What is not chance in a result that code gets."""
        result: str = world.sees(at, await value(future))
        return result.partition(" ")[0]

    async def caught(at: str) -> tuple[str, ...]:
        """An error is part of what happened once the code has gone on after it, on record."""
        try:
            await value(fail(at))
        except ValueError as error:
            after = await seen(f"{at}/after", call(f"{at}/after"))
            world.sees(at, error.args)
        return (after,)

    async def one(kind: str, inner: tuple[Step, ...], at: str) -> Any:
        places = [f"{at}/{number}" for number in range(3)]
        match kind:
            case "call" | "retried":
                return await seen(at, (call if kind == "call" else retried)(at))
            case "caught":
                return await caught(at)
            case "fallback":
                with suppress(ValueError):
                    await value(fail(at))
                return await caught(f"{at}/second")
            case "map":
                return [await seen(*each) for each in zip(places, call.map(places), strict=True)]
            case "gather":
                results = await value(gather(call(place) for place in places))
                return [world.sees(*each).partition(" ")[0] for each in zip(places, results, strict=True)]
            case "as_completed":
                results = await each_completed([call(place) for place in places])
                return sorted(
                    world.sees(f"{at}/{nth}th", result).partition(" ")[0]
                    for nth, result in enumerate(results)
                )
            case "chance":
                world.sees(at, [flowfn.uuid4(), flowfn.now(), flowfn.random()])
                return None
            case "ask":
                assert interrupt(at) == answer_to(at)
                return None
            case "nested":
                return await seen(at, nested(at, inner))
            case "child":
                result = child(at, inner)
                return world.sees(at, await result if colour == "async" else result).partition(" ")[0]
            case _:
                futures = [nested(f"{at}/{number}", (step,)) for number, step in enumerate(inner * 2)]
                return [await seen(f"{at}/{number}", future) for number, future in enumerate(futures)]

    async def walk(inner: tuple[Step, ...], at: str) -> list[Any]:
        return [await one(kind, more, f"{at}.{place}") for place, (kind, more) in enumerate(inner)]

    @entrypoint(checkpointer=saver)
    @coloured
    async def flow(n: int) -> list[Any]:
        return await walk(program, "flow")

    return flow  # type: ignore[no-any-return]


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("hasty")
def test_a_program_that_dies_again_and_again_gives_the_calm_answer(tmp_path: Path) -> None:
    """G1, G2: what was recorded is never computed again, and each place sees what it saw before."""
    for seed in range(EXAMPLES):
        choose = random.Random(seed)
        program, colour = steps(choose), choose.choice(["sync", "async"])
        caller = "ainvoke" if colour == "async" else choose.choice(["invoke", "ainvoke", "call"])
        made = partial(build, program, colour)
        calm = Job(Disk(None), caller, made, 0).run()  # type: ignore[arg-type]
        home = tmp_path / str(seed)
        home.mkdir()
        job = Job(Disk(home if choose.random() < 0.1 else None), caller, made, 0)  # type: ignore[arg-type]
        answer = lived(job, choose)
        assert (answer, job.world.violations) == (calm, []), f"seed {seed}: {program}"


def lived(job: Job, choose: random.Random) -> Any:
    """The answer of a job whose first processes die."""
    for _ in range(DEATHS):
        with suppress(Crash):
            return job.run(dies_at=choose.randint(2, 40), when=choose.choice(["before", "after"]))
    return job.run()


def test_what_is_not_the_same_after_a_crash_is_noticed() -> None:
    """The test above can fail: chance that nobody records is another one in the next life."""

    def forgetful(world: World, saver: Saver) -> Workflow[Any, Any]:
        @task
        def call() -> None: ...

        @entrypoint(checkpointer=saver)
        def flow(n: int) -> None:
            world.sees("id", uuid.uuid4())
            call().result()

        return flow

    job = Job(Disk(None), "invoke", forgetful, 0)
    with pytest.raises(Crash):
        job.run(dies_at=5)
    job.run()
    assert job.world.violations
