"""The script that runs has one name and its own classes, whoever runs it; a run goes on under any of them."""

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from flowfn.script import script_name

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


@pytest.mark.parametrize("first", ["as a file", "a profiler"])
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_run_goes_on_whatever_runs_its_script(
    runner: str, first: str, run_python: Any, tmp_path: Path
) -> None:
    """Section 4: what a killed script recorded goes to the same calls under a profiler, a tracer or a debugger."""
    (tmp_path / "app.py").write_text(SCRIPT)
    run_python("-m", "compileall", "-q", "-b", "app.py")
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
