"""W10: many workflows of three tasks at once, each on a thread of its own, in asyncio; in µs per workflow."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks import dbos, floor, peers, postgres
from benchmarks.harness import Case
from benchmarks.peers import Api, Storage
from benchmarks.programs import athree, atimed, config, timed

WORKLOAD = "W10 workflows of 3 tasks at once"
UNIT = "µs/workflow"
ROUNDS = 3


def cases() -> Iterator[Case]:
    """On SQLite and Postgres: first the floor, then the subjects."""
    for storage in (peers.PROCESS, peers.POSTGRES):
        yield floor.case(WORKLOAD, storage, UNIT, raw, ROUNDS)
        for api in peers.subjects():
            yield api.case(WORKLOAD, storage, UNIT, run, ROUNDS)
        yield dbos.case(WORKLOAD, storage, UNIT, dbos.each("many"), rounds=ROUNDS)


def run(api: Api, storage: Storage, directory: Path, size: int) -> float:
    """All on one event loop, without the definition and the opening of the saver."""

    async def together() -> float:
        async with storage.aopen(directory / "runs.db") as saver:
            workflow = athree(api, saver)

            async def call() -> int:
                runs = [workflow.ainvoke(number, config(), **storage.options) for number in range(size)]
                return sum(await asyncio.gather(*runs))

            return await atimed(call, sum(range(size)) + 3 * size)

    return asyncio.run(together()) / size * 1e6


def raw(storage: str, directory: Path, size: int) -> float:
    """For each of the three tasks, one commit, or pipeline, of a row per workflow."""
    values = [b"%d" % number for number in range(size)]
    if storage == peers.POSTGRES:
        with postgres.database() as connection:
            return timed(partial(thrice, partial(postgres.commit, connection, values)), 3) / size * 1e6
    with floor.database(directory / "runs.db", floor.SYNCHRONOUS[storage]) as connection:
        return timed(partial(thrice, partial(floor.commit, connection, values)), 3) / size * 1e6


def thrice(commit: Callable[[], None]) -> int:
    for _ in range(3):
        commit()
    return 3
