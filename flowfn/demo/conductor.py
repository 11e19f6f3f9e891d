"""The parent process of the demo: starts the worker, kills it half way, starts it again, answers it.

All figures come from what the workers recorded. Nothing runs while the question waits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from flowfn.demo.job import Section, Summary
from flowfn.demo.library import source_files
from flowfn.demo.screen import Screen
from flowfn.errors import FlowError


class WorkerFailed(FlowError, RuntimeError):
    """The worker ended with an error of its own; the message is what it said last."""


@dataclass(frozen=True)
class Figures:
    """What the demo did. `ran_before` and `ran_after` the kill count measured files, as do `reused`.

    `reused` is how many recorded calls the second worker was handed back, by its own report.
    """

    thread: str
    database: str
    files: int
    killed: bool
    ran_before: int
    reused: int
    ran_after: int
    answer: str
    seconds: float
    report: Summary


@dataclass
class _Told:
    """What one worker has told so far."""

    recorded: int = 0
    measured: int = 0
    reused: int = 0
    question: str | None = None
    report: dict[str, Any] = field(default_factory=dict)


def conduct(database: Path, screen: Screen, *, largest: int | None = None, kill: bool = True) -> Figures:
    """Run the demo on a database file, which may hold other threads.

    Raises:
        InvalidInput: there are no files to measure.
        WorkerFailed: a worker ended with an error.
    """
    job = _Job(database, screen, largest)
    screen.say(f"{len(job.files)} source files in {job.folder}")
    began = time.monotonic()
    first = job.measure({"start": job.input}, die_at=(len(job.files) + 1) // 2 if kill else None)
    killed = first.question is None
    if killed:
        screen.say("worker killed with SIGKILL; starting it again")
    last = job.measure({"resume": None}) if killed else first
    worked = time.monotonic() - began
    assert last.question is not None
    answer = screen.ask(last.question, get_args(Section))
    began = time.monotonic()
    end = job.run({"answer": answer})
    return Figures(
        thread=job.thread,
        database=str(database),
        files=len(job.files),
        killed=killed,
        ran_before=last.recorded if killed else first.measured,
        reused=last.reused,
        ran_after=last.measured if killed else 0,
        answer=answer,
        seconds=round(worked + time.monotonic() - began, 2),
        report=Summary(**end.report),
    )


class _Job:
    """One thread of the workflow, and the workers that it takes."""

    def __init__(self, database: Path, screen: Screen, largest: int | None) -> None:
        self.thread = f"demo-{uuid.uuid4().hex[:8]}"
        self.database = database
        self.folder, self.files = source_files(largest)
        self._screen = screen

    @property
    def input(self) -> dict[str, Any]:
        """What the workflow is called with."""
        report = self.database.with_name(f"{self.thread}.md")
        return {"folder": self.folder, "files": self.files, "report": str(report.absolute())}

    def measure(self, order: dict[str, Any], die_at: int | None = None) -> _Told:
        """Run a worker with its progress on the screen; kill it once `die_at` files are recorded."""
        told = _Told()
        with self._worker(order) as worker:
            for line in self._heard(worker, told):
                if "recorded" in line:
                    self._screen.started(len(self.files), told.recorded)
                elif "measured" in line:
                    self._screen.measured()
                    if told.measured == die_at:
                        worker.kill()
                        die_at = -1
            self._screen.stopped()
            self._check(worker, may_die=die_at == -1)
        return told

    def run(self, order: dict[str, Any]) -> _Told:
        """Run a worker to its end."""
        told = _Told()
        with self._worker(order) as worker:
            for _ in self._heard(worker, told):
                pass
            self._check(worker, may_die=False)
        return told

    @contextmanager
    def _worker(self, order: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
        """A worker that has its order; it doesn't outlive the block."""
        command = [sys.executable, "-P", "-W", "ignore", "-m", "flowfn.demo.worker", self.thread]
        worker = subprocess.Popen(
            command,
            env={**os.environ, "FLOWFN_DB": str(self.database.absolute())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        with worker:
            try:
                assert worker.stdin is not None
                worker.stdin.write(json.dumps(order) + "\n")
                worker.stdin.flush()
                yield worker
            finally:
                worker.kill()

    def _heard(self, worker: subprocess.Popen[str], told: _Told) -> Iterator[dict[str, Any]]:
        """The lines that a worker prints, counted; a last one that its death cut short is dropped."""
        assert worker.stdout is not None
        for text in worker.stdout:
            if not text.endswith("\n"):
                return
            line = json.loads(text)
            told.measured += "measured" in line
            for name in ("recorded", "reused", "question", "report"):
                if name in line:
                    setattr(told, name, line[name])
            yield line

    def _check(self, worker: subprocess.Popen[str], *, may_die: bool) -> None:
        assert worker.stderr is not None
        said = worker.stderr.read().strip()
        if worker.wait() and not may_die:
            last = said.splitlines()[-1] if said else f"it said nothing (exit code {worker.returncode})"
            raise WorkerFailed(f"the worker of thread {self.thread!r} failed: {last}")
