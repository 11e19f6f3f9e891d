"""The ledger of a superstep: the records of its calls and of its nodes' tasks, and who has claimed them.

Rule: a record belongs to one call of an attempt: the first that claims it, on whichever thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.engine.ids import node_scope
from flowfn.engine.records.index import Index, but_for_leaves, without_days
from flowfn.engine.records.record import DOUBT, HANDLER, OF_CALLS, CallInfo, NodeRecord, Record, infos_of
from flowfn.engine.records.rows import decode_plain
from flowfn.engine.records.unclaimed import NONE, Rivals
from flowfn.engine.replay.namesakes import Alike, Group
from flowfn.engine.replay.origins import Anew, Origins
from flowfn.engine.replay.remade import Remade
from flowfn.engine.replay.similar import Similar
from flowfn.identity.grown import Defaults, without_defaults
from flowfn.identity.made_with.together import Maker
from flowfn.ports import Deserializer, WriteRow
from flowfn.report import CallSummary
from flowfn.row_channels import CALL, ERROR, RUN_TASK
from flowfn.values import Write

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call


class Equals(NamedTuple):
    """Calls with equal arguments of one scope's code."""

    of_branch: dict[int, deque[tuple[int, Record | None]]]
    """By branch, with their occurrences: the recorded ones, and those between them that left no record."""
    missing: set[int]
    """The occurrences of these."""
    last: dict[int, int]
    """By branch: which of its recorded ones it has made again."""
    are_all: bool
    """Whether each up to the last is recorded."""

    def add(self, record: Record, info: CallInfo) -> None:
        """Add the next recorded one. What its branch made at the same moment as the one before, it made in one go: an
        occurrence in between is its own, too."""
        known = self.of_branch.setdefault(info.branch, deque())
        last, before = known[-1] if known else (info.occurrence, None)
        if before is not None and before.info is not None and before.info.born == info.born:
            between = range(last + 1, info.occurrence)
            known.extend((number, None) for number in between)
            self.missing.update(between)
        known.append((info.occurrence, record))

    def first_of(self, branch: int) -> Record | None:
        """The first recorded one of a branch, if that has made none again, and calls before it left no record."""
        left = self.of_branch.get(branch)
        return left[0][1] if left and not self.are_all and branch not in self.last else None

    def next_of(self, branch: int) -> tuple[int, Record | None] | None:
        """The next one of a branch that nobody has claimed; None if there is none left."""
        left = self.of_branch.get(branch)
        with suppress(IndexError):  # another thread took the last
            while left:
                number, record = left.popleft()
                following = record or next(each for _, each in left if each is not None)
                if not following.claimed:  # else it was counted before branches were
                    self.last[branch] = number
                    return number, record
        return None

    def may_be_new(self, number: int, branch: int) -> bool:
        """Whether a branch's next call may have an occurrence that wasn't recorded: its own keep their order, from one
        attempt to the next."""
        return number not in self.missing and number > self.last.get(branch, -1)


