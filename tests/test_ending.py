"""What a program does as the interpreter ends still finds its database open."""

from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import asyncio
import atexit
import sys

from flowfn import entrypoint, task


@task
def double(x):
    return 2 * x


@task
async def adouble(x):
    return 2 * x


@entrypoint(checkpointer=sys.argv[1])
def blocking(x):
    return double(x).result()


@entrypoint(checkpointer=sys.argv[1])
async def awaited(x):
    return await adouble(x)


atexit.register(lambda: print(asyncio.run(awaited(40))))
atexit.register(lambda: print(blocking(30)))
print(blocking(10), asyncio.run(awaited(20)), sep="\\n")
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_workflow_runs_in_a_handler_of_atexit(
    kind: str, run_python: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A program's handlers come before what is open is closed, though it was opened after they were registered."""
    (tmp_path / "program.py").write_text(PROGRAM)
    target = "runs.db" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    done = run_python("-W", "error", "program.py", target)
    assert (done.stdout.split(), done.stderr) == (["20", "40", "60", "80"], "")
