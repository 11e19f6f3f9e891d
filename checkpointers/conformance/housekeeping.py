"""Forgetting and copying: what is kept reads as before."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from checkpointers.base import CheckpointSaver
from checkpointers.conformance.langgraph import CONFIG, document, put_chain
from checkpointers.conformance.rows import (
    THREAD,
    Contract,
    checkpoint,
    claimed,
    ids,
    loaded,
    made,
    put,
    refused,
    write,
    writes,
)
from flowfn.errors import InvalidInput, ThreadBusy
from flowfn.ports import Begin, Busy, CheckpointRow, Commit, Lease, Versioned, WriteRow

TEXTS = [b"the first value" + b", longer" * n for n in range(5)]

Kept = list[tuple[str, dict[str, bytes | None], dict[str, int], list[WriteRow]]]


def fill(saver: CheckpointSaver, thread: str = THREAD, namespace: str = "") -> None:
    """Five checkpoints, each of which changes what the one before has, and has a write."""
    versions = {f"quiet {n}": 1 for n in range(40)}
    values = {name: Versioned(1, name.encode()) for name in versions} | {"a": Versioned(1, TEXTS[0])}
    row = checkpoint("c1", namespace=namespace, versions={"a": 1, **versions}, values=values)
    put(saver, row, writes("c1", write("t1"), namespace=namespace), thread=thread)
    for n, (old, new) in enumerate(pairwise(TEXTS), 2):
        value = Versioned(n, None, (made(old, new),)) if saver.keeps_deltas else Versioned(n, new)
        row = checkpoint(
            f"c{n}", f"c{n - 1}", namespace=namespace, versions={"a": n, **versions}, values={"a": value}
        )
        put(saver, row, writes(f"c{n}", write(f"t{n}"), namespace=namespace), thread=thread)


def kept(saver: CheckpointSaver, thread: str = THREAD) -> Kept:
    """All that a thread's checkpoints hold, the last committed first."""
    return [
        (
            f"{row.namespace}/{row.id}",
            {name: held.whole() for name, held in row.values.items()},
            dict(row.versions),
            list(found.writes),
        )
        for found in saver.history(thread, None)
        for row in [found.checkpoint]
    ]


