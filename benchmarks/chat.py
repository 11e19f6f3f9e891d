"""W9: a chat whose state is all that was said, two messages of 1 KB a turn: what its last turns take, and its file.

The same function for all: it gets the conversation as `previous`, and returns it with two messages more.
"""

import random
import statistics
import string
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import floor, peers
from benchmarks.harness import Case
from benchmarks.peers import Api, Storage

TIME, BYTES = "W9 chat, a late turn", "W9 chat, its file"
UNITS = {TIME: "ms", BYTES: "MB"}
LETTERS = string.ascii_letters + " "
MEASURED = 5
"""Turns at the end whose median is the figure."""

Turn = Callable[[str], list[Any]]


def cases() -> Iterator[Case]:
    """The time of a late turn, then the bytes on disk: first the floor, then the subjects."""
    for workload, unit in UNITS.items():
        yield Case(workload, peers.PROCESS, "floor", unit, "process death", partial(raw, workload))
        for api in peers.subjects():
            given = api.storages.get(peers.PROCESS)
            sample = None if given is None else partial(run, workload, api, given)
            survives = "" if given is None else given.survives
            yield Case(workload, peers.PROCESS, api.name, unit, survives, sample)


def turns(size: int) -> int:
    return max(size // 5, 2 * MEASURED)


def said(length: int = 1000) -> str:
    """A message that doesn't compress into nothing."""
    return "".join(random.choices(LETTERS, k=length))


def run(workload: str, api: Api, storage: Storage, directory: Path, size: int) -> float:
    """A chat of `size / 5` turns."""
    thread = {"configurable": {"thread_id": str(uuid.uuid4())}}
    with storage.open(directory / "runs.db") as saver:

        @api.entrypoint(checkpointer=saver)
        def chat(message: str, *, previous: Any = None) -> list[Any]:
            asked = {"role": "user", "content": message}
            return [*(previous or []), asked, {"role": "assistant", "content": said()}]

        taken = talk(lambda message: chat.invoke(message, thread, **storage.options), turns(size))
    return figure(workload, taken, directory)


def raw(workload: str, directory: Path, size: int) -> float:
    """A committed row for each turn, and all rows read at its beginning."""
    with floor.database(directory / "runs.db", floor.SYNCHRONOUS[peers.PROCESS]) as connection:

        def turn(message: str) -> list[Any]:
            found = [row for (row,) in connection.execute("SELECT value FROM record")]
            rows = [message.encode(), said().encode()]
            floor.commit(connection, rows)
            return found + rows

        taken = talk(turn, turns(size))
    return figure(workload, taken, directory)


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


def figure(workload: str, taken: list[float], directory: Path) -> float:
    if workload == TIME:
        return statistics.median(taken[-MEASURED:]) * 1e3
    return sum(path.stat().st_size for path in directory.iterdir()) / 1e6
