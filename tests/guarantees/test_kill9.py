"""G1: SIGKILL at random moments loses nothing that a caller has seen, and changes no answer.

A script with 25 sequential and 25 parallel tasks is killed and started again until it is done. Each task
appends a line to a log when it runs, and its caller when it has seen the result: what was seen may never
run again afterwards. `FLOWFN_KILLS=100 pytest -s tests/guarantees/test_kill9.py` is the long form.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ..postgres_database import Database
from .killing import Script

SCRIPT = """
import asyncio
import os
import sys

from flowfn import entrypoint, task

log = os.open("log", os.O_CREAT | os.O_APPEND | os.O_WRONLY)


def note(what, number):
    os.write(log, f"{what} {number}\\n".encode())


def work(number):
    note("ran", number)
    return sum(range(number * 1000)) // max(1, number)


def seen(number, result):
    note("saw", number)
    return result


plain = task(work, name="plain")


@task
async def coroutine(number):
    return work(number)


@entrypoint(checkpointer=sys.argv[2])
def blocking(n):
    total = sum(seen(i, plain(i).result()) for i in range(n))
    futures = [plain(i) for i in range(n, 2 * n)]
    return total + sum(seen(i, future.result()) for i, future in enumerate(futures, n))


@entrypoint(checkpointer=sys.argv[2])
async def coroutines(n):
    async def parallel(i):
        return seen(i, await coroutine(i))

    total = 0
    for i in range(n):
        total += seen(i, await coroutine(i))
    return total + sum(await asyncio.gather(*map(parallel, range(n, 2 * n))))


def main(colour):
    thread = (blocking if colour == "blocking" else coroutines).thread("job")
    print("begins", flush=True)
    if thread.status == "done":
        return thread.state.values
    return thread(25) if colour == "blocking" else asyncio.run(thread(25))


print(main(sys.argv[1]), flush=True)
os._exit(0)
"""

KILLS = int(os.environ.get("FLOWFN_KILLS", "8"))

ANSWER = sum(sum(range(i * 1000)) // max(1, i) for i in range(50))


@pytest.fixture(params=["sqlite", "postgres"])
def new_target(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Names a database that knows no job: a file in the script's folder, or a URL."""
    if request.param == "sqlite":
        return lambda: "runs.db"
    database: Database = request.getfixturevalue("postgres_database")

    def emptied() -> str:
        database.empty()
        return database.url

    return emptied


@pytest.mark.parametrize("colour", ["blocking", "asyncio"])
def test_killed_at_random_moments(
    tmp_path: Path, installed: Path, new_target: Callable[[], str], colour: str
) -> None:
    """G1: killed and started again, the script prints the answer, and nothing seen has run again."""
    moments = random.Random(colour)
    undisturbed = Script(tmp_path / "undisturbed", SCRIPT, [colour, new_target()], installed)
    assert undisturbed.run() == f"{ANSWER}\n"
    kills = jobs = again = 0
    while kills < KILLS:
        script = Script(tmp_path / str(jobs), SCRIPT, [colour, new_target()], installed)
        printed = None
        while printed is None:
            printed = script.run(moments.uniform(0, undisturbed.seconds) if kills < KILLS else None)
            kills += printed is None
        jobs += 1
        again += script.runs() - 50
        assert (printed, script.repeated()) == (f"{ANSWER}\n", [])
    print(
        f"{colour}: {kills} kills in {jobs} jobs of {undisturbed.seconds * 1000:.0f} ms: "
        f"{again} tasks whose result nobody had seen ran again, none whose result was seen"
    )