class HousekeepingContract(Contract):
    """`places`, `forget`, `prune`, `copy_thread`, `delete_for_runs` and `retention`."""

    def test_the_last_of_each_namespace_are_kept_as_they_were(self) -> None:
        """With their writes, and the values that they share with those that are gone (G6)."""
        with self.saver() as saver:
            fill(saver)
            fill(saver, namespace="below")
            fill(saver, "other")
            before, other = kept(saver), kept(saver, "other")
            assert saver.keep_last(THREAD, 2) == 6
            assert kept(saver) == [before[0], before[1], before[5], before[6]]
            assert kept(saver, "other") == other
            assert [saver.keep_last(THREAD), saver.keep_last(THREAD), saver.keep_last("nobody")] == [2, 0, 0]
            assert kept(saver) == [before[0], before[5]]
            assert saver.thread("nobody") is None

    def test_any_may_be_forgotten(self) -> None:
        """The first, those between, the last; what comes later builds on what is left."""
        with self.saver() as saver:
            fill(saver)
            before = {place: rest for place, *rest in kept(saver)}
            saver.forget(THREAD, [("", "c1"), ("", "c3")])
            assert {place: rest for place, *rest in kept(saver)} == {
                place: before[place] for place in ("/c2", "/c4", "/c5")
            }
            saver.forget(THREAD, [("", "c5"), ("", "nobody"), ("below", "c4")])
            assert ids(saver.history(THREAD)) == ["c4", "c2"]
            change = Versioned(9, None, (made(TEXTS[3], TEXTS[4]),))
            value = change if saver.keeps_deltas else Versioned(9, TEXTS[4])
            put(saver, checkpoint("c6", "c4", versions={"a": 9, "quiet 0": 1}, values={"a": value}))
            found = loaded(saver).checkpoint.values
            assert {name: held.whole() for name, held in found.items()} == {
                "a": TEXTS[4],
                "quiet 0": b"quiet 0",
            }

    def test_what_was_forgotten_may_come_again(self) -> None:
        """As another checkpoint of the same id, with nothing of the old one."""
        with self.saver() as saver:
            fill(saver)
            last = kept(saver)[0]
            saver.keep_last(THREAD)
            put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"anew")}))
            assert loaded(saver, "", "c1").writes == []
            assert kept(saver) == [("/c1", {"a": b"anew"}, {"a": 1}, []), last]
            saver.delete_thread(THREAD)
            assert kept(saver) == []

    def test_branches_keep_what_they_share(self) -> None:
        """Both heads of a fork, with the ancestors gone."""
        with self.saver() as saver:
            fill(saver)
            for name in ("left", "right"):
                value = TEXTS[4] + name.encode()
                changed = (
                    Versioned(6, None, (made(TEXTS[4], value),))
                    if saver.keeps_deltas
                    else Versioned(6, value)
                )
                put(saver, checkpoint(name, "c5", versions={"a": 6, "quiet 7": 1}, values={"a": changed}))
            before = kept(saver)
            assert saver.keep_last(THREAD, 2) == 5
            assert kept(saver) == before[:2]

    def test_nothing_is_forgotten_under_a_run(self) -> None:
        """It may stand on any checkpoint."""
        with self.saver() as saver:
            fill(saver)
            lease = claimed(saver)
            assert "live run" in refused(lambda: saver.keep_last(THREAD), ThreadBusy)
            assert len(ids(saver.history(THREAD))) == 5
            saver.release(lease)
            assert saver.keep_last(THREAD) == 4

    def test_no_thread_is_deleted_under_a_run(self) -> None:
        """Nor, where that is asked for, one that has been run since it was looked at."""
        with self.saver() as saver:
            fill(saver)
            lease, seen = claimed(saver), saver.places(THREAD)
            assert "live run" in refused(lambda: saver.prune([THREAD], strategy="delete"), ThreadBusy)
            assert "live run" in refused(lambda: saver.delete_unused(THREAD), ThreadBusy)
            assert saver.commit([Commit(THREAD, lease, [checkpoint("c6", "c5")], release=True)]) == [None]
            assert not saver.delete_unused(THREAD, seen=seen)
            assert len(saver.places(THREAD)) == 6
            assert saver.delete_unused(THREAD, seen=saver.places(THREAD))
            assert saver.thread(THREAD) is None
            assert isinstance(saver.claim(THREAD), Lease)

    def test_a_copy_takes_the_place_of_nobody(self) -> None:
        """A thread that somebody has begun, or begins meanwhile, isn't mixed with the copy."""
        with self.saver() as saver:
            fill(saver)
            saver.claim("begun")
            assert "already" in refused(lambda: saver.copy_thread(THREAD, "begun"), InvalidInput)
            assert saver.places("begun") == []
            claim = saver.claim

            def late(thread: str, *, force: bool = False) -> Lease | Busy:
                fill(saver, thread)
                return claim(thread, force=force)

            saver.claim = late  # type: ignore[method-assign]
            assert "already" in refused(lambda: saver.copy_thread(THREAD, "raced"), InvalidInput)
            assert len(saver.places("raced")) == 5

    def test_what_runs_made_may_be_forgotten(self) -> None:
        """The checkpoints that name one of them in their metadata, in all threads."""
        with self.saver() as saver:
            for thread, run in ((THREAD, "run-7"), ("other", "run-7"), (THREAD, "run-8")):
                config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
                saver.put(config, document(run, {}, {}), {"run_id": run}, {})
            saver.delete_for_runs(["run-7", "run-9"])
            assert ids(saver.history(None, None)) == ["run-8"]

    def test_the_async_names_forget_and_copy(self) -> None:
        """G7: `aprune`, `acopy_thread` and `adelete_for_runs` do as their blocking twins."""

        async def use(saver: CheckpointSaver) -> None:
            await saver.acopy_thread(THREAD, "copy")
            assert kept(saver, "copy") == kept(saver)
            await saver.aprune([THREAD])
            assert ids(saver.history(THREAD)) == ["c2"]
            await saver.aprune(["copy"], strategy="delete")
            assert kept(saver, "copy") == []
            await saver.aput(CONFIG, document("c3", {}, {}), {"run_id": "run-7"}, {})
            await saver.adelete_for_runs(["run-7"])
            assert ids(saver.history(THREAD)) == ["c2"]

        with self.saver() as saver:
            put_chain(saver, 3)
            asyncio.run(use(saver))

    def test_pruning_asks_for_what_there_is(self) -> None:
        """A strategy by its name, and a number that keeps something."""
        with self.saver() as saver:
            assert "strategy='some'" in refused(lambda: saver.prune([THREAD], strategy="some"))
            for count in (0, -1, True, "2"):
                assert "pass 1 or more" in refused(lambda count=count: saver.keep_last(THREAD, count))  # type: ignore[misc]

    def test_a_copy_is_the_same_thread_under_another_id(self) -> None:
        """It shares nothing with the original; no direct call goes on with it."""
        with self.saver() as saver:
            fill(saver)
            fill(saver, namespace="below")
            lease = claimed(saver)
            row = checkpoint("c6", "c5", versions={"a": 5})
            run = Commit(THREAD, lease, [row], Begin("shop", "call"), "failed", release=True)
            assert saver.commit([run]) == [None]
            saver.copy_thread(THREAD, "copy")
            before = kept(saver)
            assert kept(saver, "copy") == before
            copy = saver.thread("copy")
            assert copy is not None
            assert (copy.workflow, copy.status, copy.owner) == ("shop", "failed", None)
            adopted = saver.adopt("shop", "call")
            assert isinstance(adopted, Lease)
            assert adopted.thread == THREAD
            assert saver.adopt("shop", "call") is None
            assert "already" in refused(lambda: saver.copy_thread(THREAD, "copy"), InvalidInput)
            saver.delete_thread(THREAD)
            assert kept(saver, "copy") == before

    def test_a_copy_of_a_pruned_thread(self) -> None:
        """Whose first checkpoint has a parent that isn't there."""
        with self.saver() as saver:
            fill(saver)
            saver.keep_last(THREAD, 3)
            saver.copy_thread(THREAD, "copy")
            assert kept(saver, "copy") == kept(saver)

    def test_a_saver_may_keep_only_the_last(self) -> None:
        """`retention`: when a run ends, and not before."""
        with self.saver() as saver:
            holder = getattr(saver, "saver", saver)
            holder.retention = 2
            fill(saver)
            assert len(ids(saver.history(THREAD))) == 5
            lease = claimed(saver)
            row: CheckpointRow = checkpoint("c6", "c5", versions={"a": 5})
            assert saver.commit([Commit(THREAD, lease, [row])]) == [None]
            assert len(ids(saver.history(THREAD))) == 6
            assert saver.commit([Commit(THREAD, lease, [], status="done", release=True)]) == [None]
            assert ids(saver.history(THREAD)) == ["c6", "c5"]
            value = loaded(saver).checkpoint.values["a"].whole()
            assert value == TEXTS[4]
