"""The index of a ledger: its records by what they are looked for.

Rule: it is made once somebody looks for a record by anything but its id, and is of the records that there were then: a
ledger that has taken up more since makes another one.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator

from flowfn.engine.ids import call_id
from flowfn.engine.records.record import CallInfo, Record
from flowfn.engine.records.unclaimed import Rivals, Unclaimed
from flowfn.engine.replay.similar import Similar
from flowfn.identity.digest import hashed
from flowfn.identity.grown import Defaults, without_defaults
from flowfn.identity.told import mentions_fractions
from flowfn.python.cached_property import cached_property

_DAYS = re.compile(rb"(?:19|20)\d\d(-?)[01]\d\1[0-3]\d")


def without_days(info: CallInfo) -> tuple[str, str, bytes]:
    """What calls have in common that differ in days alone."""
    return info.scope, info.qualified, _DAYS.sub(b"day", info.form or b"")


def but_for_leaves(info: CallInfo) -> tuple[str, str, bytes | None]:
    """What calls have in common that differ in nothing but what may be made anew each time."""
    return info.scope, info.qualified, info.form if info.skeleton is None else info.skeleton


class _ByDigest:
    """Which occurrences there are of calls of one name in a scope: by the digests of their arguments, and those of
    calls of which only their ids tell that."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.told: dict[bytes, list[int]] = {}
        self.untold: set[int] = set()
        for record in records:
            info = record.info
            assert info is not None
            digest = b"" if info.form is None else hashed(info.form)
            if record.task == call_id(info.scope, info.qualified, digest, info.occurrence):
                self.told.setdefault(digest, []).append(info.occurrence)
            else:
                self.untold.add(info.occurrence)


class Index:
    """What is looked for among records: those of a name in a scope, and how late each scope made a call."""

    def __init__(self, records: dict[str, Record]) -> None:
        self.records = records
        """All of them, by their tasks' ids; the ledger's own, as it was."""
        self.by_name: dict[tuple[str, str], list[Record]] = {}
        self.last_born: dict[str, int] = {}
        """By scope, how many outcomes the run had when its last call was made."""
        for record in records.values():
            if (info := record.info) is not None:
                self.by_name.setdefault((info.scope, info.qualified), []).append(record)
                self.last_born[info.scope] = max(self.last_born.get(info.scope, 0), info.born)
        self.rivals = {key: Rivals(found) for key, found in self.by_name.items()}
        self._by_values: dict[tuple[str, str, Defaults], dict[tuple[int, Hashable], list[Record]]] = {}
        self._by_digest: dict[tuple[str, str], _ByDigest] = {}
        self.similar: Similar | None = None
        """Where calls are looked for that differ in times and ids alone; the ledger makes it, which knows what of the
        records is reused."""

    @cached_property
    def volatile(self) -> Unclaimed:
        """The calls that have leaves which may be made anew."""
        return Unclaimed([record for record in self.records.values() if record.info and record.info.leaves])

    @cached_property
    def has_fractions(self) -> bool:
        """Whether some of these leaves are numbers with a fraction that are no times."""
        infos = (record.info for record in self.records.values())
        return mentions_fractions(text for info in infos if info is not None for _, _, text in info.leaves)

    def equal(self, scope: str, name: str, digest: bytes) -> Iterator[tuple[Record, CallInfo]]:
        """The calls of a name in a scope whose arguments have that digest, in the order of their occurrences."""
        found = self._by_digest.get((scope, name))
        if found is None:
            found = self._by_digest[scope, name] = _ByDigest(self.by_name.get((scope, name), ()))
        numbers = {*found.told.get(digest, ()), *found.untold}
        for number in sorted(numbers):
            record = self.records.get(call_id(scope, name, digest, number))
            if record is not None and record.info is not None:
                yield record, record.info

    def by_values(
        self, scope: str, name: str, defaults: Defaults
    ) -> dict[tuple[int, Hashable], list[Record]]:
        """The calls of a name in a scope by their occurrence, and what isn't at its default in their arguments."""
        found = self._by_values.get((scope, name, defaults))
        if found is None:
            found = {}
            for record in self.by_name.get((scope, name), ()):
                if (info := record.info) is not None:
                    left = without_defaults(info.form, defaults)
                    found.setdefault((info.occurrence, left), []).append(record)
            self._by_values[scope, name, defaults] = found
        return found

    @cached_property
    def made(self) -> dict[str, list[Record]]:
        """The calls that each scope's code made."""
        found: dict[str, list[Record]] = {}
        for record in self.records.values():
            if (info := record.info) is not None:
                found.setdefault(info.scope, []).append(record)
        return found

    @cached_property
    def makers(self) -> dict[tuple[str, str, bytes | None], set[int]]:
        """The branches that made calls which differ in nothing but what may be made anew each time."""
        found: dict[tuple[str, str, bytes | None], set[int]] = {}
        for record in self.records.values():
            if (info := record.info) is not None:
                found.setdefault(but_for_leaves(info), set()).add(info.branch)
        return found

    @cached_property
    def days(self) -> dict[tuple[str, str, bytes], set[bytes | None]]:
        """The skeletons of calls that differ in days alone: one for all of those that name the day of their call."""
        found: dict[tuple[str, str, bytes], set[bytes | None]] = {}
        for record in self.records.values():
            if (info := record.info) is not None and info.form is not None:
                found.setdefault(without_days(info), set()).add(info.skeleton)
        return found
