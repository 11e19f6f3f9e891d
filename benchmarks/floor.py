"""The least that the same work costs on this machine without a framework."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks import peers
from benchmarks.harness import Case

SYNCHRONOUS = {peers.PROCESS: "NORMAL", peers.POWER: "FULL"}

Sample = Callable[[str, Path, int], float]
"""A storage, an empty directory and a size to a figure."""


def case(workload: str, storage: str, unit: str, sample: Sample, rounds: int | None = None) -> Case:
    """The floor's line of a workload."""
    given = partial(sample, storage) if peers.usable(storage) else None
    return Case(workload, storage, "floor", unit, peers.SURVIVES[storage], given, rounds=rounds)


@contextmanager
def database(path: Path, synchronous: str) -> Iterator[sqlite3.Connection]:
    """A database in WAL mode with one table of records; a commit survives what `synchronous` says."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute("CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY, value BLOB)")
    try:
        yield connection
    finally:
        connection.close()


def commit(connection: sqlite3.Connection, values: Sequence[bytes]) -> None:
    """Add rows in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO record (value) VALUES (?)", [(value,) for value in values])
    connection.execute("COMMIT")
