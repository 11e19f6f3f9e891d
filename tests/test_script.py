"""The script that runs has one name and its own classes, whoever runs it; a run goes on under any of them."""

import compileall
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from flowfn.python.script import script_name

SCRIPT = """
import os
import sys
from dataclasses import dataclass

from flowfn import entrypoint, task


@dataclass
class Page:
    url: str


@task
def fetch(url: str) -> Page:
    print("fetched", url, file=sys.stderr, flush=True)
    if url == os.environ.get("DIES_AT"):
        os._exit(9)
    return Page(url)


@entrypoint(checkpointer="runs.db")
def digest(urls: list[str]) -> list[Page]:
    return [fetch(url).result() for url in urls]


if __name__ == "__main__":
    assert digest(["a", "b"]) == [Page("a"), Page("b")]
"""

RUNNERS = {
    "as a file": ["app.py"],
    "with -m": ["-m", "app"],
    "a profiler": ["-m", "cProfile", "-o", os.devnull, "app.py"],
    "a tracer": ["-m", "trace", "--trackcalls", "app.py"],
    "a debugger": ["-m", "pdb", "-c", "continue", "-c", "quit", "app.py"],
    "runpy": ["-c", "import runpy; runpy.run_path('app.py', run_name='__main__')"],
    "compiled": ["app.pyc"],
}
"""What runs `app.py`, by the arguments of Python. The profiler and the tracer are `__main__` themselves."""


@pytest.mark.parametrize(
    ("first", "runner"),
    [
        *(("as a file", runner) for runner in RUNNERS),
        ("a profiler", "as a file"),
        ("a profiler", "a debugger"),
    ],
)
def test_a_run_goes_on_whatever_runs_its_script(
    first: str, runner: str, run_python: Any, tmp_path: Path
) -> None:
    """Section 4: what a killed script recorded goes to the same calls under a profiler, a tracer or a debugger.

    Each has the name that a file has, so two of them have one name: not every pair is tried.
    """
    (tmp_path / "app.py").write_text(SCRIPT)
    compileall.compile_file(tmp_path / "app.py", quiet=2, legacy=True)
    assert run_python(*RUNNERS[first], DIES_AT="b").returncode == 9
    resumed = run_python(*RUNNERS[runner])
    assert [line for line in resumed.stderr.splitlines() if "fetched" in line] == ["fetched b"]


@pytest.mark.parametrize(
    ("file", "name"),
    [("/srv/app.py", "app"), ("C:\\srv\\app.pyw", "app"), ("app.pyc", "app"), ("run.daily", "run.daily")],
)
def test_a_scripts_name_is_its_files(file: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no suffix of Python's is part of the name: `run.daily` and `run.weekly` are two scripts."""
    script = ModuleType("__main__")
    script.__file__ = file
    monkeypatch.setitem(sys.modules, "__main__", script)
    assert script_name() == name


POOL = """
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import cloudpickle

from flowfn import entrypoint, task


@task
def double(x: int) -> int:
    return 2 * x


@entrypoint
def quadruple(x: int) -> int:
    return double(double(x).result()).result()


class Shop:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    @task
    def times(self, x: int) -> int:
        return self.factor * x

    @staticmethod
    @task
    def more(x: int) -> int:
        return x + 1


def is_known(function: object) -> bool:
    return function in (double, quadruple, Shop.more)


if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=get_context(sys.argv[1])) as pool:
        assert [*pool.map(quadruple, [1, 2])] == [4, 8]
        assert [call.result() for call in pool.map(double, [1, 2])] == [2, 4]
        assert [call.result() for call in pool.map(Shop(3).times, [1, 2])] == [3, 6]
        assert all(pool.map(is_known, [double, quadruple, Shop.more]))
    for function in (double, quadruple, Shop.more):
        assert pickle.loads(pickle.dumps(function)) is function
        assert b"flowfn" in cloudpickle.dumps(function)  # as code: who gets it may not have run the script
        assert pickle.loads(cloudpickle.dumps(function)) is not function
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_a_script_defines_goes_to_a_pool_of_processes(
    method: str, run_python: Any, tmp_path: Path
) -> None:
    """A decorated function goes where the function would have gone: by its name to who has run the script."""
    (tmp_path / "app.py").write_text(POOL)
    assert run_python("app.py", method).returncode == 0
