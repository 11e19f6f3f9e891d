"""What any test may ask for: a Python process of its own that imports the very flowfn under test."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import flowfn

REPO = Path(__file__).resolve().parent.parent
INSTALLED = Path(next(iter(flowfn.__path__))).resolve().parent

RunPython = Callable[..., subprocess.CompletedProcess[str]]


def pytest_report_header() -> str:
    return f"flowfn: {INSTALLED / 'flowfn'}"


@pytest.fixture
def repo() -> Path:
    """The checkout's directory."""
    return REPO


@pytest.fixture
def installed() -> Path:
    """The directory that flowfn was imported from: the checkout, or site-packages."""
    return INSTALLED


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """Run `python ARGUMENTS` in a temporary directory, without input; the finished process."""

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(INSTALLED), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    return run
