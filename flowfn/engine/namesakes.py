"""Which recorded calls may be those of a function that shares its name with others: lambdas, and what factories make.

Rule: a record is a function's if the function has its code and was made with the same (see `captured`). Else the
function has been edited, or it is another one of that name. With the same captured values it was edited, if no other
one known has them; with others it was, if no other one is known at all. Known are those that were made together with
it, and those that the same code has called in this attempt. One that is made inside the run is a part of the calling
code: while that is the same, it was not edited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.record import Record


class Maker(NamedTuple):
    """What tells one function from its namesakes: its code, and what it was made with."""

    code: str
    captured: bytes


Group = tuple[int, Maker, str]
"""Of a recorded call: the branch and the code that made it, around the function that it called."""

Alike = dict[Group, deque["Record"]]
"""Recorded calls that only their occurrence tells apart, in its order, by their branch and function."""


class Claimant:
    """One function, looking for its records; `called` are its namesakes that this attempt has called, and itself."""

    __slots__ = ("_called", "_caller", "_definition", "_maker")

    def __init__(self, definition: Definition, caller: str, called: set[Maker]) -> None:
        self._definition = definition
        self._caller = caller
        self._maker = Maker(definition.code, definition.captured)
        self._called = called
        called.add(self._maker)

    def fits(self, record: Record) -> bool:
        """Whether a recorded call may be its own."""
        info, code = record.info, record.code
        return info is None or code is None or self._may_be(Maker(code, info.captured), info.scope_code)

    def take(self, alike: Alike, branch: int) -> Record | None:
        """The next of the recorded calls with equal arguments that is its own and nobody's yet, its branch's first."""
        own = _next(alike.get((branch, self._maker, self._caller)))
        if own is not None:
            return own
        groups = [group for group in alike if self._may_be(group[1], group[2])]
        found = (_next(alike[group]) for group in sorted(groups, key=self._distance))
        return next((record for record in found if record is not None), None)

    def _distance(self, group: Group) -> tuple[bool, bool, int]:
        branch, maker, _ = group
        return maker != self._maker, maker.captured != self._maker.captured, branch

    def _may_be(self, recorded: Maker, caller: str) -> bool:
        if recorded == self._maker:
            return True
        if caller == self._caller and not self._definition.made:
            return False
        if recorded.captured == self._maker.captured:
            return all(other.captured != recorded.captured for other in self._others())
        return next(self._others(), None) is None

    def _others(self) -> Iterator[Maker]:
        yield from (maker for maker in tuple(self._called) if maker != self._maker)
        function = self._definition.author_function
        yield from (Maker(*each.parts) for each in self._definition.made if each.is_other(function))


def _next(records: deque[Record] | None) -> Record | None:
    """The first of them that nobody has claimed; those before it are dropped."""
    while records:
        try:
            record = records.popleft()
        except IndexError:  # another thread's, a moment ago
            break
        if not record.claimed:
            return record
    return None
