"""Which recorded calls may be those of a function that shares its name with others: lambdas, and what factories make.

Rule: a record is a function's if the function has its code and was made with the same (see `captured`). Else the
function has been edited, or it is another one of that name. With the same captured values it was edited, if no other
one known has them; with others it was, if no other one is known at all. Neither holds where the records that are
left are of several codes, as those of functions of which one has gone: then nothing tells whose it is. Known are those
that were made together with it and that the calling code names as well, as far as it names it by itself or in a
container; and those that the same code has called in this attempt. One that is made inside the run is a part of the
calling code: while that is the same, it was not edited. Functions that nothing tells apart share their records, in the
order of their calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.identity.code.fingerprint import reached
from flowfn.identity.code.functions import function_of
from flowfn.identity.made_with.captured import untold
from flowfn.identity.names import qualified_name
from flowfn.python.cached_property import cached_property

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.records.record import Record
    from flowfn.identity.made_with.together import Namesake


class Maker(NamedTuple):
    """What tells one function from its namesakes: its code, and what it was made with."""

    code: str
    captured: bytes


Group = tuple[int, Maker, str]
"""Of a recorded call: the branch and the code that made it, around the function that it called."""

Alike = dict[Group, deque["Record"]]
"""Recorded calls that only their occurrence tells apart, in its order, by their branch and function."""


class Caller:
    """One attempt at the code that calls: which functions that share a name it has called, and which it names."""

    def __init__(self, definition: Definition) -> None:
        self.code = definition.code
        """The fingerprint of its code."""
        self.called: dict[str, set[Maker]] = {}
        self.alike: dict[tuple[str, bytes], Alike] = {}
        """What is recorded of its calls, by the name and the digest of the arguments."""
        self._definition = definition
        self._claimants: dict[Definition, Claimant] = {}
        self._first: dict[tuple[str, str, bytes], Any] = {}

    def claimant(self, definition: Definition) -> Claimant:
        """A function that it calls, looking for its records."""
        known = self._claimants.get(definition)
        if known is None:
            known = self._claimants[definition] = Claimant(definition, self)
        return known

    def first_like(self, definition: Definition) -> Any:
        """The first function that it has called of those which nothing tells from this one, maybe itself."""
        key = definition.qualified, definition.code, definition.told
        return self._first.setdefault(key, function_of(definition.author_function))

    @cached_property
    def named(self) -> frozenset[Any]:
        """The functions that its code leads to: by names, and in the containers that it names."""
        return reached(self._definition.author_function)


class Claimant:
    """One function, looking for its records among the calls of one caller."""

    def __init__(self, definition: Definition, caller: Caller) -> None:
        self._definition = definition
        self.caller = caller
        self._maker = Maker(definition.code, definition.captured)
        self._called = caller.called.setdefault(definition.qualified, set())
        self._called.add(self._maker)

    @cached_property
    def untold(self) -> str:
        """The class of what it captured by which alone it differs from another function that is known; else empty."""
        definition = self._definition
        function = function_of(definition.author_function)
        others = [self.caller.first_like(definition)]
        others += [
            each.function
            for each in self._made_together()
            if each.parts == (definition.code, definition.told)
        ]
        own = untold(function)
        found = (
            mine for other in others for mine, its in zip(own, untold(other), strict=False) if mine is not its
        )
        return next((qualified_name(type(each)) for each in found), "")

    def fits(self, record: Record) -> bool:
        """Whether a recorded call may be its own."""
        info, code = record.info, record.code
        return info is None or code is None or self._may_be(Maker(code, info.captured), info.scope_code)

    def made(self, record: Record, branch: int) -> bool:
        """Whether a record is of that branch of the calling code as it is, and of this very function."""
        info = record.info
        return (
            info is not None
            and info.branch == branch
            and info.captured == self._maker.captured
            and info.scope_code == self.caller.code
            and record.code == self._maker.code
        )

    def is_alone(self, alike: Alike, branch: int) -> bool:
        """Whether no other function of its name was, or is, called so: then occurrences count its calls, of which one
        that left no record uses up its own."""
        return len(self._called) == 1 and alike.keys() <= {(branch, self._maker, self.caller.code)}

    def take(self, alike: Alike, branch: int) -> Record | None:
        """The next of the recorded calls with equal arguments that is its own and nobody's yet, its branch's first."""
        own = _next(alike.get((branch, self._maker, self.caller.code)))
        if own is not None:
            return own
        groups = [group for group in alike if self._may_be(group[1], group[2])]
        left = {group[1] for group in groups if any(not record.claimed for record in tuple(alike[group]))}
        groups = [group for group in groups if self._is_sure(group[1], left)]
        found = (_next(alike[group]) for group in sorted(groups, key=self._distance))
        return next((record for record in found if record is not None), None)

    def is_sure(self, record: Record, similar: list[Record]) -> bool:
        """Whether a recorded call that may be its own isn't as well another function's than one of the others is."""
        made = [
            Maker(each.code or "", each.info.captured if each.info else b"") for each in (record, *similar)
        ]
        return self._is_sure(made[0], set(made))

    def _is_sure(self, maker: Maker, among: set[Maker]) -> bool:
        if maker == self._maker:
            return True
        rivals = {each for each in among - {maker, self._maker} if each.code != maker.code}
        return all(maker.captured == self._maker.captured != each.captured for each in rivals)

    def _distance(self, group: Group) -> tuple[bool, bool, int]:
        branch, maker, _ = group
        return maker != self._maker, maker.captured != self._maker.captured, branch

    def _may_be(self, recorded: Maker, caller: str) -> bool:
        if recorded == self._maker:
            return True
        if caller == self.caller.code and not self._definition.made:
            return False
        if recorded.captured == self._maker.captured:
            return all(other.captured != recorded.captured for other in self._others())
        return next(self._others(), None) is None

    def _others(self) -> Iterator[Maker]:
        """The other functions that are known, but for those that nothing tells from it: such share their records."""
        known = chain(tuple(self._called), (Maker(*each.parts) for each in self._made_together()))
        return (maker for maker in known if maker != self._maker)

    def _made_together(self) -> Iterator[Namesake]:
        function = self._definition.author_function
        for each in self._definition.made:
            if each.is_other(function) and each.is_known(function, self.caller.named):
                yield each


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
