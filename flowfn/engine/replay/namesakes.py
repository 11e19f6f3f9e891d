"""Which recorded calls may be those of a function that shares its name with others: lambdas, and what factories make.

Rule: a record is a function's if the function has its code and was made with the same (`identity.made_with.captured`).
Else the function was edited since, or the record is of another one of that name:

- it captured the same as the record says: it was edited, if no other function that is known captured that,
- it captured something else: it was edited, if no other one is known at all,
- it was made inside the run, as a part of the calling code: it wasn't edited while that is the same.

Known are those that the calling code names, by themselves or in a container; those that it has called in this attempt;
and, where it doesn't name this one, those that were made together with it. Functions that nothing tells apart share
their records, in the order of their calls.

A record says whether its function was alone, with no other one called or named by then. Of equal calls whose functions
all were alone, the functions are versions of one, and get the records in the order of the calls. Where one of them
wasn't alone, some records may be of a function that has gone: one that captured something else is then nobody's, and so
is one that captured the same, if another such record is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.identity.code.fingerprint import reached
from flowfn.identity.code.functions import function_of
from flowfn.identity.made_with.captured import untold
from flowfn.identity.made_with.together import Maker, named_like
from flowfn.identity.names import qualified_name
from flowfn.python.cached_property import cached_property

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.records.record import Record
    from flowfn.identity.made_with.together import Namesake


class Group(NamedTuple):
    """Of a recorded call: the branch and the code that made it, around the function that it called."""

    branch: int
    maker: Maker
    caller: str
    alone: bool


class Alike(dict[Group, deque["Record"]]):
    """Recorded calls that only their occurrence tells apart, in its order, by their branch and function."""

    @cached_property
    def were_alone(self) -> bool:
        """Whether nobody who made one knew another function of the name."""
        return all(group.alone for group in self)


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

    def calls(self, definition: Definition) -> None:
        """A function is called."""
        self.called.setdefault(definition.qualified, set()).add(definition.maker)

    def is_alone(self, definition: Definition) -> bool:
        """Whether it has called, and its code names, no other function of the name of one that it has called.

        What was made together and isn't named doesn't count: it may be waiting to be collected as garbage.
        """
        if len(self.called.get(definition.qualified, ())) > 1:
            return False
        return len(definition.made) <= 1 or not self.claimant(definition).has_named_others

    def claimant(self, definition: Definition) -> Claimant:
        """A function that it calls, looking for its records."""
        known = self._claimants.get(definition)
        if known is None:
            self.calls(definition)
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
        self._maker = definition.maker
        self._called = caller.called[definition.qualified]

    @property
    def is_alone(self) -> bool:
        """Whether no other function of its name is known."""
        return next(self._others(), None) is None

    @cached_property
    def has_named_others(self) -> bool:
        """Whether the calling code names another function of its name."""
        return any(each.maker != self._maker for each in self._named())

    @cached_property
    def untold(self) -> str:
        """The class of what it captured by which alone it differs from another function that is known; else empty."""
        definition = self._definition
        own = untold(function_of(definition.author_function))
        if not own:
            return ""
        others = [self.caller.first_like(definition)]
        others += [
            each.function for each in self._made_beside() if each.maker == (definition.code, definition.told)
        ]
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

    def is_only(self, alike: Alike, branch: int) -> bool:
        """Whether no other function of its name was, or is, called so: then occurrences count its calls, of which one
        that left no record uses up its own."""
        own = self._own(branch)
        return len(self._called) == 1 and len(alike) <= len(own) and alike.keys() <= set(own)

    def take(self, alike: Alike, branch: int, is_kept: Callable[[Record], bool]) -> Record | None:
        """The next of the recorded calls with equal arguments that is its own and nobody's yet, its branch's first.

        One that `is_kept` for another branch is left where it is.
        """
        if alike.were_alone and self.is_alone:
            versions = self._possible(alike)
            groups = sorted(versions, key=lambda group: (group.branch != branch, versions[group]))
            return _take(alike, groups, is_kept)
        own = _take(alike, self._own(branch), is_kept)
        if own is not None:
            return own
        left = self._possible(alike)
        makers = {group.maker for group in left}
        sure = [group for group in left if self._is_sure(group.maker, makers, alone=alike.were_alone)]
        return _take(alike, sorted(sure, key=self._distance), is_kept)

    def is_sure(self, record: Record, similar: list[Record]) -> bool:
        """Whether a recorded call that may be its own isn't as well another function's than one of the others is."""
        infos = [(each.code or "", each.info) for each in (record, *similar) if each.info is not None]
        makers = [Maker(code, info.captured) for code, info in infos]
        return self._is_sure(makers[0], set(makers), alone=all(info.alone for _, info in infos))

    def _is_sure(self, maker: Maker, among: set[Maker], *, alone: bool) -> bool:
        if alone or maker == self._maker:
            return True
        rivals = among - {maker, self._maker}
        return maker.captured == self._maker.captured not in {each.captured for each in rivals}

    def _own(self, branch: int) -> tuple[Group, Group]:
        maker, code = self._maker, self.caller.code
        return Group(branch, maker, code, alone=True), Group(branch, maker, code, alone=False)

    def _possible(self, alike: Alike) -> dict[Group, int]:
        """The groups of which it may be a version, and which occurrence is the next that nobody has claimed."""
        fitting = [group for group in alike if self._may_be(group.maker, group.caller)]
        heads = ((group, _head(alike[group])) for group in fitting)
        return {group: head.info.occurrence for group, head in heads if head is not None and head.info}

    def _distance(self, group: Group) -> tuple[bool, bool]:
        return group.maker != self._maker, group.maker.captured != self._maker.captured

    def _may_be(self, recorded: Maker, caller: str) -> bool:
        if recorded == self._maker:
            return True
        if caller == self.caller.code and not self._definition.made:
            return False
        if recorded.captured == self._maker.captured:
            return all(other.captured != recorded.captured for other in self._others())
        return self.is_alone

    def _others(self) -> Iterator[Maker]:
        """The other functions that are known, but for those that nothing tells from it: such share their records."""
        known = chain(tuple(self._called), (each.maker for each in self._made_beside()))
        return (maker for maker in known if maker != self._maker)

    def _made_beside(self) -> Iterator[Namesake]:
        """Those that are known of the functions that were made before the run, as it was."""
        if not self._definition.made:
            return iter(())
        function = self._definition.author_function
        if function_of(function) in self.caller.named:
            return self._named()
        return chain(self._named(), (each for each in self._definition.made if each.is_other(function)))

    def _named(self) -> Iterator[Namesake]:
        function = self._definition.author_function
        known = named_like(self._definition.qualified, self.caller.named)
        return (each for each in known if each.is_other(function))


def _take(alike: Alike, groups: Iterable[Group], is_kept: Callable[[Record], bool]) -> Record | None:
    """The first record of those groups that nobody has claimed."""
    for group in groups:
        record = _next(alike.get(group))
        if record is not None:
            if is_kept(record):
                alike[group].appendleft(record)
            return record
    return None


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


def _head(records: deque[Record]) -> Record | None:
    """The same, and it stays where it is."""
    with suppress(IndexError):
        return next(record for at in count() if not (record := records[at]).claimed)
    return None
