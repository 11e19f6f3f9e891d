"""Measures cases in interleaved rounds and keeps the medians.

Rule: every round runs every case once, in an order that rotates, so that a slow minute of the machine
falls on all alike. The first round warms up and is dropped.
"""

import gc
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Sample = Callable[[Path, int], float]
"""Run a case once, at this size, with an empty directory to write to; its cost in the case's unit."""


@dataclass(frozen=True)
class Case:
    """One line of the report: who does which workload, and on what storage.

    `survives` says what is kept of work that its caller has seen finish. `sample` None means that the
    subject isn't installed here, or can't do this. `best` keeps the least sample, not the median: for
    what only ever gets slower, such as a cold import. `rounds` is the most that are taken, without a warm-up:
    for what takes many seconds.
    """

    workload: str
    storage: str
    subject: str
    unit: str
    survives: str
    sample: Sample | None
    best: bool = False
    rounds: int | None = None

    def runs_in(self, number: int) -> bool:
        """Whether it is part of this round; the first, 0, is the warm-up."""
        return self.sample is not None and (self.rounds is None or 1 <= number <= self.rounds)


@dataclass
class Result:
    """A case and its samples, in the case's unit."""

    case: Case
    samples: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def figure(self) -> float | None:
        """The case's one number; None if nothing was measured."""
        if not self.samples:
            return None
        return min(self.samples) if self.case.best else statistics.median(self.samples)


def measure(
    cases: Sequence[Case], size: int, rounds: int, progress: Callable[[str], None], *, warm_up: bool = True
) -> list[Result]:
    """Run every case `rounds` times, as a rule after a warm-up. A case that raises is dropped, and says why."""
    results = [Result(case) for case in cases]
    for number in range(0 if warm_up else 1, rounds + 1):
        for result in rotated(results, number):
            if result.case.sample is not None and result.case.runs_in(number) and not result.error:
                progress(f"round {number} of {rounds}: {result.case.workload}, {result.case.subject}")
                take(result, result.case.sample, size, keep=number > 0)
    return results


def take(result: Result, sample: Sample, size: int, *, keep: bool) -> None:
    """Add one sample to a result, or the error that came instead."""
    gc.collect()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        try:
            figure = sample(Path(directory), size)
        except Exception as error:
            result.error = f"{type(error).__name__}: {error}".splitlines()[0]
            return
    if keep:
        result.samples.append(figure)


def rotated(results: Sequence[Result], by: int) -> Iterable[Result]:
    """The same results, starting elsewhere."""
    start = by % len(results) if results else 0
    return [*results[start:], *results[:start]]


def elsewhere(module: str, *arguments: str, python: str | None = None) -> str:
    """What a module prints that is run by a Python of its own: this one's, or another that needs none of its libraries.

    Raises:
        RuntimeError: it failed; the message is its last line.
    """
    path = os.environ.get("PYTHONPATH", "")
    if python is not None:
        path = str(Path(__file__).resolve().parent.parent)
    done = subprocess.run(
        [python or sys.executable, "-m", module, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it died"])[-1])
    return done.stdout.strip()
