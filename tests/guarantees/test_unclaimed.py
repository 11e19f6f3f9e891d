"""What is left of recorded calls costs the same to look at beside many as beside few, however few are ever claimed."""

from __future__ import annotations

from typing import Any

from flowfn.engine.records.record import CallInfo, Record
from flowfn.engine.records.unclaimed import Rivals
from flowfn.serde import DEFAULT

MANY = 300


class Watched(Record):
    """A record that counts the looks at whether it is claimed."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "claimed":
            Watched.looks += 1
        return super().__getattribute__(name)


def recorded() -> list[Record]:
    """As many calls of one name, which differ in what no attempt makes anew; two neighbours at a time are alike."""
    records: list[Record] = []
    for number in range(MANY):
        record = Watched(f"task {number}", DEFAULT)
        skeleton = b"skeleton %d" % (number // 2)
        record.info = CallInfo("f", "f", "", skeleton, [], False, 0, number, 0.0, "", "", "", "code", number)
        records.append(record)
    return records


def looks_of(records: list[Record], *, claims: bool) -> int:
    """How often records are looked at where each is found, by all ways, and then claimed or not."""
    rivals, Watched.looks = Rivals(records), 0
    for number, record in enumerate(records):
        assert rivals
        assert record in rivals.like("code", b"skeleton %d" % (number // 2))
        assert [*rivals.at("code", number)] == [record]
        if claims:
            record.claim()
    return Watched.looks


def test_each_is_found_among_few() -> None:
    """G9: an edit that makes every call a new one costs each of them as much, be it one of ten or of ten thousand."""
    assert looks_of(recorded(), claims=False) <= 5 * MANY


def test_those_that_are_claimed_are_passed_once() -> None:
    """Calls that differ in the clock alone each claim theirs, and leave none to be passed over by those behind."""
    assert looks_of(recorded(), claims=True) <= 6 * MANY


def test_what_is_claimed_is_not_there() -> None:
    """A record that a call has claimed is no other call's, by whichever way it was found before."""
    records = recorded()
    rivals = Rivals(records)
    first, second = records[:2]
    assert [*rivals.like("code", b"skeleton 0")] == [first, second]
    second.claim()
    assert [*rivals.like("code", b"skeleton 0")] == [first]
    assert [*rivals.at("code", 1)] == []
    assert [*rivals] == [first, *records[2:]]


def test_nothing_is_like_what_was_never_recorded() -> None:
    """Calls of other code, and of arguments that no record has, find none."""
    rivals = Rivals(recorded())
    assert not rivals.like("other code", b"skeleton 0")
    assert not rivals.like("code", b"skeleton")
    assert not rivals.at("other code", 0)
    assert not Rivals([])
