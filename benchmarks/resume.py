"""W3: resuming a workflow that has recorded many calls, from a file, in ms."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import dbos, floor, peers
from benchmarks.harness import Case
from benchmarks.peers import Api, Storage
from benchmarks.programs import chain_that_asks, config, timed

UNIT = "ms"
SIZES = {"W3 resume, all calls recorded": 1, "W3 resume, ten times as many": 10}
"""How many calls, in runs' sizes: a resume that isn't linear shows in the second."""
LARGE = 2
"""Rounds of the second, whose recording takes half a minute for some."""


def cases() -> Iterator[Case]:
    """On SQLite: first the floor, then the subjects."""
    storage = peers.PROCESS
    for workload, times in SIZES.items():
        rounds = None if times == 1 else LARGE
        yield floor.case(workload, storage, UNIT, partial(raw, times), rounds)
        for api in peers.subjects():
            yield api.case(workload, storage, UNIT, partial(run, times), rounds)
        yield dbos.case(workload, storage, UNIT, dbos.resumed(times), rounds=rounds)


def run(times: int, api: Api, storage: Storage, directory: Path, size: int) -> float:
    """Run up to the question, close all, open the file again, and time the answer to the end."""
    path, thread, size = directory / "runs.db", config(), times * size
    with storage.open(path) as saver:
        chain_that_asks(api, saver).invoke(size, thread, **storage.options)
    with storage.open(path) as saver:
        workflow = chain_that_asks(api, saver)
        answer = api.command(resume=1)
        return timed(lambda: workflow.invoke(answer, thread, **storage.options), size + 1) * 1e3


def raw(times: int, storage: str, directory: Path, size: int) -> float:
    """One fetch of all rows."""
    path, size = directory / "runs.db", times * size
    with floor.database(path, floor.SYNCHRONOUS[storage]) as connection:
        floor.commit(connection, [b"%d" % number for number in range(size)])
    with floor.database(path, floor.SYNCHRONOUS[storage]) as connection:
        query = "SELECT id, value FROM record ORDER BY id"
        return timed(lambda: len(connection.execute(query).fetchall()), size) * 1e3
