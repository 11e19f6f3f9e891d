"""W3: resuming a workflow that has recorded many calls, from a file, in ms."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import floor, peers
from benchmarks.harness import Case
from benchmarks.peers import Api, Storage
from benchmarks.programs import chain_that_asks, config, timed

WORKLOAD = "W3 resume, all calls recorded"
UNIT = "ms"


def cases() -> Iterator[Case]:
    """On SQLite: first the floor, then the subjects."""
    survives = "process death"
    yield Case(WORKLOAD, peers.PROCESS, "floor", UNIT, survives, raw)
    for api in peers.subjects():
        given = api.storages.get(peers.PROCESS)
        sample = partial(run, api, given) if given else None
        yield Case(WORKLOAD, peers.PROCESS, api.name, UNIT, given.survives if given else "", sample)


def run(api: Api, storage: Storage, directory: Path, size: int) -> float:
    """Run up to the question, close all, open the file again, and time the answer to the end."""
    path, thread = directory / "runs.db", config()
    with storage.open(path) as saver:
        chain_that_asks(api, saver).invoke(size, thread, **storage.options)
    with storage.open(path) as saver:
        workflow = chain_that_asks(api, saver)
        answer = api.command(resume=1)
        return timed(lambda: workflow.invoke(answer, thread, **storage.options), size + 1) * 1e3


def raw(directory: Path, size: int) -> float:
    """One fetch of all rows."""
    path = directory / "runs.db"
    with floor.database(path, "NORMAL") as connection:
        floor.commit(connection, [b"%d" % number for number in range(size)])
    with floor.database(path, "NORMAL") as connection:
        query = "SELECT id, value FROM record ORDER BY id"
        return timed(lambda: len(connection.execute(query).fetchall()), size) * 1e3
