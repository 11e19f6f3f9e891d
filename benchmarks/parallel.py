"""W2: tasks all at once, blocking and asyncio, in µs per task."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks import dbos, floor, peers, postgres
from benchmarks.harness import Case
from benchmarks.peers import Api, Storage
from benchmarks.programs import afan, ainvoke, atimed, fan, invoke, timed

BLOCKING, ASYNCIO = "W2 parallel tasks, blocking", "W2 parallel tasks, asyncio"
UNIT = "µs/task"


def cases() -> Iterator[Case]:
    """Without storage, on SQLite and on Postgres: first the floor, then the subjects."""
    for workload in (BLOCKING, ASYNCIO):
        for storage in (peers.NONE, peers.PROCESS, peers.POSTGRES):
            yield floor.case(workload, storage, UNIT, partial(raw, workload))
            for api in peers.subjects():
                yield api.case(workload, storage, UNIT, partial(run, workload))
            yield dbos.case(workload, storage, UNIT, dbos.each("fan" if workload == BLOCKING else "afan"))


def run(workload: str, api: Api, storage: Storage, directory: Path, size: int) -> float:
    path, expected = directory / "runs.db", sum(range(size))
    if workload == BLOCKING:
        return invoke(fan, api, storage, path, size, expected) / size * 1e6
    return ainvoke(afan, api, storage, path, size, expected) / size * 1e6


def raw(workload: str, storage: str, directory: Path, size: int) -> float:
    """A thread hop or a gathered coroutine per task, and in a database one commit, or pipeline, for all that wait."""
    hops = threads if workload == BLOCKING else coroutines
    seconds = hops(size)
    values = [b"%d" % number for number in range(size)]
    if storage == peers.POSTGRES:
        with postgres.database() as connection:
            seconds += timed(lambda: postgres.commit(connection, values), None)
    elif storage != peers.NONE:
        with floor.database(directory / "runs.db", floor.SYNCHRONOUS[storage]) as connection:
            seconds += timed(lambda: floor.commit(connection, values), None)
    return seconds / size * 1e6


def step(number: int) -> int:
    return number


def threads(size: int) -> float:
    with ThreadPoolExecutor() as pool:

        def go() -> int:
            futures = [pool.submit(step, number) for number in range(size)]
            return sum(future.result() for future in futures)

        return timed(go, sum(range(size)))


def coroutines(size: int) -> float:
    async def astep(number: int) -> int:
        return number

    async def go() -> int:
        return sum(await asyncio.gather(*[astep(number) for number in range(size)]))

    return asyncio.run(atimed(go, sum(range(size))))
