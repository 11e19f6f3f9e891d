"""DBOS, in processes of its own: of this Python if it has DBOS, else of the one that `FLOWFN_DBOS=PYTHON` names."""

import importlib.util
import os
import sqlite3
import sys
from functools import partial
from pathlib import Path

from benchmarks import floor, peers, postgres
from benchmarks.floor import Sample
from benchmarks.harness import Case, elsewhere

NAME = "DBOS"
STORAGES = (peers.PROCESS, peers.POWER, peers.POSTGRES)


def available() -> bool:
    """Whether some Python has DBOS."""
    return bool(os.environ.get("FLOWFN_DBOS")) or importlib.util.find_spec("dbos") is not None


def case(workload: str, storage: str, unit: str, sample: Sample, rounds: int | None = None) -> Case:
    """DBOS's line of a workload. It has none without a database."""
    if storage not in STORAGES:
        return Case(workload, storage, NAME, unit, "", None)
    usable = available() and peers.usable(storage) and (storage == peers.POSTGRES or _sqlite_will_do())
    given = partial(sample, storage) if usable else None
    return Case(workload, storage, NAME, unit, peers.SURVIVES[storage], given, rounds=rounds)


def _sqlite_will_do() -> bool:
    """Whether DBOS finds the SQLite that it takes for granted since Python 3.12: one with `unixepoch('subsec')`."""
    other = bool(os.environ.get("FLOWFN_DBOS"))
    return other or sys.version_info < (3, 12) or sqlite3.sqlite_version_info >= (3, 42)


def each(program: str) -> Sample:
    """A program that does something `size` times, in µs for each."""
    return lambda storage, directory, size: run(program, storage, directory, size) / size * 1e6


def resumed(times: int) -> Sample:
    """A workflow of `times` as many steps as the run's size, killed at its end: what replaying it takes, in ms."""

    def sample(storage: str, directory: Path, size: int) -> float:
        run("begin", storage, directory, times * size)
        return run("resume", storage, directory, times * size) * 1e3

    return sample


def run(program: str, storage: str, directory: Path, size: int, database: str = "") -> float:
    """Seconds that a program took. On Postgres in the database given, else in one that is dropped afterwards."""
    if storage == peers.POSTGRES and not database:
        with postgres.fresh() as made:
            return run(program, storage, directory, size, made)
    url = database or f"sqlite:///{directory / 'dbos.db'}"
    synchronous = floor.SYNCHRONOUS.get(storage, "")
    interpreter = os.environ.get("FLOWFN_DBOS")
    said = elsewhere("benchmarks.dbos_programs", program, url, synchronous, str(size), python=interpreter)
    return float(said or 0)
