"""The rows of the report: how the calls of this attempt compare with their records.

Rule: they are told, and decide nothing; what the author has to decide is `refusing`'s.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from flowfn.engine.calls.identifying import claimant_of
from flowfn.engine.records.record import one_row
from flowfn.engine.replay.causes import cause_of, cause_of_orphan
from flowfn.ports import Writes
from flowfn.row_channels import REPORT, RUN_TASK

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.records.journal import Journal
    from flowfn.engine.records.record import CallInfo, Record
    from flowfn.engine.runs.run import Run


def report_alike(call: Call, record: Record, how: str) -> None:
    """Say of a call that it got a record which isn't quite its own; `how` is what `matching.Same` says."""
    report = call.run.root.report
    if how == "position":
        report.add("position", record.summary, call.summary, "reused by its position, as on_divergence says")
    elif how == "fields":
        report.add(
            "fields",
            record.summary,
            call.summary,
            "only fields that were added since, what is at its parameter's default, or names of a class or an enum's "
            "member, differ: reused",
        )
    else:
        report.add("clock", record.summary, call.summary, "only the time differs: reused")


def report_in_doubt(call: Call, record: Record) -> None:
    """Say of a call that its record doesn't know how it ended."""
    settled = {"rerun": "runs again", "ask": "a human is asked"}
    next_step = settled.get(str(call.definition.in_doubt), "it is verified")
    reason = f"it had started, and had not finished: {next_step}"
    call.run.root.report.add("in_doubt", record.summary, call.summary, reason)


def report_weak(call: Call, reused: Record | None) -> None:
    """Say of a call that no more than the type of an argument is known, or of what its function captured: another
    object may be meant."""
    if call.digest is None:
        return
    if kind := call.digest.weak:
        why = (
            f"a value of type {kind} counts by its type and what it was given alone: give the class an __eq__, as "
            "@dataclass does, or say what tells the calls apart with key=, or leave the argument out with ignore="
        )
    elif call.definition.made_with and len(call.definition.made) != 1 and (kind := _untold(call)):
        why = (
            f"another function of its name captured another {kind}, and that counts by its type alone: "
            "make its class a dataclass, or give each function a name of its own, task(name=…)"
        )
    else:
        return
    what, summary = ("ran", None) if reused is None else ("reused", reused.summary)
    call.run.root.report.add("weak", summary, call.summary, f"{what}, though {why}")


def _untold(call: Call) -> str:
    """The type of what its function captured and nothing tells apart; empty where there is no such thing."""
    assert call.parent is not None
    claimant = claimant_of(call.parent, call.definition)
    return "" if claimant is None else claimant.untold


def report_rows(run: Run, journal: Journal) -> list[Writes]:
    """The report of a resumed run as it stands, as a row that replaces the last one."""
    if not run.root.report.resumed:
        return []
    data = journal.serde.dumps(run.root.counted_report().to_data())
    return [Writes("", run.checkpoint.id, [one_row(RUN_TASK, REPORT, data)])]


def report_orphans(run: Run) -> None:
    """Say what was recorded and nobody asked for, beside the calls that ran in its place."""
    if not run.ledger.records and not run.newcomers:
        return
    orphans = list(run.ledger.orphans())
    report_newcomers(run, orphans)
    for info in orphans:
        run.root.report.add(
            "orphan", info.summary, None, *cause_of_orphan(run, info, run.callers.get(info.scope))
        )


def report_newcomers(run: Run, orphans: Iterable[CallInfo]) -> list[CallInfo]:
    """Say of each call that ran while recorded ones of its name were left in the place of which it did: the first of
    them with the first, in their order. Those recorded ones in whose place none did."""
    left: dict[tuple[str, str], deque[CallInfo]] = {}
    for info in sorted(orphans, key=lambda info: info.position):
        left.setdefault((info.scope, info.qualified), deque()).append(info)
    for call in run.newcomers:
        if rivals := left.get((call.info.scope, call.info.qualified)):
            rival = rivals.popleft()
            run.root.report.add("new", rival.summary, call.summary, *cause_of(call, rival))
    run.newcomers.clear()
    return [info for infos in left.values() for info in infos]
