"""The workloads as a user of DBOS writes them: `python -m benchmarks.dbos_programs PROGRAM URL SYNCHRONOUS SIZE`.

Run by a Python that has DBOS, which may have nothing else; prints the seconds that it took. A process for each
sample, because an interpreter has one DBOS.

SQLite is in WAL mode, with the `synchronous` that the row names, as it is for the others; DBOS's own default is a
rollback journal.
"""

import asyncio
import os
import random
import statistics
import string
import sys
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy
from dbos import DBOS, SetWorkflowID

LETTERS = string.ascii_letters + " "
MEASURED = 5
replayed: list[float] = []
"""When a workflow that is being resumed began, and when it had all its steps again."""


@DBOS.step()
def step(number: int) -> int:
    """A step that adds one."""
    return number + 1


@DBOS.step()
async def astep(number: int) -> int:
    """As `step`, in asyncio."""
    return number + 1


@DBOS.workflow()
def chain_workflow(size: int) -> int:
    """Steps one after the other."""
    number = 0
    for _ in range(size):
        number = step(number)
    return number


@DBOS.workflow()
def child(number: int) -> int:
    """What runs in parallel with others in blocking code: a workflow."""
    return number + 1


@DBOS.workflow()
def fan_workflow(size: int) -> int:
    """All at once, then their sum."""
    handles = [DBOS.start_workflow(child, number) for number in range(size)]
    return sum(handle.get_result() for handle in handles)


@DBOS.workflow()
async def afan_workflow(size: int) -> int:
    """As `fan_workflow`, in asyncio, where steps run in parallel."""
    return sum(await asyncio.gather(*[astep(number) for number in range(size)]))


@DBOS.workflow()
async def three(number: int) -> int:
    """One of many small workflows."""
    for _ in range(3):
        number = await astep(number)
    return number


@DBOS.workflow()
def killed_at_its_end(size: int, first: int) -> int:
    """Steps, and then, in the process that it was started in, death."""
    began = time.perf_counter()
    number = 0
    for _ in range(size):
        number = step(number)
    if os.getpid() == first:
        os._exit(0)
    replayed.extend((began, time.perf_counter()))
    return number


@DBOS.workflow()
def turn(message: str) -> str:
    """A turn of a chat: what is answered to all that earlier turns were given and gave."""
    earlier = DBOS.list_workflows(name="turn", status="SUCCESS")
    assert all(said.input and said.output for said in earlier)
    return message_of(1000)


def message_of(length: int) -> str:
    """A message that doesn't compress into nothing."""
    return "".join(random.choices(LETTERS, k=length))


def timed(call: Callable[[], Any], expected: Any) -> float:
    """Seconds that a call takes. A wrong result is an error."""
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    if result != expected:
        raise AssertionError(f"gave {result!r} where {expected!r} is right")
    return seconds


def chain(size: int) -> float:
    """W1."""
    return timed(lambda: chain_workflow(size), size)


def fan(size: int) -> float:
    """W2, blocking."""
    return timed(lambda: fan_workflow(size), size * (size + 1) // 2)


def afan(size: int) -> float:
    """W2, asyncio."""
    return asyncio.run(measured_afan(size))


async def measured_afan(size: int) -> float:
    """On the loop that is running, once DBOS knows it."""
    start = time.perf_counter()
    result = await afan_workflow(size)
    seconds = time.perf_counter() - start
    assert result == size * (size + 1) // 2
    return seconds


def resume(size: int) -> float:
    """W3: from the first line of the workflow that DBOS has recovered to its last."""
    deadline = time.monotonic() + 120
    while not replayed and time.monotonic() < deadline:
        time.sleep(0.01)
    began, ended = replayed
    return ended - began


def begin(size: int) -> float:
    """The first half of W3, which doesn't return."""
    with SetWorkflowID("resumed"):
        killed_at_its_end(size, os.getpid())
    raise AssertionError("the process should have died")


def chat(size: int) -> float:
    """W9: the median of the last turns of `size`."""
    taken = []
    for _ in range(size):
        message = message_of(1000)
        start = time.perf_counter()
        turn(message)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[-MEASURED:])


def many(size: int) -> float:
    """W10: all workflows at once."""

    async def run() -> float:
        start = time.perf_counter()
        results = await asyncio.gather(*[three(number) for number in range(size)])
        seconds = time.perf_counter() - start
        assert sum(results) == sum(range(size)) + 3 * size
        return seconds

    return asyncio.run(run())


PROGRAMS = {program.__name__: program for program in (chain, fan, afan, begin, resume, chat, many)}


def engine(url: str, synchronous: str) -> sqlalchemy.Engine | None:
    """An engine for SQLite in WAL mode; None for what isn't SQLite, where DBOS makes its own."""
    if not url.startswith("sqlite"):
        return None
    made = sqlalchemy.create_engine(url, connect_args={"timeout": 60})

    @sqlalchemy.event.listens_for(made, "connect")
    def settings(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")

    return made


def main() -> None:
    """Launch DBOS, run one program, print its figure."""
    program, url, synchronous, size = sys.argv[1:]
    DBOS(
        config={
            "name": "benchmarks",
            "application_version": "1",
            "system_database_url": url,
            "system_database_engine": engine(url, synchronous),
            "log_level": "CRITICAL",
        }
    )
    DBOS.launch()
    print(PROGRAMS[program](int(size)), flush=True)
    os._exit(0)  # without the wait for its threads


if __name__ == "__main__":
    main()
