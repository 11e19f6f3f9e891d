"""Whose a recorded call is that branches of one code make equal ones of.

Rule: it is its own branch's, as long as that may still come for it; another branch that comes upon it is held until it
has been claimed, or that is sure not to come. A branch won't that has made a later one of its calls again, nor one that
does another's work, or whose work another does: what takes an item from a queue is whoever was free. Nor does one that
has had the outcome of a new call, while its code is as it was: when its number left the record, it had had none. Where
a branch is there and in no such way gone astray, and waits for something else, it will come, and its records are no one
else's. That needs branches to have the numbers that they had: a branch has if it was recognised as one that has left
records, or has come upon one of its own, and, as long as nobody knows better, where the code wasn't edited.
One that is new among recorded ones of its function gets no record of a branch that isn't there, where several had made
such a call: it is no other one that an edit has renamed, and those that a later `gather` makes will come for theirs.
What one branch alone has called is told by its arguments: it is of an item, and of whoever takes that from a queue. One
that had none is of no item: where its branch was recognised, it is left to that, however long that takes to come.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.records.record import CallInfo, Record


class Recognised(Protocol):
    """What is known of the recorded branches, and of which are there again; see `hosts/recognising.py`."""

    def has_come_again(self, branch: int) -> bool:
        """Whether one was recognised as the recorded one of that number."""

    def is_one_more(self, branch: int) -> bool:
        """Whether one is surely new, beside recorded ones of its function."""

    def is_by_several(self, info: CallInfo) -> bool:
        """Whether several have made a recorded call, but for times and ids."""


class Branches:
    """How far the branches of a frame's code have come in their recorded calls."""

    def __init__(self, code: str, recognised: Recognised, come: int = 0) -> None:
        """`come`: how far what calls the code had come before it had others."""
        self._code = code
        """The fingerprint of the code."""
        self._has_come_again = recognised.has_come_again
        self._is_one_more = recognised.is_one_more
        self._is_by_several = recognised.is_by_several
        self._come: dict[int, float] = {0: come} if come else {}
        """When the latest call was made that each has made again, as `CallInfo.born`."""
        self._held: set[Call] = set()
        """The calls that came upon another branch's record, and are held."""
        self._holds: Counter[int] = Counter()
        """How many of these each branch has made."""
        self.expected: set[int] = set()
        """The branches that are there, and wait for nothing that others do."""
        self.late: set[int] = set()
        """Those that were recognised, and hadn't come upon a record of their own as long as there was patience: others
        may have their items by now."""
        self.apart = False
        """Whether a call was a new one though another branch's record was left that equals it: from then on occurrences
        don't count as they did when that was recorded."""
        self._with_news: set[int] = set()
        """The branches, but for what calls the code, that have had the outcome of a new call."""

    def keep(self, record: Record, branch: int) -> bool:
        """Whether the record that a branch comes upon is kept for the one that it is of."""
        info = record.info
        if info is None or info.branch == branch or self._holds[info.branch]:
            return False
        if info.branch in self._with_news and info.scope_code == self._code:
            return False
        return self.come(info.branch) <= info.born

    def come(self, branch: int) -> float:
        """How far a branch has come; infinitely, if it won't come for any record."""
        return self._come.get(branch, 0)

    def expect(self, branch: int, *, all_wait: bool) -> bool:
        """Say of a branch that is there, and isn't busy, that it will come: it has come upon a record of its own; or it
        may yet come for one, and all branches wait, or it was recognised. Whether that wasn't said yet."""
        if branch == 0 or branch in self._come or (all_wait and self.may_come(branch)):
            said = self.expected
        elif self._has_come_again(branch) and self.may_come(branch):
            said = self.late
        else:
            return False
        is_news = branch not in said
        said.add(branch)
        return is_news

    def tells(self, record: Record, branch: int) -> bool:
        """Whether a branch is told from the one that a record is of: by their numbers, or as that one is there."""
        info = record.info
        return info is not None and (self._numbers_hold(info, branch) or self._has_come_again(info.branch))

    def is_others(self, record: Record, branch: int) -> bool:
        """Whether the record that a branch comes upon is of one that is expected to come for it, or may be."""
        info = record.info
        if info is None:
            return False
        if self._is_strange(info, branch):
            return True
        is_expected = info.branch in self.expected or (info.branch in self.late and not info.arguments)
        if not is_expected or not self.keep(record, branch):
            return False
        if self._numbers_hold(info, branch):
            return True
        # What two recorded branches share, as workers do a queue, may have gone to the other one.
        is_new = branch != 0 and not self._has_come_again(branch)
        return is_new and self.may_come(info.branch) and self._has_come_again(info.branch)

    def _is_strange(self, info: CallInfo, branch: int) -> bool:
        """Whether a branch of edited code is surely new, and the recorded one, which isn't there, may be still to be
        made."""
        if not info.branch or info.scope_code == self._code or not self._is_one_more(branch):
            return False
        return not self._has_come_again(info.branch) and self._is_by_several(info)

    def _numbers_hold(self, info: CallInfo, branch: int) -> bool:
        """Whether a branch and the one of a recorded call have the numbers that they had as that was made."""
        return info.scope_code == self._code or branch in self._come

    def may_come(self, branch: int) -> bool:
        """Whether a branch that has come upon no record of its own may yet come for them: it has had the outcome of no
        new call, so that it isn't at another item."""
        return branch not in self._with_news

    def hold(self, call: Call) -> None:
        """A call of one branch came upon the record of another, and is held."""
        self._held.add(call)
        self._holds[call.branch] += 1

    def let_go(self, call: Call) -> None:
        """It isn't held any more."""
        if call in self._held:
            self._held.remove(call)
            self._holds[call.branch] -= 1

    def has_news(self, branch: int) -> None:
        """A new call of a branch has an outcome."""
        if branch:
            self._with_news.add(branch)

    def claim(self, record: Record, branch: int) -> None:
        """A branch goes on with a record."""
        info = record.info
        if info is None:
            return
        if info.branch != branch:
            self._come[branch] = self._come[info.branch] = inf
        else:
            self._come[branch] = max(info.born, self.come(branch))
