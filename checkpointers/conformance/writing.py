"""`commit`: all or nothing, in order, once."""

from __future__ import annotations

import threading
from typing import Any

from checkpointers.conformance.rows import (
    THREAD,
    Contract,
    checkpoint,
    claimed,
    loaded,
    put,
    write,
    writes,
)
from flowfn.errors import LeaseLost
from flowfn.ports import Commit, Lease, Versioned


class WritingContract(Contract):
    """What a commit leaves behind."""

    def test_a_checkpoint_comes_back_as_it_was_put(self) -> None:
        """Every column round-trips, byte for byte."""
        row = checkpoint(
            "c1", "c0", step=7, source="fork", versions={"a": 1}, values={"a": Versioned(1, b"\x00\xff")}
        )
        with self.saver() as saver:
            put(saver, row)
            assert loaded(saver).checkpoint == row

    def test_what_fails_after_a_commit_is_no_word_on_it(self) -> None:
        """Nor on others that are written with it: whoever waits for one may have gone."""

        def gone() -> None:
            raise RuntimeError("Event loop is closed")

        heard: list[str] = []
        with self.saver() as saver:
            commits = [
                Commit(THREAD, items=[checkpoint("c1")], written=gone),
                Commit("another", items=[checkpoint("c1")], written=lambda: heard.append("another")),
            ]
            assert saver.commit(commits) == [None, None]
            assert heard == ["another"]
            assert loaded(saver).checkpoint.id == "c1"

    def test_what_was_committed_is_there_after_reopening(self) -> None:
        """G1: a commit outlives the saver that made it."""
        saver = self.make()
        put(saver, checkpoint("c1"), writes("c1", write("t")))
        with self.reopen(saver) as again:
            assert loaded(again).writes == [write("t")]

    def test_writes_come_back_in_the_order_of_their_commits(self) -> None:
        """Neither task ids nor indexes order them."""
        with self.saver() as saver:
            put(saver, checkpoint("c1"))
            put(saver, writes("c1", write("z", 1), write("z", 0)))
            put(saver, writes("c1", write("a", path="~pull")))
            assert loaded(saver).writes == [write("z", 1), write("z", 0), write("a", path="~pull")]

    def test_a_second_write_of_an_index_is_ignored(self) -> None:
        """G1: what was recorded stays."""
        with self.saver() as saver:
            put(saver, checkpoint("c1"), writes("c1", write("t", 0, b"first")))
            put(saver, writes("c1", write("t", 0, b"second"), write("t", 1, b"new")))
            assert loaded(saver).writes == [write("t", 0, b"first"), write("t", 1, b"new")]

    def test_a_second_write_of_a_negative_index_replaces_the_first(self) -> None:
        """A task has one error, one interrupt, one answer: the last, at the place where it was committed."""
        with self.saver() as saver:
            put(saver, checkpoint("c1"), writes("c1", write("t", -1, b"first"), write("t", 0)))
            put(saver, writes("c1", write("t", -1, b"second")))
            assert loaded(saver).writes == [write("t", 0), write("t", -1, b"second")]

    def test_writes_of_one_index_may_come_together(self) -> None:
        """They count as if each had been committed by itself."""
        several = [write("t", index, data) for index in (0, -1) for data in (b"first", b"second")]
        with self.saver() as saver:
            put(saver, checkpoint("c1"), writes("c1", *several))
            assert loaded(saver).writes == [write("t", 0, b"first"), write("t", -1, b"second")]

    def test_writes_belong_to_one_checkpoint_of_one_namespace(self) -> None:
        """Neither the next checkpoint nor another namespace of the same id shows them."""
        with self.saver() as saver:
            put(saver, checkpoint("c1"), checkpoint("c2", "c1"), checkpoint("c1", namespace="child"))
            put(saver, writes("c1", write("t")))
            assert loaded(saver, "", "c1").writes == [write("t")]
            assert loaded(saver, "", "c2").writes == []
            assert loaded(saver, "child", "c1").writes == []

    def test_writes_may_come_before_their_checkpoint(self) -> None:
        """They wait for it, and it is in the order in which it was put, not named."""
        with self.saver() as saver:
            put(saver, writes("c2", write("t")))
            assert saver.load(THREAD) is None
            put(saver, checkpoint("c1"))
            put(saver, checkpoint("c2", "c1"))
            assert loaded(saver).checkpoint.id == "c2"
            assert loaded(saver).writes == [write("t")]

    def test_a_checkpoint_put_again_is_replaced_in_its_place(self) -> None:
        """Its writes stay, and it isn't the last one because of that."""
        with self.saver() as saver:
            put(saver, checkpoint("c1"), writes("c1", write("t")), checkpoint("c2", "c1"))
            put(saver, checkpoint("c1", metadata=b"new"))
            assert loaded(saver).checkpoint.id == "c2"
            assert loaded(saver, "", "c1").checkpoint.metadata == b"new"
            assert loaded(saver, "", "c1").writes == [write("t")]

    def test_a_stale_lease_writes_nothing(self) -> None:
        """G4: none of a refused commit's rows is stored, whatever their kind."""
        with self.saver() as saver:
            stale = claimed(saver)
            claimed(saver, force=True)
            commit = Commit(THREAD, stale, status="failed", release=True)
            commit.items += [checkpoint("c1"), writes("c1", write("t"))]
            (refusal,) = saver.commit([commit])
            row = saver.thread(THREAD)
            assert isinstance(refusal, LeaseLost)
            assert saver.load(THREAD) is None
            assert row is not None
            assert (row.status, row.owner is None) == ("done", False)

    def test_a_lease_of_an_unknown_thread_writes_nothing(self) -> None:
        """G4: nor does it create the thread."""
        with self.saver() as saver:
            (refusal,) = saver.commit([Commit("nowhere", Lease("nowhere", 1), [checkpoint("c1")])])
            assert isinstance(refusal, LeaseLost)
            assert saver.thread("nowhere") is None

    def test_one_refusal_leaves_the_other_commits(self) -> None:
        """Commits that share a transaction share nothing else; results are in their order."""
        with self.saver() as saver:
            stale = claimed(saver, "stale")
            claimed(saver, "stale", force=True)
            good = claimed(saver, "good")
            commits = [
                Commit("good", good, [checkpoint("c1")]),
                Commit("stale", stale, [checkpoint("c1")]),
                Commit("outside", None, [checkpoint("c1")]),
            ]
            refusals = saver.commit(commits)
            assert [type(refusal) for refusal in refusals] == [type(None), LeaseLost, type(None)]
            assert [saver.load(id) is None for id in ("good", "stale", "outside")] == [False, True, False]

    def test_a_commit_that_cannot_be_stored_fails_alone_and_whole(self) -> None:
        """An item of a wrong type is refused with all of its commit's rows, and nothing else is."""
        with self.saver() as saver:
            strange: Any = "not a row"
            broken = Commit("broken", items=[checkpoint("c1")])
            broken.items.append(strange)
            refusals = saver.commit([broken, Commit(THREAD, items=[checkpoint("c1")])])
            assert [type(refusal) for refusal in refusals] == [TypeError, type(None)]
            assert saver.load("broken") is None
            assert loaded(saver).checkpoint.id == "c1"

    def test_no_commits_are_no_trouble(self) -> None:
        """An empty batch has an empty result."""
        with self.saver() as saver:
            assert saver.commit([]) == []

    def test_a_commit_that_needn_t_wait_is_made(self) -> None:
        """`wait=False` commits where nobody else is writing."""
        with self.saver() as saver:
            assert saver.commit([Commit(THREAD, items=[checkpoint("c1")])], wait=False) == [None]
            assert loaded(saver).checkpoint.id == "c1"

    def test_threads_commit_at_once_and_lose_nothing(self) -> None:
        """Group commit: each caller gets its own answer, and every row is there, in its caller's order."""
        with self.saver() as saver:
            put(saver, checkpoint("c1"))
            names = [f"task-{number}" for number in range(8)]
            refusals: list[Exception | None] = []

            def commit_all(name: str) -> None:
                for index in range(25):
                    refusals.extend(saver.commit([Commit(THREAD, items=[writes("c1", write(name, index))])]))

            workers = [threading.Thread(target=commit_all, args=(name,)) for name in names]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            rows = loaded(saver).writes
            assert refusals == [None] * 200
            for name in names:
                assert [row.index for row in rows if row.task == name] == list(range(25))
