"""W12: what a process has grown by when a run of ten times as many tasks has ended, results dropped, in MiB.

A process for each sample: `python -m benchmarks.memory SUBJECT STORAGE SIZE`.
"""

import gc
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks import floor, peers
from benchmarks.harness import Case, elsewhere
from benchmarks.peers import Api, Storage
from benchmarks.programs import config

WORKLOAD = "W12 growth over a run"
UNIT = "MiB"
ROUNDS = 3
STATUS = Path("/proc/self/statm")
"""Linux's; elsewhere nothing is measured."""


def cases() -> Iterator[Case]:
    """Without checkpointer and on SQLite: first the floor, then the subjects."""
    for storage in (peers.NONE, peers.PROCESS):
        lines = [floor.case(WORKLOAD, storage, UNIT, partial(run, "floor"), ROUNDS)]
        for api in peers.subjects():
            lines.append(api.case(WORKLOAD, storage, UNIT, partial(run_of, storage), ROUNDS))
        yield from lines if STATUS.exists() else [replace(line, sample=None) for line in lines]


def run_of(storage: str, api: Api, given: Storage, directory: Path, size: int) -> float:
    return run(api.name, storage, directory, size)


def run(subject: str, storage: str, directory: Path, size: int) -> float:
    return float(elsewhere("benchmarks.memory", subject, storage, str(10 * size)))


def resident() -> float:
    """MiB of this process in memory, what is garbage collected first."""
    gc.collect()
    return int(STATUS.read_text().split()[1]) * 4096 / 2**20


def growth(subject: str, storage: str, size: int, path: Path) -> float:
    """MiB, after a small run by which everything is loaded."""
    if subject == "floor":
        return growth_of_rows(storage, size, path)
    api = peers.subject(subject)
    given = api.storages[storage]
    with given.open(path) as saver:

        @api.task
        def step(number: int) -> int:
            return number + 1

        @api.entrypoint(checkpointer=saver)
        def workflow(size: int) -> int:
            for number in range(size):
                step(number).result()
            return size

        def invoke(size: int) -> None:
            assert workflow.invoke(size, config(), **given.options) == size

        invoke(10)
        before = resident()
        invoke(size)
        return resident() - before


def growth_of_rows(storage: str, size: int, path: Path) -> float:
    """As `growth`, of calls whose results are rows where there is a storage."""
    synchronous = floor.SYNCHRONOUS.get(storage, "OFF")
    with floor.database(path, synchronous) as connection:
        before = resident()
        for number in range(size):
            if storage != peers.NONE:
                floor.commit(connection, [b"%d" % number])
        return resident() - before


def main() -> None:
    """One sample, printed."""
    subject, storage, size = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        print(growth(subject, storage, int(size), Path(directory) / "runs.db"))


if __name__ == "__main__":
    main()
