"""W9: a chat whose state is all that was said, two messages of 1 KB a turn: what an early and a late turn take, and the
bytes on disk after the late one.

The same function for all: it gets the conversation as `previous`, and returns it with two messages more. DBOS has no
state between runs; there a turn reads the conversation from the runs of earlier turns.
"""

import contextlib
import random
import sqlite3
import statistics
import string
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import dbos, floor, peers, postgres
from benchmarks.harness import Case
from benchmarks.peers import Api, Storage

EARLY, LATE, BYTES = "W9 chat, turn 10", "W9 chat, turn 200", "W9 chat, bytes after it"
UNITS = {EARLY: "ms", LATE: "ms", BYTES: "MB"}
LETTERS = string.ascii_letters + " "
MEASURED = 5
"""Turns at the end whose median is the figure."""
ROUNDS = 3

Turn = Callable[[str], list[Any]]


def cases() -> Iterator[Case]:
    """On SQLite and Postgres: first the floor, then the subjects."""
    for workload, unit in UNITS.items():
        for storage in (peers.PROCESS, peers.POSTGRES):
            yield floor.case(workload, storage, unit, partial(raw, workload), ROUNDS)
            for api in peers.subjects():
                yield api.case(workload, storage, unit, partial(run, workload, storage), ROUNDS)
            yield dbos.case(workload, storage, unit, partial(in_dbos, workload), rounds=ROUNDS)


def turns(workload: str, size: int) -> int:
    """How many there are: a fifth of the run's size, or ten."""
    return 2 * MEASURED if workload == EARLY else max(size // 5, 2 * MEASURED)


def said(length: int = 1000) -> str:
    """A message that doesn't compress into nothing."""
    return "".join(random.choices(LETTERS, k=length))


def run(workload: str, storage: str, api: Api, given: Storage, directory: Path, size: int) -> float:
    """A chat, after one of a single turn, by which all is set up."""
    with place(workload, storage, directory) as figure:
        with given.open(directory / "runs.db") as saver:
            taken = talked(api, saver, given, turns(workload, size))
        return figure(taken)


def talked(api: Api, saver: Any, given: Storage, count: int) -> list[float]:
    """How long each turn takes."""

    @api.entrypoint(checkpointer=saver)
    def chat(message: str, *, previous: Any = None) -> list[Any]:
        asked = {"role": "user", "content": message}
        return [*(previous or []), asked, {"role": "assistant", "content": said()}]

    def on_new_thread(count: int) -> list[float]:
        thread = {"configurable": {"thread_id": str(uuid.uuid4())}}
        return talk(lambda message: chat.invoke(message, thread, **given.options), count)

    on_new_thread(1)
    return on_new_thread(count)


def raw(workload: str, storage: str, directory: Path, size: int) -> float:
    """A committed row for each message, and all rows read at the beginning of a turn."""
    with place(workload, storage, directory) as figure:
        with rows(storage, directory) as (connection, commit):

            def turn(message: str) -> list[Any]:
                found = [row for (row,) in connection.execute("SELECT value FROM record")]
                added = [message.encode(), said().encode()]
                commit(added)
                return found + added

            taken = talk(turn, turns(workload, size))
        return figure(taken)


@contextlib.contextmanager
def rows(storage: str, directory: Path) -> Iterator[tuple[Any, Callable[[list[bytes]], None]]]:
    """A connection to a table of records, and how to add some."""
    if storage == peers.POSTGRES:
        with postgres.database() as connection:
            yield connection, partial(postgres.commit, connection)
    else:
        with floor.database(directory / "rows.db", floor.SYNCHRONOUS[storage]) as connection:
            yield connection, partial(floor.commit, connection)


def in_dbos(workload: str, storage: str, directory: Path, size: int) -> float:
    """A workflow for each turn."""
    with place(workload, storage, directory) as figure:
        database = postgres.url() if storage == peers.POSTGRES else ""
        dbos.run("chat", storage, directory, 1, database)
        return figure([dbos.run("chat", storage, directory, turns(workload, size), database)])


@contextlib.contextmanager
def place(workload: str, storage: str, directory: Path) -> Iterator[Callable[[list[float]], float]]:
    """Where nothing is yet, and what a chat there came to whose turns took so long, all savers closed."""
    with postgres.own() if storage == peers.POSTGRES else contextlib.nullcontext():
        used = postgres.size if storage == peers.POSTGRES else partial(file_size, directory)
        yield lambda taken: used() / 1e6 if workload == BYTES else statistics.median(taken[-MEASURED:]) * 1e3


def file_size(directory: Path) -> int:
    """Bytes of SQLite's files, with nothing left in their logs."""
    for path in directory.glob("*.db"):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(path.stat().st_size for path in directory.glob("*.db"))


def talk(turn: Turn, count: int) -> list[float]:
    """How long each turn takes, in seconds."""
    taken = []
    for number in range(1, count + 1):
        message = said()
        start = time.perf_counter()
        conversation = turn(message)
        taken.append(time.perf_counter() - start)
        if len(conversation) != 2 * number:
            raise AssertionError(f"after {number} turns there are {len(conversation)} messages")
    return taken
