"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import subprocess
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

TESTS = """
import os
from datetime import UTC, datetime

import flowfn
from flowfn import entrypoint, now, task


@task
def process() -> int:
    return os.getpid()


@entrypoint
def flow(n: int) -> int:
    return process().result() and n


@entrypoint(checkpointer="memory://")
def sleeper(days: int) -> float:
    before = now()
    flowfn.sleep(days * 86_400)
    return (now() - before).days


@entrypoint
def who(n: int) -> int:
    return process().result()


def test_in_which_process(crash_everywhere):
    assert crash_everywhere(who, 3, same=lambda a, b: True).answer == os.getpid()


def test_replays(always_replay):
    assert always_replay(flow, 3) == 3


def test_sleeps(virtual_clock):
    assert sleeper(7) == 7
"""


@pytest.mark.parametrize(("options", "passed", "failed"), [((), 3, 0), (("--flowfn-kill",), 2, 1)])
def test_the_fixtures(run_python: Any, tmp_path: Path, options: Any, passed: int, failed: int) -> None:
    """Each does what its function does; `--flowfn-kill` makes it another process that dies."""
    (tmp_path / "test_shop.py").write_text(TESTS)
    done: subprocess.CompletedProcess[str] = run_python(
        "-m", "pytest", "-q", "-p", "flowfn.pytest_plugin", *options, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"
    )
    said = f"{failed} failed, {passed} passed" if failed else f"{passed} passed"
    assert said in done.stdout, done.stdout


def test_pytest_finds_the_plugin(repo: Path) -> None:
    """The entry point that installs it leads to it, and to its fixtures."""

    points = tomllib.loads((repo / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    plugin = import_module(points["flowfn"])
    assert [hasattr(plugin, name) for name in ("crash_everywhere", "always_replay", "virtual_clock")] == [
        True
    ] * 3


def test_importing_flowfn_imports_no_test_kit(run_python: Any) -> None:
    """Section 7: `flowfn.testing` is loaded by tests alone."""
    code = "import flowfn, sys\nprint([name for name in sys.modules if 'testing' in name])"
    assert run_python("-c", code).stdout == "[]\n"
