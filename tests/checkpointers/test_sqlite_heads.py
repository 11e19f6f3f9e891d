"""What a saver knows of its threads: a commit trusts nothing that somebody else may have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from checkpointers.conformance.rows import (
    THREAD,
    PlainSerde,
    checkpoint,
    claimed,
    ids,
    loaded,
    put,
    write,
    writes,
)
from checkpointers.sqlite import commits
from flowfn.errors import LeaseLost, SaverError
from flowfn.ports import CheckpointRow, Commit, Versioned

SHARED = b"what all of them share"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def saver(file: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver(file, serde=PlainSerde()) as saver:
        yield saver


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the checkpoints for which a saver looked at what there is around them."""
    found: list[str] = []
    look: Callable[..., None] = commits._look_and_put

    def noted(db: Any, heads: Any, thread: Any, row: CheckpointRow) -> None:
        found.append(row.id)
        look(db, heads, thread, row)

    monkeypatch.setattr(commits, "_look_and_put", noted)
    return found


def step(number: int) -> CheckpointRow:
    """A checkpoint of a chain: its channel `a` has a value of its own, `b` that of the first."""
    values = {"a": Versioned(number, own(number))}
    if number == 1:
        values["b"] = Versioned(1, SHARED)
    parent = None if number == 1 else f"c{number - 1}"
    return checkpoint(f"c{number}", parent, versions={"a": number, "b": 1}, values=values)


def own(number: int) -> bytes:
    return b"the value that was put with checkpoint %d" % number


def chain(saver: SqliteSaver, first: int, last: int) -> None:
    for number in range(first, last + 1):
        put(saver, step(number), writes(f"c{number}", write(f"task {number}")))


def holds(saver: SqliteSaver, last: int) -> None:
    """The chain is there, in its order, with its values and writes."""
    assert ids(saver.history(THREAD)) == [f"c{number}" for number in range(last, 0, -1)]
    for number in range(1, last + 1):
        found = loaded(saver, "", f"c{number}")
        values = found.checkpoint.values
        assert (values["a"].whole(), values["b"].whole()) == (own(number), SHARED)
        assert [row.task for row in found.writes] == [f"task {number}"]


def test_what_a_run_goes_on_to_is_not_looked_for(saver: SqliteSaver, looks: list[str]) -> None:
    """Only its first checkpoint is: nothing is known then."""
    chain(saver, 1, 10)
    assert looks == ["c1"]
    holds(saver, 10)


def test_nothing_is_looked_for_in_a_thread_that_was_just_created(
    saver: SqliteSaver, looks: list[str]
) -> None:
    """Its run knows all that it has, in any namespace; but not the key that the file's next checkpoint gets."""
    put(saver, checkpoint("other"), thread="other")
    lease = claimed(saver)
    for number in range(1, 4):
        inner = checkpoint(f"inner {number}", namespace=f"inner {number}")
        assert saver.commit([Commit(THREAD, lease, [step(number), inner])]) == [None]
    assert looks == ["other"]
    assert ids(saver.history(THREAD, None)) == ["inner 3", "c3", "inner 2", "c2", "inner 1", "c1"]


@pytest.mark.parametrize("who", ["the saver", "another one"])
def test_what_is_written_to_a_thread_between_its_lease_and_its_first_commit_is_seen(
    file: Path, saver: SqliteSaver, who: str
) -> None:
    """An outsider's checkpoint isn't put twice, and the lease of a thread that was deleted is no more."""
    with SqliteSaver(file, serde=PlainSerde()) as other:
        writer = saver if who == "the saver" else other
        lease = claimed(saver)
        put(writer, step(1))
        assert saver.commit([Commit(THREAD, lease, [step(1), step(2)])]) == [None]
        assert ids(saver.history(THREAD)) == ["c2", "c1"]
        lease = claimed(saver, "deleted")
        writer.delete_thread("deleted")
        (refusal,) = saver.commit([Commit("deleted", lease, [step(1)])])
        assert isinstance(refusal, LeaseLost)
        lease = claimed(saver, "taken")
        claimed(writer, "taken", force=True)
        (refusal,) = saver.commit([Commit("taken", lease, [step(1)])])
        assert isinstance(refusal, LeaseLost)


def test_what_another_saver_wrote_in_between_is_seen(
    file: Path, saver: SqliteSaver, looks: list[str]
) -> None:
    """SQLite tells of it, whatever it was; here, that keys were given out."""
    with SqliteSaver(file, serde=PlainSerde()) as other:
        for number in range(1, 9):
            put((saver, other)[number % 2], step(number), writes(f"c{number}", write(f"task {number}")))
    assert looks == [f"c{number}" for number in range(1, 9)]
    holds(saver, 8)


def test_a_run_whose_thread_was_taken_over_is_refused(file: Path, saver: SqliteSaver) -> None:
    """By this saver or another one: what it knew of its lease counts no more."""
    with SqliteSaver(file, serde=PlainSerde()) as other:
        for taker in (saver, other):
            lease = claimed(saver, force=True)
            assert saver.commit([Commit(THREAD, lease, [step(1)])]) == [None]
            claimed(taker, force=True)
            (refusal,) = saver.commit([Commit(THREAD, lease, [step(2)])])
            assert isinstance(refusal, LeaseLost)
            saver.delete_thread(THREAD)


def test_a_checkpoint_that_was_named_before_is_put_where_it_was_named(saver: SqliteSaver) -> None:
    """Though its parent was put last, and it seems to be new: what was written under it stays."""
    chain(saver, 1, 2)
    put(saver, writes("c3", write("task 3")))
    put(saver, writes("c2", write("task 2")))
    put(saver, step(3))
    holds(saver, 3)


def test_a_checkpoint_that_was_put_before_is_put_again(saver: SqliteSaver, looks: list[str]) -> None:
    """It is found in the way of the new one, and takes its place; commits that came along with it are made."""
    chain(saver, 1, 3)
    put(saver, step(2), thread="another")
    looks.clear()
    refusals = saver.commit([Commit("another", None, [step(3)]), Commit(THREAD, None, [step(2), step(3)])])
    assert refusals == [None, None]
    assert looks == ["c2", "c3", "c2", "c3"]
    holds(saver, 3)


def test_what_was_undone_was_never_known(saver: SqliteSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of a commit that failed are given out again."""
    chain(saver, 1, 2)

    def full(*columns: Any) -> None:
        raise SaverError("disk full")

    with monkeypatch.context() as broken:
        broken.setattr(commits, "_settle", full)
        (refusal,) = saver.commit([Commit(THREAD, None, [step(3)], status="done")])
    assert isinstance(refusal, SaverError)
    chain(saver, 3, 5)
    holds(saver, 5)


def test_a_thread_that_was_deleted_begins_anew(saver: SqliteSaver) -> None:
    """Nothing of it is shared, and no key comes back."""
    chain(saver, 1, 3)
    saver.delete_thread(THREAD)
    chain(saver, 1, 3)
    holds(saver, 3)
