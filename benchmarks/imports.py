"""W11: the first import in a fresh Python, in ms, least of all rounds."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import peers
from benchmarks.harness import Case

WORKLOAD = "W11 import"
UNIT = "ms"

STATEMENTS = {
    "floor": "import sqlite3, asyncio, concurrent.futures",
    "flowfn": "from flowfn import entrypoint, task",
    "LangGraph": "from langgraph.func import entrypoint, task",
}


def cases() -> Iterator[Case]:
    """The standard library that any such engine stands on, then the subjects."""
    present = {"floor"} | {api.name for api in peers.subjects() if api.storages}
    for subject, statement in STATEMENTS.items():
        sample = partial(run, statement) if subject in present else None
        yield Case(WORKLOAD, "", subject, UNIT, "", sample, best=True)


def run(statement: str, directory: Path, size: int) -> float:
    """Time the statement inside a Python of its own, without that Python's own start."""
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=_compiled())
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return float(done.stdout) * 1e3


def _compiled() -> dict[str, str]:
    """The environment, where Python keeps what it compiled: as an installed package is."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
