"""A script that is killed with SIGKILL and started again until it is done.

Rule: the script prints `begins` first, then its answer. It appends `ran LABEL` to the file `log` when a
piece of work runs, and `saw LABEL` when whoever waits for it has seen the result.

Each start is a new Python, or, where the libraries take longer to import than the script to run, a fork of a
`Nursery` that has imported them and nothing else.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

NURSERY = """
import importlib, json, os, sys

for name in sys.argv[1:]:
    importlib.import_module(name)
for line in iter(sys.stdin.readline, ""):
    folder, arguments, output = json.loads(line)
    process = os.fork()
    if not process:
        os.chdir(folder)
        os.dup2(os.open(output, os.O_WRONLY), 1)
        __file__ = os.path.join(folder, "job.py")
        sys.argv[:], sys.path[0] = [__file__, *arguments], folder
        sys.exit(exec(compile(open(__file__).read(), __file__, "exec")))
    print(process, flush=True)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)  # its id stays its own: who kills it now kills nobody else
    print("ended", flush=True)
    sys.stdin.readline()
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Nursery:
    """A process that has imported modules, and starts scripts as forks of itself, one after another."""

    def __init__(self, modules: Sequence[str], installed: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY, *modules],
            env={**os.environ, "PYTHONPATH": str(installed)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, folder: Path, arguments: Sequence[str], output: Path) -> int:
        """Run the folder's script, which prints to a pipe of that name; its process id."""
        self._say(json.dumps([str(folder), list(arguments), str(output)]))
        return int(self._hear())

    def wait(self, patience: float | None) -> bool:
        """Whether the script has ended within so many seconds."""
        return bool(select.select([self._process.stdout], [], [], patience)[0])

    def exit_code(self) -> int:
        """How the script ended, which is waited for."""
        assert self._hear() == "ended\n"
        self._say("")
        return int(self._hear())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


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
        process = nursery.start(self.folder, self._arguments, output)
        with output.open() as stream:
            assert stream.readline() == "begins\n"
            started = time.perf_counter()
            if not nursery.wait(patience):
                os.kill(process, signal.SIGKILL)
            code = nursery.exit_code()
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
