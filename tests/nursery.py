"""Python processes that begin with libraries imported: each is a fork of one that has done nothing else.

A new Python takes some tenths of a second to import what a script needs, and a fork some milliseconds. A fork is a
process all the same: it dies by itself, and shares no thread, connection or memory with another. Forks are taken of two
nurseries in turn, so that of two processes that follow each other neither hashes of texts nor addresses are the same.

They are for tests that need many processes. How Python starts a script, and what an import does, needs a new Python.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ENGINE = (
    *(
        "checkpointers.sqlite",
        "flowfn.engine.runs.root",
        "flowfn.engine.runs.lead",
        "flowfn.engine.calls.attempt",
    ),
    *("flowfn.history.reading", "flowfn.history.state", "flowfn.hosts.makers", "flowfn.hosts.threads"),
    *("flowfn.identity.digest", "flowfn.invocation.running", "flowfn.invocation.streaming", "flowfn.streams"),
)
"""What flowfn imports when a workflow on SQLite first runs."""

_SERVER = """
import importlib, json, os, sys

for name in sys.argv[1:]:
    importlib.import_module(name)
for line in iter(sys.stdin.readline, ""):
    folder, (script, *arguments), output, errors, environment = json.loads(line)
    process = os.fork()
    if not process:
        os.chdir(folder)
        os.environ.update(environment)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(output, os.O_WRONLY), 1)
        os.dup2(os.open(errors, os.O_WRONLY), 2)
        main = sys.modules["__main__"] = type(sys)("__main__")
        main.__file__ = os.path.join(folder, script)
        sys.argv[:], sys.path[0] = [script, *arguments], folder
        sys.exit(exec(compile(open(main.__file__).read(), main.__file__, "exec"), vars(main)))
    print(process, flush=True)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)  # its id stays its own: who kills it now kills nobody else
    print("ended", flush=True)
    sys.stdin.readline()
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Nursery:
    """Starts scripts in processes that have imported these modules already, one after another."""

    def __init__(self, *modules: str, installed: Path) -> None:
        self._servers = [_Server(modules, installed, seed) for seed in ("1", "2")]
        self._turns = itertools.cycle(self._servers)

    def start(self, folder: Path, *arguments: str, output: Path, errors: Path, **environment: str) -> Fork:
        """`python ARGUMENTS` in a folder, the first of them a file there; it prints to files or pipes that exist."""
        server = next(self._turns)
        server.say(json.dumps([str(folder), arguments, str(output), str(errors), environment]))
        return Fork(server)

    def run(self, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """The finished process of `python ARGUMENTS` in a folder, with what it printed."""
        with tempfile.NamedTemporaryFile("r") as output, tempfile.NamedTemporaryFile("r") as errors:
            places = {"output": Path(output.name), "errors": Path(errors.name)}
            code = self.start(folder, *arguments, **places, **environment).exit_code()
            return subprocess.CompletedProcess(arguments, code, output.read(), errors.read())

    def close(self) -> None:
        """End the processes that are forked."""
        for server in self._servers:
            server.close()


@contextmanager
def nursery_of(*modules: str, installed: Path) -> Iterator[Nursery]:
    """A nursery that is closed afterwards."""
    made = Nursery(*modules, installed=installed)
    try:
        yield made
    finally:
        made.close()


class Fork:
    """A process that runs a script. Its nursery starts the next one when `exit_code` was asked for."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._id = int(server.hear())

    def ends(self, within: float | None) -> bool:
        """Whether it has ended after so many seconds."""
        return self._server.speaks(within)

    def kill(self) -> None:
        """SIGKILL."""
        os.kill(self._id, signal.SIGKILL)

    def exit_code(self) -> int:
        """How it ended, which is waited for; negative for a signal."""
        assert self._server.hear() == "ended\n"
        self._server.say("")
        return int(self._server.hear())


class _Server:
    """A process that forks itself for each line that it is told."""

    def __init__(self, modules: Sequence[str], installed: Path, seed: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-c", _SERVER, *modules],
            env={**os.environ, "PYTHONPATH": str(installed), "PYTHONHASHSEED": seed},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def speaks(self, within: float | None) -> bool:
        return bool(select.select([self._process.stdout], [], [], within)[0])

    def close(self) -> None:
        self._process.communicate()
