"""What a program that was edited would make of the runs that are open: each is replayed dry, before it is deployed.

Guarantee: no task is executed and nothing is written. The code of workflows, outside their tasks, is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from flowfn.config import RunConfig
from flowfn.engine.records.journal import Journal
from flowfn.engine.replay.rehearsal import Rehearsal, rehearse
from flowfn.errors import FlowError, NonDeterminismError
from flowfn.invocation import Run, loop_hosts
from flowfn.ports import UNFINISHED, Busy, Commit, Lease, Saver, SourceKeeper, ThreadRow
from flowfn.report import CallSummary, Report
from flowfn.saver_around import SaverAround

if TYPE_CHECKING:
    from flowfn.invocation import Setup

Verdict = Literal["continues", "anew", "decide", "live"]
"""What would become of an open run:

`continues`: it goes on as it is. `anew`: some of what it has done would be done again, or differently. `decide`: it
can't go on before its author has decided something. `live`: a process has it, and wasn't disturbed.
"""

_ANEW = frozenset({"new", "rerun", "orphan"})
_REUSED = {
    "code": "is reused, though its code changed",
    "clock": "is reused, but for the time",
    "fields": "is reused, but for new fields or defaults",
}


@dataclass(frozen=True)
class Checkup:
    """One open run.

    `why` says it in words. `next` are the calls that it would run, as far as can be told without running them; `left`
    the recorded calls that nobody has asked for by then. `report` is the diff so far.
    """

    thread: str
    workflow: str
    verdict: Verdict
    why: str
    next: tuple[CallSummary, ...] = ()
    left: tuple[CallSummary, ...] = ()
    report: Report = field(default_factory=Report)


async def examine(saver: Saver, setup_of: Callable[[ThreadRow], Setup]) -> list[Checkup]:
    """Each open run of a database, the last used first. `setup_of` gives the program's workflow that a run goes on
    with, or raises a `FlowError` that says why there is none."""
    found = []
    for row in saver.threads():
        if row.status in (*UNFINISHED, "cancelled"):
            found.append(await _examined(saver, setup_of, row))
    return found


async def _examined(saver: Saver, setup_of: Callable[[ThreadRow], Setup], row: ThreadRow) -> Checkup:
    def said(verdict: Verdict, why: str, report: Report | None = None) -> Checkup:
        return Checkup(row.id, row.workflow, verdict, why, report=report or Report())

    if row.owner is not None:
        return said("live", "a process runs it")
    try:
        setup = setup_of(row)
    except FlowError as error:
        return said("decide", str(error))
    run = _dry_run(saver, setup, row)
    try:
        rehearsal = await rehearse(run)
    except NonDeterminismError as error:
        return said("decide", str(error).partition("\n")[0], run.root.counted_report())
    except (Exception, SystemExit) as error:  # the one run's, which the others don't end with
        what = str(error) if isinstance(error, FlowError) else f"{type(error).__name__}: {error}"
        return said("decide", f"it fails before it runs anything: {what}", run.root.counted_report())
    return _told(row, run.root.counted_report(), rehearsal)


def _dry_run(saver: Saver, setup: Setup, row: ThreadRow) -> Run:
    dry = _Dry(saver)
    journal = Journal(dry, Lease(row.id, 0), "sync")
    settings = replace(setup.ready, context=None)
    return Run(setup.program, loop_hosts(), journal, RunConfig(row.id), settings, dry.serde)


def _told(row: ThreadRow, report: Report, rehearsal: Rehearsal) -> Checkup:
    calls, left = rehearsal.stopped, tuple(info.summary for info in rehearsal.left)
    following = tuple(_summary(call) for call in calls)
    if rehearsal.lost:
        why = "nothing of the program is due: restore what it stopped at, such as a node that was renamed"
        return Checkup(row.id, row.workflow, "decide", why, report=report)
    anew = any(each.kind in _ANEW for each in report) or bool(left)
    verdict: Verdict = "anew" if anew else "continues"
    reasons = [*_reasons(report, following, left), *dict.fromkeys(rehearsal.waits)]
    why = "; ".join(reasons) or "nothing is left to run"
    return Checkup(row.id, row.workflow, verdict, why, following, left, report)


def _summary(call: Any) -> CallSummary:
    """Of a graph's task, the node."""
    return call.summary if call.node is None else CallSummary(call.node.name, "", "")


def _reasons(report: Report, following: Sequence[CallSummary], left: Sequence[CallSummary]) -> Iterator[str]:
    """In words that are the same for runs that fare alike: names of calls, without their arguments."""
    for kind, text in _REUSED.items():
        if names := _names(each.current for each in report if each.kind == kind):
            yield f"{names} {text}"
    if names := _names(each.current for each in report if each.kind == "rerun"):
        yield f"{names} runs again, since its code changed"
    if names := _names(each.recorded for each in report if each.kind in ("new", "orphan")):
        yield f"recorded calls of {names} are not asked for any more"
    if following:
        yield f"{_names(following)} runs next"
    if left:
        yield f"recorded calls of {_names(left)} are not asked for before that"


def _names(calls: Iterable[CallSummary | None]) -> str:
    count = Counter(call.name for call in calls if call is not None)
    return ", ".join(name if number == 1 else f"{name} ({number})" for name, number in count.items())


class _Dry(SaverAround):
    """A saver that is read, and writes nothing."""

    inline = True
    keeps_deltas = True

    def __init__(self, inner: Saver) -> None:
        super().__init__(inner)
        self.kept: set[str] = set()

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        return Lease(thread, 0)

    def adopt(self, workflow: str, call: str) -> Lease | None:
        return None

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        for commit in commits:
            if commit.written is not None:
                commit.written()
        return [None] * len(commits)

    def release(self, lease: Lease) -> None:
        return None

    def delete_thread(self, thread_id: str) -> None:
        return None

    def close(self) -> None:
        return None

    def keep_sources(self, sources: Mapping[str, bytes]) -> None:
        return None

    def source(self, digest: str) -> bytes | None:
        return self.inner.source(digest) if isinstance(self.inner, SourceKeeper) else None
