"""A job dies wherever it can, goes on, and must come to the same end: what is tried, and what is compared.

Rule: what is compared is what a user of the workflow would notice: the answer, which calls ran how often, and that
the resumed body asks for the very calls that are recorded. A call that was under way at the crash may run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from flowfn.errors import NonDeterminismError
from flowfn.report import Difference
from flowfn.testing.lives import Job
from flowfn.testing.onlooker import Execution, Onlooker, same_labels
from flowfn.testing.processes import Crash, Disk, Fate, When, at, never
from flowfn.testing.witness import Evidence, WatchedJob

DIVERGED = ("new", "orphan", "doubt", "forbidden")
"""The kinds of differences that the same code, resumed, must never have from its own record."""

WHEN: tuple[When, ...] = ("before", "after")

Live = Callable[[Job, Disk, Onlooker, Fate], Any]
Same = Callable[[Any, Any], bool]


@dataclass(frozen=True)
class CrashReport:
    """What was tried: `answer` is the workflow's, `points` how often it died, `executions` what ran where it didn't."""

    answer: Any
    points: int
    executions: dict[str, int] = field(default_factory=dict)


def here(job: Job, disk: Disk, onlooker: Onlooker, fate: Fate) -> Any:
    """One life, in this process."""
    return job.live(disk, onlooker, fate)


def everywhere(
    job: Job, live: Live, disk: Callable[[], Disk], same: Same | None, allow_effects: bool
) -> CrashReport:
    """Let a job die before and after each of its writes, given how a life is lived, and on what."""
    alike, points = same or equal, 0
    with explained(job, live, disk, allow_effects):
        answer, calm = _calmly(job, live, disk())
        second, again = _calmly(job, live, disk())
        same_calls = same_labels(calm, again)
        steady = calm.counts(same_calls) == again.counts(same_calls)
        comparable = alike(answer, second)
        for number, when in ((number, when) for number in count(1) for when in WHEN):
            where = f"after a crash {when} write {number}"
            found, onlooker, died = _after_crash(job, live, disk(), at(number, when), where)
            if not died:
                break
            points += 1
            assert_no_trace(job, onlooker, alike, where)
            if comparable and not alike(answer, found):
                raise AssertionError(f"{job}: {where} it returned {found!r}, and without one {answer!r}")
            if steady:
                _assert_counts(job, calm, onlooker, where)
        if not comparable:
            raise AssertionError(
                f"{job} returns {answer!r}, and called once more {second!r}: whether a crash changes its answer can't "
                "be told. Pass same=, a function of two answers, or let your test give it fakes that don't change"
            )
    return CrashReport(answer, points, dict(calm.labels()))


def _calmly(job: Job, live: Live, disk: Disk) -> tuple[Any, Onlooker]:
    """The answer of a job that doesn't die, and who looked on. It goes on after each answer that it gets."""
    onlooker = Onlooker()
    try:
        return live(job, disk, onlooker, never), onlooker
    except NonDeterminismError as error:
        raise refused(job, "after an answer", error) from error


def _after_crash(job: Job, live: Live, disk: Disk, fate: Fate, where: str) -> tuple[Any, Onlooker, bool]:
    """The answer of a job whose first life fate ends; who looked on; whether it did."""
    onlooker = Onlooker()
    try:
        try:
            return live(job, disk, onlooker, fate), onlooker, False
        except Crash:
            onlooker.cut()
        return live(job, disk, onlooker, never), onlooker, True
    except NonDeterminismError as error:
        raise refused(job, where, error) from error
    except Exception as error:
        raise AssertionError(f"{job}: {where} it failed, and didn't without one: {error!r}") from error


def refused(job: Job, where: str, error: NonDeterminismError) -> AssertionError:
    """What the refusal of a resumed run is to a test."""
    return AssertionError(f"{job}: {where} the resumed run differs from its record: {error}")


@contextmanager
def explained(job: Job, live: Live, disk: Callable[[], Disk], allow_effects: bool) -> Iterator[Evidence]:
    """Watch a life, add to a failure where chance enters the code, and fail for what is done outside the record."""
    watched = WatchedJob(job.workflow, job.args, job.kwargs, job.answers)
    evidence: Evidence = live(watched, disk(), Onlooker(), never)
    done = chance = ""
    if evidence.effects and not allow_effects:
        done = (
            "what is done outside tasks, or in a task before it asks, is done again each time the code is entered. "
            "Do it in a task of its own:" + "".join(f"\n  {effect}" for effect in evidence.effects)
        )
    if evidence.chance:
        chance = (
            "these lines, outside tasks, ask for the time or for chance. Ask in a task, or use flowfn.now(), "
            "uuid4(), random():" + "".join(f"\n  {site}" for site in evidence.chance)
        )
    try:
        yield evidence
    except AssertionError as error:
        raise AssertionError("\n".join(filter(None, [str(error), done, chance]))) from error.__cause__
    if done:
        raise AssertionError(f"{job}: {done}")


def assert_no_trace(job: Job, onlooker: Onlooker, alike: Same, where: str) -> None:
    """Nothing that was recorded ran again, and the resumed code asked for what is recorded."""
    if onlooker.repeated:
        raise AssertionError(
            f"{job}: {where} calls ran again whose results were recorded: {_listed(onlooker.repeated)}"
        )
    strange = [d for report in onlooker.reports for d in report if d.kind in DIVERGED]
    if strange:
        rows = "\n".join(f"  {difference}" for difference in _once(strange))
        raise AssertionError(
            f"{job}: {where} its code, unchanged, made other calls than before (recorded | made now):\n{rows}"
        )
    answers = onlooker.returned
    if not all(alike(answers[0], other) for other in answers):
        other = next(other for other in answers if not alike(answers[0], other))
        raise AssertionError(
            f"{job}: {where} it returned {other!r}, and before {answers[0]!r}, with the same results of its calls"
        )


def _assert_counts(job: Job, calm: Onlooker, onlooker: Onlooker, where: str) -> None:
    """Each call ran as often as without a crash; one under way when the process died may have run more often."""
    same = same_labels(calm, onlooker)
    wanted, found = calm.counts(same), onlooker.counts(same)
    under_way = {execution.among(same) for execution in onlooker.cut_off}
    wrong = {
        alike: (found[alike], wanted[alike])
        for alike in wanted.keys() | found.keys()
        if found[alike] < wanted[alike] or (found[alike] > wanted[alike] and alike not in under_way)
    }
    if wrong:
        rows = "\n".join(
            f"  {calm.place(alike, same) or onlooker.place(alike, same)}: ran {ran} times, without a crash {calmly}"
            for alike, (ran, calmly) in sorted(wrong.items())
        )
        raise AssertionError(f"{job}: {where} calls ran another number of times:\n{rows}")


def equal(one: Any, other: Any) -> bool:
    """Whether two answers are the same where nobody says what counts."""
    return bool(one == other)


def _once(differences: Sequence[Difference]) -> list[Difference]:
    return list(dict.fromkeys(differences))


def _listed(executions: Sequence[Execution]) -> str:
    return ", ".join(map(str, dict.fromkeys(executions)))
