"""What a call is, of those that are recorded, given what has been claimed so far.

Rule: the record that a call is, is claimed by it, and a call whose record is claimed already is the next of its equals.
Where it is in doubt, or another branch's, nothing is claimed, and the call is held (`holding.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flowfn.engine.calls.identifying import claimant_of, identify_among_equals, identify_apart
from flowfn.engine.replay.matching import Ambiguous, New, Same, Sought, Verdict, judge
from flowfn.futures import Before

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.record import Record
    from flowfn.engine.records.unclaimed import Unclaimed
    from flowfn.engine.replay.namesakes import Claimant

LATER = ("position", "day")
"""How a call is matched only once it is waited for: by then what it would get may be another call's by identity."""


def place(call: Call, frame: Frame, *, waited: bool = False) -> Verdict:
    """What a call is. The record that it is, is its own from now on; see `LATER` for the one that is `waited` for."""
    while isinstance(verdict := judged(call, frame), Same):
        if (not waited and waits_for(verdict, call, frame) is not None) or verdict.record.claim():
            break
    return verdict


def waits_for(verdict: Verdict, call: Call, frame: Frame) -> Before | None:
    """What has to come before a call is placed that is judged so; None if nothing has."""
    if call.behind is not None:
        return Before()
    if isinstance(verdict, New):
        return None
    record, in_doubt = verdict.record, isinstance(verdict, Ambiguous) or verdict.how in LATER
    if frame.keeps(record, call.branch):
        assert record.info is not None
        assert frame.branches is not None
        return Before(record.info.branch, frame.branches.come(record.info.branch), in_doubt)
    return Before() if in_doubt else None


def judged(call: Call, frame: Frame) -> Verdict:
    """What a call would be now."""
    assert call.digest is not None
    definition, run, seeker = call.definition, frame.run, _Seeker(call, frame)
    policy = definition.on_divergence or run.settings.on_divergence
    while True:
        record = run.ledger.records.get(call.task)
        if record is not None and record.claimed:  # by another thread or branch, a moment ago
            identify_among_equals(call, frame, call.digest)
        elif record is not None and seeker.is_others(record):
            identify_apart(call, frame)
        sought = Sought(
            call.task,
            frame.scope,
            frame.call.definition.code,
            definition.qualified,
            call.digest,
            call.occurrence,
            call.position,
            definition.defaults_left_out,
        )
        verdict = judge(run.ledger, sought, policy, seeker, day_is_clock=policy != "rerun")
        if not isinstance(verdict, New) or call.task not in run.ledger.records:
            return verdict  # else another thread has claimed its record meanwhile


class _Seeker:
    """A call of a frame's code, as it looks for its record."""

    __slots__ = ("_call", "_frame")

    def __init__(self, call: Call, frame: Frame) -> None:
        self._call = call
        self._frame = frame

    def claimant(self) -> Claimant | None:
        return claimant_of(self._frame, self._call.definition)

    def is_others(self, record: Record) -> bool:
        return self._frame.is_others(record, self._call.branch)

    def possible(self, similar: Unclaimed) -> Iterator[Record]:
        assert self._call.digest is not None
        return self._frame.run.ledger.similar.possible(similar, self._call.digest, self._frame)

    def by_the_clock(self, similar: Unclaimed) -> Iterator[Record]:
        assert self._call.digest is not None
        return self._frame.run.ledger.similar.by_the_clock(similar, self._call.digest, self._frame)
