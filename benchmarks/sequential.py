"""W1: tasks one after the other, in µs per task."""

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import dbos, floor, peers, postgres
from benchmarks.harness import Case
from benchmarks.peers import Api, Storage
from benchmarks.programs import chain, invoke, timed

WORKLOAD = "W1 sequential tasks"
UNIT = "µs/task"


def cases() -> Iterator[Case]:
    """Every storage: first the floor, then the subjects."""
    for storage in (peers.NONE, peers.MEMORY, peers.PROCESS, peers.POWER, peers.POSTGRES):
        yield floor.case(WORKLOAD, storage, UNIT, raw)
        for api in peers.subjects():
            yield api.case(WORKLOAD, storage, UNIT, run)
        yield dbos.case(WORKLOAD, storage, UNIT, dbos.each("chain"))


def run(api: Api, storage: Storage, directory: Path, size: int) -> float:
    return invoke(chain, api, storage, directory / "runs.db", size, size) / size * 1e6


def raw(storage: str, directory: Path, size: int) -> float:
    """A function call, and where there is a storage, a dict entry or one committed row after it."""
    if storage == peers.NONE:
        return timed(lambda: calls(size), size) / size * 1e6
    if storage == peers.MEMORY:
        return timed(lambda: entries(size), size) / size * 1e6
    if storage == peers.POSTGRES:
        with postgres.database() as connection:
            return rows(lambda value: postgres.commit(connection, [value]), size) / size * 1e6
    with floor.database(directory / "runs.db", floor.SYNCHRONOUS[storage]) as connection:
        return rows(lambda value: floor.commit(connection, [value]), size) / size * 1e6


def step(number: int) -> int:
    return number + 1


def calls(size: int) -> int:
    number = 0
    for _ in range(size):
        number = step(number)
    return number


def entries(size: int) -> int:
    number, kept = 0, {}
    for key in range(size):
        kept[key] = number = step(number)
    return len(kept)


def rows(commit: Callable[[bytes], None], size: int) -> float:
    """Seconds for one committed row per call."""

    def go() -> int:
        number = 0
        for _ in range(size):
            number = step(number)
            commit(b"%d" % number)
        return number

    return timed(go, size)