class Ledger:
    """The recorded calls of one superstep, and which of them this attempt has claimed.

    `nodes` holds what the tasks of nodes wrote, by their ids: rows that carry a path, or, where a program has copied
    its thread by `put_writes` without one, those of channels that no call has.
    """

    def __init__(self, rows: Sequence[WriteRow] = (), serde: Deserializer | None = None) -> None:
        self.records: dict[str, Record] = {}
        self.nodes: dict[str, NodeRecord] = {}
        self.last_index = 0
        self.last_place = 0
        self.lent: dict[str, CallSummary] = {}
        """Records that went to calls of another day, by their task, and those calls."""
        self._dropped: set[str] = set()
        self._anew: Anew | None = None
        self._index: Index | None = None
        if rows:
            self.add(rows, serde)

    def add(self, rows: Iterable[WriteRow], serde: Deserializer | None, first: int = 1) -> None:
        """Take up rows in the order in which they were committed; of the calls' outcomes, the first has this place."""
        rows, place, last, records = list(rows), self.last_place, self.last_index, self.records
        if not rows:
            return
        assert serde is not None
        if self._anew is None:
            self._anew = Anew(serde.loads)
        calls = [value for _, _, channel, value, path in rows if channel == CALL and not path]
        infos = iter(infos_of(decode_plain(serde, calls)))
        for place, row in enumerate(rows, first):
            task, index, channel, _, path = row
            if path or channel not in OF_CALLS:
                self.nodes.setdefault(task, NodeRecord(serde)).rows.append(row)
                if task == RUN_TASK:  # what a command wrote
                    last = max(last, index)
                continue
            record = records.get(task)
            if record is None:
                record = records[task] = Record(task, serde)
            if channel == CALL:
                record.add_call(next(infos))
            else:
                record.add(row, place)
            if index > last:
                last = index
        self._index, self.last_index, self.last_place = None, last, place

    @property
    def is_empty(self) -> bool:
        """Whether nothing is recorded."""
        return not (self.records or self.nodes)

    def writes_at(self, path: tuple[Any, ...]) -> list[Write] | None:
        """What the task of a node wrote; None if it hasn't finished."""
        node = self.nodes.get(node_scope(path)) if self.nodes else None
        return node.writes if node is not None and node.finished else None

    def left_at(self, path: tuple[Any, ...]) -> list[Write] | None:
        """What is left of a task that is given up: what it wrote, or who handled its error; None for nothing."""
        writes = self.writes_at(path)
        if writes is None and (node := self.nodes.get(node_scope(path))) is not None and node.handed_over:
            return self.writes_at((*path, HANDLER))
        return writes

    @property
    def commanded(self) -> list[Write]:
        """What commands wrote beside the superstep."""
        node = self.nodes.get(RUN_TASK)
        return [] if node is None else node.writes

    def unclaimed(self) -> Iterator[Record]:
        """The calls that nobody has asked for yet, in the order in which they were recorded."""
        return (record for record in self.records.values() if not record.claimed and record.info is not None)

    def orphans(self) -> Iterator[CallInfo]:
        """What was recorded and nobody asked for, leaving out what ran under calls that were themselves reused."""
        for record in self.unclaimed():
            info = record.info
            assert info is not None
            if info.qualified == DOUBT:  # once it is settled, nobody asks any more
                continue
            parent = self.records.get(info.scope)
            if parent is None or (parent.claimed and not parent.finished):
                yield info

    def reopen(self, other: Ledger, scope: str) -> None:
        """Take from a newer reading what ran under `scope`, to be claimed again by its next attempt."""
        own = {task: record for task, record in other.records.items() if other.is_under(record, (scope,))}
        while True:
            before = self.records
            records = {**before, **own}
            for task, record in other.records.items():
                if task not in records:
                    record.claim()
                    records[task] = record
            if self.records is before:  # else another thread's attempt took up its own meanwhile
                self.records = records
                return

    def is_under(self, record: Record, scopes: Container[str]) -> bool:
        """Whether a call was made by one of `scopes`, or by a call made by one, and so on."""
        while record.info is not None:
            if record.info.scope in scopes:
                return True
            parent = self.records.get(record.info.scope)
            if parent is None or parent is record:
                return False
            record = parent
        return False

    def equal_calls(self, scope: str, name: str, digest: bytes) -> Equals:
        """The calls that only their occurrence tells apart, in its order, by the branch that made them."""
        equal = [*self._indexed.equal(scope, name, digest)]
        found = Equals({}, set(), {}, not equal or equal[-1][1].occurrence == len(equal) - 1)
        for record, info in equal:
            found.add(record, info)
        return found

    def has_before(self, scope: str, name: str, digest: bytes, branch: int, occurrence: int) -> bool:
        """Whether a branch of a scope's code has left a record of such a call that came before that occurrence."""
        equal = self._indexed.equal(scope, name, digest)
        return any(info.branch == branch and info.occurrence < occurrence for _, info in equal)

    def branches(self, scope: str) -> Iterable[int]:
        """Those of a scope's code that have made recorded calls, in the order of the first of these."""
        made = self._indexed.made.get(scope, ()) if self.records else ()
        return dict.fromkeys(record.info.branch for record in made if record.info is not None)

    def is_by_several(self, info: CallInfo) -> bool:
        """Whether several branches of a scope's code have made a recorded call, but for times and ids."""
        return len(self._indexed.makers.get(but_for_leaves(info), ())) > 1

    def remade(self, scope: str) -> Remade:
        """How far the code of a scope has come in making its calls again, which is at their beginning."""
        return Remade(self._indexed.made.get(scope, ()))

    def calls_alike(self, scope: str, name: str, digest: bytes) -> Alike:
        """The same, also by the function that was called, and with those that came after one which left no record."""
        found = Alike()
        for record, info in self._indexed.equal(scope, name, digest):
            maker = Maker(record.code or "", info.captured)
            found.setdefault(Group(info.branch, maker, info.scope_code, info.alone), deque()).append(record)
        return found

    @property
    def similar(self) -> Similar:
        """Where calls are looked for that differ in times and ids alone."""
        index = self._indexed
        if index.similar is None:
            assert self._anew is not None
            telling = (each for each in index.records.values() if self._tells_of_items(each))
            index.similar = Similar(Origins(telling, self._dropped, self._anew, index.has_fractions))
        return index.similar

    def _tells_of_items(self, record: Record) -> bool:
        """Whether the ids and times in an outcome come again with what they are of. Those of an error that nobody has
        acted on don't come at all, as the call runs again; those that were made once by place, with whatever item."""
        if record.outcome is None or (record.info is not None and record.info.is_of_a_place):
            return False
        return record.outcome.channel != ERROR or self.was_survived(record)

    def note(self, call: Call | None, data: bytes) -> None:
        """Note what a call that ran anew came to, or what was answered: recorded calls may be told apart by that."""
        if self._anew is not None and self.records and self._indexed.volatile:
            self._anew.add(call, data, self._indexed.has_fractions)

    def drop(self, task: str) -> None:
        """Note that the outcome of a recorded call isn't reused."""
        self._dropped.add(task)
        if self._index is not None and self._index.similar is not None:
            self._index.similar.sort_again(task)

    def is_claimed(self, task: str) -> bool:
        """Whether a call of that id is recorded, and another call of this attempt has turned out to be it."""
        record = self.records.get(task)
        return record is not None and record.claimed

    def rivals(self, scope: str, name: str) -> Rivals:
        """The unclaimed calls of a name in a scope."""
        return self._indexed.rivals.get((scope, name), NONE)

    def but_for_defaults(
        self, scope: str, name: str, form: bytes | None, occurrence: int, defaults: Defaults
    ) -> list[Record]:
        """The unclaimed calls of a name in a scope, of that occurrence, that differ from this form only in fields that
        classes have got since, and in what is at its parameter's default; see `identity.grown`."""
        key = without_defaults(form, defaults)
        if key is None:
            return []
        found = self._indexed.by_values(scope, name, defaults).get((occurrence, key), ())
        return [record for record in found if not record.claimed]

    def names_an_item(self, record: Record) -> bool:
        """Whether a call like a recorded one named another day where that names the day of its call.

        Unknown, and so denied, of arguments that are too long to be kept.
        """
        info = record.info
        if info is None or info.form is None:
            return False
        return bool(self._indexed.days.get(without_days(info), set()) - {info.skeleton})

    def was_survived(self, record: Record) -> bool:
        """Whether the calling code is known to have gone on after a recorded error.

        Only then is the error part of what happened; else nobody has acted on it, and the task runs again.
        """
        if record.failed >= record.index:
            return False
        info = record.info
        return info is not None and self._indexed.last_born.get(info.scope, 0) >= record.index

    @property
    def _indexed(self) -> Index:
        """The index of all records: of threads that need it at the same time each makes a whole one."""
        index, records = self._index, self.records
        if index is None or index.records is not records:
            self._index = index = Index(records)
        return index
