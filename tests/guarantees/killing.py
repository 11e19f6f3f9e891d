"""A script that is killed with SIGKILL and started again until it is done.

Rule: the script prints `begins` first, then its answer. It appends `ran LABEL` to the file `log` when a
piece of work runs, and `saw LABEL` when whoever waits for it has seen the result.

Each start is a new Python, or a fork of a nursery, where the libraries take longer to import than the script to run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..nursery import Nursery


class Script:
    """The script in a folder of its own, started as often as it takes."""

    def __init__(self, folder: Path, source: str, arguments: Sequence[str], installed: Path) -> None:
        self.folder = folder
        self.seconds = 0.0
        self._arguments = arguments
        self._environment = {**os.environ, "PYTHONPATH": str(installed)}
        folder.mkdir()
        (folder / "job.py").write_text(source)

    def run(self, patience: float | None = None) -> str | None:
        """Start it; what it printed, or None where it was killed, `patience` seconds after its first line."""
        process = subprocess.Popen(
            [sys.executable, "job.py", *self._arguments],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begins\n"
            started = time.perf_counter()
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                process.kill()
            self.seconds = time.perf_counter() - started
            printed = process.stdout.read()
        return self._ended(process.returncode, printed)

    def run_in(self, nursery: Nursery, patience: float | None = None) -> str | None:
        """As `run`, by a fork of the nursery."""
        output = self.folder / f"printed {time.monotonic_ns()}"
        os.mkfifo(output)
        process = nursery.start(
            self.folder, "job.py", *self._arguments, output=output, errors=Path("/dev/stderr")
        )
        with output.open() as stream:
            assert stream.readline() == "begins\n"
            started = time.perf_counter()
            if not process.ends(within=patience):
                process.kill()
            code = process.exit_code()
            self.seconds = time.perf_counter() - started
            return self._ended(code, stream.read())

    def _ended(self, code: int, printed: str) -> str | None:
        assert code in (0, -signal.SIGKILL)
        return printed if code == 0 else None

    def repeated(self) -> list[str]:
        """The work that ran again after its result had been seen, by the log."""
        seen: set[str] = set()
        repeated = []
        for what, label in self._log():
            if what == "saw":
                seen.add(label)
            elif label in seen:
                repeated.append(label)
        return repeated

    def seen(self) -> set[str]:
        """The work whose result has been seen."""
        return {label for what, label in self._log() if what == "saw"}

    def runs(self) -> int:
        """How many pieces of work have run."""
        return sum(what == "ran" for what, _ in self._log())

    def _log(self) -> list[tuple[str, str]]:
        lines = (self.folder / "log").read_text().splitlines()
        return [(what, label) for what, _, label in (line.partition(" ") for line in lines)]
