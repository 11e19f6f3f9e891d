"""Processes beside that of the tests: each runs a script, and is seen to end well."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import IO


def started(script: str, *args: str) -> subprocess.Popen[str]:
    """A process that runs a script, and imports what the tests do."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", script, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def output(process: subprocess.Popen[str]) -> IO[str]:
    """What a process prints."""
    assert process.stdout is not None
    return process.stdout


def finish(process: subprocess.Popen[str]) -> str:
    """What a process printed; it must have ended well."""
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return printed
