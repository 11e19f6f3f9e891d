"""The workflows that are measured, each written once for every subject, and how a sample of one is timed."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.peers import Api, Storage

Program = Callable[[Api, Any], Any]
"""Defines a workflow with a subject's decorators, on a saver."""


def chain(api: Api, saver: Any) -> Any:
    """Tasks one after the other, each given the result of the one before."""

    @api.task
    def step(number: int) -> int:
        return number + 1

    @api.entrypoint(checkpointer=saver)
    def workflow(size: int) -> int:
        number = 0
        for _ in range(size):
            number = step(number).result()
        return number

    return workflow


def fan(api: Api, saver: Any) -> Any:
    """All tasks at once, then their sum."""

    @api.task
    def step(number: int) -> int:
        return number

    @api.entrypoint(checkpointer=saver)
    def workflow(size: int) -> int:
        futures = [step(number) for number in range(size)]
        return sum(future.result() for future in futures)

    return workflow


def afan(api: Api, saver: Any) -> Any:
    """As `fan`, in asyncio."""

    @api.task
    async def step(number: int) -> int:
        return number

    @api.entrypoint(checkpointer=saver)
    async def workflow(size: int) -> int:
        return sum(await asyncio.gather(*[step(number) for number in range(size)]))

    return workflow


def athree(api: Api, saver: Any) -> Any:
    """Three tasks one after the other, in asyncio."""

    @api.task
    async def step(number: int) -> int:
        return number + 1

    @api.entrypoint(checkpointer=saver)
    async def workflow(number: int) -> int:
        for _ in range(3):
            number = await step(number)
        return number

    return workflow


def chain_that_asks(api: Api, saver: Any) -> Any:
    """As `chain`, then a question whose answer is added."""

    @api.task
    def step(number: int) -> int:
        return number + 1

    @api.entrypoint(checkpointer=saver)
    def workflow(size: int) -> int:
        number = 0
        for _ in range(size):
            number = step(number).result()
        return number + int(api.interrupt("add what?"))

    return workflow


def config() -> dict[str, Any]:
    """The config of a new thread."""
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


def timed(call: Callable[[], Any], expected: Any) -> float:
    """Seconds that a call takes. A wrong result is an error: what isn't right isn't fast."""
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    check(result, expected)
    return seconds


async def atimed(call: Callable[[], Awaitable[Any]], expected: Any) -> float:
    """As `timed`, for a coroutine function."""
    start = time.perf_counter()
    result = await call()
    seconds = time.perf_counter() - start
    check(result, expected)
    return seconds


def check(result: Any, expected: Any) -> None:
    if result != expected:
        raise AssertionError(f"gave {result!r} where {expected!r} is right")


def invoke(program: Program, api: Api, storage: Storage, path: Path, size: int, expected: int) -> float:
    """Seconds of one blocking run of a program, without the definition and the opening of the saver."""
    with storage.open(path) as saver:
        workflow = program(api, saver)
        return timed(lambda: workflow.invoke(size, config(), **storage.options), expected)


def ainvoke(program: Program, api: Api, storage: Storage, path: Path, size: int, expected: int) -> float:
    """As `invoke`, on an event loop."""

    async def run() -> float:
        async with storage.aopen(path) as saver:
            workflow = program(api, saver)
            return await atimed(lambda: workflow.ainvoke(size, config(), **storage.options), expected)

    return asyncio.run(run())
