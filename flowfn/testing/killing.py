"""Lives that end by SIGKILL: `crash_everywhere(…, kill=True)`.

One child process loads the workflow, and runs nothing itself. Each life is a fork of it, which tells what happens
through a pipe, and is killed in the middle of a write like any process. `python -m flowfn.testing.killing FOLDER`
is that child.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, BinaryIO

from flowfn.errors import InvalidInput
from flowfn.functional.entrypoint import Entrypoint
from flowfn.testing.everywhere import CrashReport, everywhere
from flowfn.testing.lives import Job
from flowfn.testing.onlooker import Execution, Onlooker
from flowfn.testing.processes import Crash, Disk, Fate, FileDisk, perish

_LENGTH = 8


def crash_by_kill(job: Job, same: Callable[[Any, Any], bool] | None, allow_effects: bool) -> CrashReport:
    """`crash_everywhere` in a child process whose forks are killed.

    Raises:
        AssertionError: as there.
        InvalidInput: the workflow can't be shipped to a child.
    """
    if not hasattr(os, "fork"):
        raise InvalidInput("kill=True needs a system with fork() and SIGKILL: leave it out here")
    import cloudpickle

    workflow = job.workflow
    if isinstance(workflow, Entrypoint) and "<locals>" in workflow.func.__qualname__:
        workflow = workflow.with_checkpointer(
            None
        )  # what keeps its runs elsewhere may be open, and isn't used
    module = sys.modules.get(workflow.__module__)
    try:
        shipped = cloudpickle.dumps((workflow, job.args, job.kwargs, job.answers, same, allow_effects))
    except Exception as error:
        raise InvalidInput(
            f"{job} can't be shipped to a process of its own ({error}): define it at the top of a module"
        ) from error
    with TemporaryDirectory(prefix="flowfn-") as folder:
        Path(folder, "job").write_bytes(shipped)
        search = os.pathsep.join([*_root_of(module), *(path or os.getcwd() for path in sys.path)])
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__, folder],
            env={**os.environ, "PYTHONPATH": search},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        outcome = Path(folder, "outcome")
        if not outcome.exists():
            raise RuntimeError(f"the process that runs {job} ended with {done.returncode}:\n{done.stderr}")
        failure, report = pickle.loads(outcome.read_bytes())
    if failure is not None:
        raise failure
    assert isinstance(report, CrashReport)
    return report


def _root_of(module: ModuleType | None) -> list[str]:
    """The folder from which a module can be imported by its name: test runners import from where no path leads."""
    file = getattr(module, "__file__", None)
    if module is None or file is None or module.__name__ == "__main__":
        return []
    parts = module.__name__.split(".")
    path = Path(file).resolve().with_suffix("")
    ends = path.parts[-len(parts) :] == tuple(parts)
    return [str(Path(*path.parts[: -len(parts)]))] if ends else []


# -- in the child -----------------------------------------------------------------------------------


def main(folder: Path) -> None:
    """Run the job that lies in the folder, and leave the outcome there."""
    error: BaseException | None = None
    report: CrashReport | None = None
    try:
        *called, same, allow_effects = pickle.loads(Path(folder, "job").read_bytes())
        _warm_up()
        report = everywhere(Job(*called), _forked, partial(FileDisk, folder), same, allow_effects)
    except BaseException as raised:
        error = raised
    Path(folder, "outcome").write_bytes(_pickled(error, report))


def _warm_up() -> None:
    """Import once what each life would import after its fork."""
    for name in (
        "asyncio",
        "cloudpickle",
        "flowfn.identity.code.fingerprint",
        "flowfn.history.state",
        "flowfn.testing.witness",
    ):
        importlib.import_module(name)


def _pickled(*parts: Any) -> bytes:
    """Parts as bytes; errors that can't be shipped as what they say."""
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(parts)
        pickle.loads(data)
    except Exception:
        return pickle.dumps(tuple(_said(part) if isinstance(part, BaseException) else part for part in parts))
    return data


def _said(error: BaseException) -> RuntimeError:
    return RuntimeError(f"{type(error).__name__}: {error}")


def _forked(job: Job, disk: Disk, onlooker: Onlooker, fate: Fate) -> Any:
    """One life, in a fork of this process."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _live_and_exit(job, disk, fate, writing)
    os.close(writing)
    outcome: tuple[BaseException | None, Any] | None = None
    try:
        with open(reading, "rb") as pipe:
            while message := _received(pipe):
                told, *what = pickle.loads(message)
                if told == "outcome":
                    outcome = (what[0], what[1])
                else:
                    getattr(onlooker, told)(*what)
        _, status = os.waitpid(pid, 0)
    finally:
        with suppress(ProcessLookupError):  # what it has started, such as a pool of processes, ends with it
            os.killpg(pid, signal.SIGKILL)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        raise Crash
    if outcome is None:
        raise RuntimeError(f"a life of {job} ended with status {status}")
    error, answer = outcome
    if error is not None:
        raise error
    return answer


def _received(pipe: BinaryIO) -> bytes:
    """A message that came whole; of one in whose middle the process was killed, nothing."""
    header = pipe.read(_LENGTH)
    length = int.from_bytes(header, "big")
    message = pipe.read(length) if len(header) == _LENGTH else b""
    return message if len(message) == length else b""


def _live_and_exit(job: Job, disk: Disk, fate: Fate, pipe: int) -> None:
    """Live, tell, and end without anything that the parent registered to be done at its end.

    What the life forks has no part in the pipe: its end is the end of the life.
    """
    os.setpgid(0, 0)
    os.register_at_fork(after_in_child=partial(os.close, pipe))
    told, error, answer = _Telling(pipe), None, None
    try:
        try:
            answer = job.live(disk, told, fate, perish)
        except BaseException as raised:
            error = raised
        for report in told.reports:
            told.tell("resumes", report)
        told.send(_pickled("outcome", error, answer))
        sys.stdout.flush()
    finally:
        os._exit(0)


class _Telling(Onlooker):
    """Tells all that it is told of to another process, at once: the next moment may be the last."""

    def __init__(self, pipe: int) -> None:
        super().__init__()
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, data: bytes) -> None:
        message = len(data).to_bytes(_LENGTH, "big") + data
        with self._lock:
            while message:
                message = message[os.write(self._pipe, message) :]

    def tell(self, *what: Any) -> None:
        self.send(_pickled(*what))

    def runs(self, execution: Execution) -> None:
        self.tell("runs", execution)

    def was_recorded(self, keys: set[str]) -> None:
        self.tell("was_recorded", keys)

    def returns(self, value: Any) -> None:
        self.tell("returns", value)


if __name__ == "__main__":
    importlib.import_module("flowfn.testing.killing").main(Path(sys.argv[1]))
