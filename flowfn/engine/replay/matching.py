"""Which recorded outcome belongs to which call: the rules of call identity, as plain decisions.

A call's identity is (scope, name, digest of its arguments, occurrence). The record of the same identity is reused,
whatever order the calls come in; of equal calls, that of the same branch of the calling code first. Where only fields
differ that a class has got since, or parameters, which are at their defaults, it is the same call. A call that has no
record may still be a recorded one whose arguments are made anew on each attempt: if only the clock differs, its
record is reused; if something random differs, only the author knows, and the run is refused. Where the calling code
was told both times or ids in which the two differ (`similar`), they are two calls. A whole day is the clock's only
where nothing says that it names an item: no recorded call differs from that one in naming another day. Anything else
is a new call. Position alone is never trusted, unless the author asks for it (`on_divergence="reuse"`): it is the
call's place among those of its name, whatever order they were recorded in. Even then a record that the call is in doubt
with comes first, wherever that stands, as items may have moved.

Nothing here waits, runs or reads a record's value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from flowfn.definition import OnDivergence
from flowfn.engine.records.unclaimed import NONE

if TYPE_CHECKING:
    from flowfn.engine.records.ledger import Ledger
    from flowfn.engine.records.record import Record
    from flowfn.engine.records.unclaimed import Unclaimed
    from flowfn.engine.replay.namesakes import Claimant
    from flowfn.identity.digest import Digest
    from flowfn.identity.grown import Defaults


class Same(NamedTuple):
    """The call is a recorded one. `how`: "identity", "fields" (but for new ones, or parameters), "clock", "day" (the
    clock's, in a whole day) or "position"."""

    record: Record
    how: str = "identity"


class New(NamedTuple):
    """No record belongs to the call."""


class Ambiguous(NamedTuple):
    """The call may be `record`, or another; `forbidden`: new calls aren't allowed while it is unmatched."""

    record: Record
    forbidden: bool = False


Verdict = Same | New | Ambiguous
NEW = New()

_DAY = re.compile(r"(?:19|20)\d\d(-?)[01]\d\1[0-3]\d")


class Sought(NamedTuple):
    """A call as it is known before it is known which: `task` is the id that it has if it is a new one, `scope_code` the
    fingerprint of the code that makes it, `position` how many of its name its scope had made before, and `defaults`
    those of its parameters."""

    task: str
    scope: str
    scope_code: str
    name: str
    digest: Digest
    occurrence: int
    position: int
    defaults: Defaults = ()


class Seeker(Protocol):
    """Who looks for the record of a call."""

    def claimant(self) -> Claimant | None:
        """The function that is called, where it shares its name with others: it claims no records of theirs."""

    def is_others(self, record: Record) -> bool:
        """Whether a record is of another branch, which is expected to come for it."""

    def possible(self, similar: Unclaimed) -> Iterator[Record]:
        """Those of similar records whose arguments may be made anew where they differ."""

    def by_the_clock(self, similar: Unclaimed) -> Iterator[Record]:
        """Those of them that differ only in what the clock makes anew."""


def judge(
    ledger: Ledger, sought: Sought, policy: OnDivergence, seeker: Seeker, *, day_is_clock: bool = True
) -> Verdict:
    """Decide what a call is, by the rules above, given what has been claimed so far.

    `day_is_clock` is False where the author has said that a day which may be the clock's names an item.
    """
    scope, scope_code, name, digest = sought.scope, sought.scope_code, sought.name, sought.digest
    record = ledger.records.get(sought.task)
    if record is not None and not record.claimed:
        return Same(record)
    rivals = ledger.rivals(scope, name)
    if not rivals:
        return NEW
    claimant = seeker.claimant()

    def fitting(records: Iterable[Record]) -> Iterator[Record]:
        return (
            each
            for each in records
            if (claimant is None or claimant.fits(each)) and not seeker.is_others(each)
        )

    same = ledger.but_for_defaults(scope, name, digest.form, sought.occurrence, sought.defaults)
    for rival in fitting(same):
        if claimant is None or claimant.is_sure(rival, same):
            return Same(rival, "fields")
    similar = NONE if digest.skeleton is None else rivals.like(scope_code, digest.skeleton)

    for rival in fitting(seeker.by_the_clock(similar) if similar else ()):
        if claimant is not None and not claimant.is_sure(rival, [*fitting(seeker.possible(similar))]):
            continue
        if not differs_in_a_day(rival, digest):
            return Same(rival, "clock")
        if day_is_clock and not ledger.names_an_item(rival):
            return Same(rival, "day")
    if policy == "error":
        return next((Ambiguous(rival, forbidden=True) for rival in fitting(rivals)), NEW)
    if policy == "reuse":
        chosen = fitting(_reused(rivals.at(scope_code, sought.position), similar, digest, seeker))
        return next((Same(rival, "position") for rival in chosen), NEW)
    if policy == "rerun":
        return NEW
    doubted = fitting(seeker.possible(similar) if similar else ())
    return next((Ambiguous(rival) for rival in doubted if rival.finished), NEW)


def _reused(place: Unclaimed, similar: Unclaimed, digest: Digest, seeker: Seeker) -> Iterator[Record]:
    """What `on_divergence="reuse"` takes for a call, the first of them: a record that it would be in doubt with, best
    the one of its place; else that of its place, unless both have leaves that may be made anew: they differ in more."""
    if digest.skeleton is None:
        yield from place
        return
    yield from (
        each for each in seeker.possible(place) if each.info and each.info.skeleton == digest.skeleton
    )
    yield from seeker.possible(similar)
    yield from (each for each in place if each.info and each.info.skeleton is None)


def differs_in_a_day(rival: Record, digest: Digest) -> bool:
    """Whether a leaf in which they differ is a day without a time: that of the call, or the item's that it is about."""
    assert rival.info is not None
    pairs = zip(rival.info.leaves, digest.leaves, strict=False)
    return any(text != leaf.text and _DAY.fullmatch(leaf.text) is not None for (_, _, text), leaf in pairs)
