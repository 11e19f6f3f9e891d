"""`always_replay`: a body is entered anew after each recorded call, which in production only a crash does."""

from __future__ import annotations

from typing import Any

from flowfn.errors import NonDeterminismError
from flowfn.ports import Commit
from flowfn.testing.everywhere import assert_no_trace, equal, explained, here, refused
from flowfn.testing.lives import Job
from flowfn.testing.onlooker import Onlooker, recorded_in
from flowfn.testing.processes import Crash, Fate, MemoryDisk, When


def always_replay(
    workflow: Any, *args: Any, answers: Any = None, allow_effects: bool = False, **kwargs: Any
) -> Any:
    """Run a workflow with its body entered anew after each recorded call, and once more when all are; its answer.

    Code that takes another way when it is entered again, by the time, by chance or by what it did to the world,
    is found here rather than in production. The arguments are those of `crash_everywhere`.

    Raises:
        AssertionError: what differed, and the line.
        Exception: the workflow's own.
    """
    job, disk, onlooker = Job(workflow, args, kwargs, answers), MemoryDisk(), Onlooker()
    fate = _dies_once_recorded()
    with explained(job, here, MemoryDisk, allow_effects) as evidence:
        for life in range(1, evidence.writes + 2):
            try:
                answer = job.live(disk, onlooker, fate)
                break
            except Crash:
                continue
            except NonDeterminismError as error:
                raise refused(job, f"entered for the {life}. time,", error) from error
        else:
            last = onlooker.executions[-1]
            raise AssertionError(f"{job}: entered {life} times, it still makes new calls, such as {last}")
        assert_no_trace(job, onlooker, equal, f"entered {life} times,")
    return answer


def _dies_once_recorded() -> Fate:
    """A process dies after each commit of a result, and once before the commit that would end the run."""
    ended: list[Commit] = []

    def fate(commit: Commit | None, number: int) -> When | None:
        if commit is None:
            return None
        if recorded_in(commit):
            return "after"
        if commit.status == "done" and not ended:
            ended.append(commit)
            return "before"
        return None

    return fate
