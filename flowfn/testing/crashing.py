"""`crash_everywhere`: the same end wherever it dies, in this process or by SIGKILL."""

from __future__ import annotations

from typing import Any

from flowfn.testing.everywhere import CrashReport, Same, everywhere, here
from flowfn.testing.killing import crash_by_kill
from flowfn.testing.lives import Job
from flowfn.testing.processes import MemoryDisk


def crash_everywhere(
    workflow: Any,
    *args: Any,
    answers: Any = None,
    kill: bool = False,
    same: Same | None = None,
    allow_effects: bool = False,
    **kwargs: Any,
) -> CrashReport:
    """Let a workflow die before and after every write of its run, each time go on, and assert that nothing shows.

    After each crash the call is made again as by a new process. Asserted are: the same answer as without a crash;
    no call whose result was recorded runs again, and each runs as often as without a crash, but for those under
    way when it died; the resumed code asks for the calls that are recorded.

    Args:
        workflow: an `@entrypoint`, or a compiled graph, whose only argument is its input. Its own checkpointer isn't
            touched.
        args, kwargs: what it is called with.
        answers: what a human says to its questions: a function of the question's value, or one answer to all. A call
            in doubt is run again, unless a function says otherwise.
        kill: let a child process be killed with SIGKILL, rather than let the saver fail in this one. The functions
            have to be importable there, or to be shipped by cloudpickle. Not on Windows. The child imports their
            module anew: the real functions run there, whatever a test put in place of one (`monkeypatch`).
        same: whether two answers are the same; default `==`. For workflows whose answers differ from run to run.
        allow_effects: don't mind that code outside tasks changes what outlives the run: a test that counts there.

    Raises:
        AssertionError: where it died, what was different, and the line of the code that did it.
        Exception: the workflow's own, without any crash.
    """
    job = Job(workflow, args, kwargs, answers)
    if kill:
        return crash_by_kill(job, same, allow_effects)
    return everywhere(job, here, MemoryDisk, same, allow_effects)
