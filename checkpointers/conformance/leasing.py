"""`claim`, `adopt`, `release`: one writer per thread (G4)."""

from __future__ import annotations

import asyncio
import threading

from checkpointers.conformance.rows import THREAD, Contract, checkpoint, claimed, put
from flowfn.errors import LeaseLost
from flowfn.ports import Begin, Busy, Commit, Lease, Status

CALL = Begin("shop.order", "digest")


class LeaseContract(Contract):
    """Who may write, and how that changes hands."""

    def test_a_claimed_thread_is_busy(self) -> None:
        """The second claim learns who has it, and gets nothing; another thread is free."""
        with self.saver() as saver:
            claimed(saver)
            second = saver.claim(THREAD)
            assert isinstance(second, Busy)
            assert "process" in second.owner
            assert isinstance(saver.claim("another"), Lease)

    def test_a_claim_creates_the_thread(self) -> None:
        """It then has an owner, and no run that could be continued."""
        with self.saver() as saver:
            claimed(saver)
            row = saver.thread(THREAD)
            assert row is not None
            assert (row.workflow, row.call, row.status) == ("", "", "done")
            assert row.owner is not None

    def test_a_released_thread_is_free(self) -> None:
        """Nobody owns it, and whoever comes next gets it."""
        with self.saver() as saver:
            lease = claimed(saver)
            assert saver.commit([Commit(THREAD, lease, begin=CALL)]) == [None]
            saver.release(lease)
            row = saver.thread(THREAD)
            assert row is not None
            assert row.owner is None
            assert isinstance(saver.claim(THREAD), Lease)

    def test_a_lease_is_new_only_where_nothing_is_stored(self) -> None:
        """Whoever is told that the thread came to be with the lease needn't look; a saver may leave that unsaid."""
        with self.saver() as saver:
            put(saver, checkpoint("c1"))
            assert not claimed(saver).new
            other = claimed(saver, "another")
            assert not other.new or saver.load("another", "", None) is None
            saver.commit([Commit("another", other, [checkpoint("c1")], release=True)])
            assert not claimed(saver, "another").new

    def test_a_claim_given_up_leaves_no_thread(self) -> None:
        """A thread that was claimed is listed while it is held; if nothing was written, not after."""
        with self.saver() as saver:
            lease = claimed(saver)
            held = saver.thread(THREAD)
            saver.release(lease)
            assert (held is not None, saver.thread(THREAD), saver.threads()) == (True, None, [])

    def test_tokens_grow_with_every_claim(self) -> None:
        """A later lease of a thread has a higher token, even where the thread was deleted between."""
        with self.saver() as saver:
            first = claimed(saver)
            second = claimed(saver, force=True)
            saver.delete_thread(THREAD)
            third = claimed(saver)
            assert first.token < second.token < third.token

    def test_a_thread_made_anew_does_not_know_old_leases(self) -> None:
        """A lease of a deleted thread never fits the one that has its name now."""
        with self.saver() as saver:
            stale = claimed(saver)
            saver.delete_thread(THREAD)
            claimed(saver)
            (refusal,) = saver.commit([Commit(THREAD, stale, [checkpoint("c1")])])
            assert isinstance(refusal, LeaseLost)

    def test_a_forced_claim_takes_the_thread_over(self) -> None:
        """The former holder is refused, the new one isn't."""
        with self.saver() as saver:
            old, new = claimed(saver), claimed(saver, force=True)
            refusals = saver.commit([Commit(THREAD, old), Commit(THREAD, new, [checkpoint("c1")])])
            assert [type(refusal) for refusal in refusals] == [LeaseLost, type(None)]

    def test_releasing_a_lost_lease_frees_nothing(self) -> None:
        """It is no error, and the new holder keeps the thread."""
        with self.saver() as saver:
            old = claimed(saver)
            claimed(saver, force=True)
            saver.release(old)
            saver.release(Lease("unknown", 1))
            assert isinstance(saver.claim(THREAD), Busy)

    def test_a_commit_may_release(self) -> None:
        """The last commit of a run sets its status and frees the thread together."""
        with self.saver() as saver:
            lease = claimed(saver)
            put(saver, checkpoint("c1"), lease=lease, begin=CALL, status="done", release=True)
            row = saver.thread(THREAD)
            assert row is not None
            assert (row.status, row.owner) == ("done", None)
            assert isinstance(saver.claim(THREAD), Lease)

    def test_closing_releases(self) -> None:
        """What a closed saver held is free for the next."""
        saver = self.make()
        claimed(saver)
        saver.close()
        saver.close()
        with self.reopen(saver) as again:
            assert isinstance(again.claim(THREAD), Lease)

    def test_a_run_that_died_or_waits_is_adopted(self) -> None:
        """Unfinished and unowned: running means killed. Finished runs are nobody's to adopt."""
        expected: dict[Status, bool] = {
            "running": True,
            "interrupted": True,
            "failed": True,
            "cancelled": False,
            "done": False,
        }
        for status, adoptable in expected.items():
            with self.saver() as saver:
                lease = claimed(saver)
                put(saver, lease=lease, begin=CALL, status=status, release=True)
                adopted = saver.adopt(*CALL)
                assert (adopted is not None) == adoptable, status
                if adopted is not None:
                    assert adopted.thread == THREAD
                    assert adopted.token > lease.token

    def test_only_the_same_call_of_the_same_workflow_is_adopted(self) -> None:
        """G2: another call's run is not ours, and a thread that went on to another run isn't either."""
        with self.saver() as saver:
            put(saver, lease=claimed(saver), begin=CALL, release=True)
            assert saver.adopt("shop.order", "other digest") is None
            assert saver.adopt("shop.cancel", "digest") is None
            put(saver, lease=claimed(saver), begin=Begin("shop.order", "next"), release=True)
            assert saver.adopt(*CALL) is None

    def test_the_last_of_many_runs_is_adopted(self) -> None:
        """A conversation, whose runs are of other calls each: by its last call alone, and only unfinished."""
        with self.saver() as saver:
            for number in range(40):
                call = Begin("shop.order" if number % 10 else "shop.return", f"call {number}")
                row = checkpoint(f"c{number:02}")
                put(saver, row, lease=claimed(saver), begin=call, status="interrupted", release=True)
                assert saver.adopt(call.workflow, f"call {number - 1}") is None
                assert saver.adopt("shop.cancel", call.call) is None
                assert saver.next_call(call.workflow) == call.call
                lease = saver.adopt(*call)
                assert isinstance(lease, Lease)
                put(saver, lease=lease, status="done", release=True)
                assert saver.adopt(*call) is None
                assert saver.next_call(call.workflow) is None

    def test_calls_of_unfinished_runs_are_told_in_order(self) -> None:
        """For a saver around, which has to know whether each of them is readable; of one workflow alone."""
        with self.saver() as saver:
            runs = {
                "a": ("order", "b.2", "interrupted"),
                "b": ("order", "b.1", "failed"),
                "c": ("order", "a", "done"),
            }
            runs |= {"d": ("cancel", "b.3", "running"), "e": ("order", "b/1", "running")}
            for thread, (workflow, call, status) in runs.items():
                begin = Begin(workflow, call)
                lease = claimed(saver, thread)
                put(
                    saver,
                    checkpoint("c1"),
                    thread=thread,
                    lease=lease,
                    begin=begin,
                    status=status,
                    release=True,
                )
            assert saver.next_call("order") == "b.1"
            assert saver.next_call("order", "b.1") == "b.2"
            assert saver.next_call("order", "b.2") == "b/1"
            assert saver.next_call("order", "b/1") is None
            assert saver.next_call("pay") is None

    def test_the_newest_is_adopted_first_and_only_once(self) -> None:
        """An owned thread is passed over; when none is left there is nothing to adopt."""
        with self.saver() as saver:
            for thread in ("old", "new"):
                put(saver, thread=thread, lease=claimed(saver, thread), begin=CALL, release=True)
            adopted = [saver.adopt(*CALL) for _ in range(3)]
            assert [one and one.thread for one in adopted] == ["new", "old", None]

    def test_of_racing_claims_one_wins(self) -> None:
        """Between threads of a process: one lease for one thread, and all others are busy."""
        with self.saver() as saver:
            results: list[Lease | Busy] = []
            racers = [threading.Thread(target=lambda: results.append(saver.claim(THREAD))) for _ in range(8)]
            for racer in racers:
                racer.start()
            for racer in racers:
                racer.join()
            assert [isinstance(result, Lease) for result in results].count(True) == 1

    def test_of_racing_adopters_each_gets_another_thread(self) -> None:
        """Six adopters, four threads: four leases, no thread twice, two go without."""
        with self.saver() as saver:
            for number in range(4):
                thread = f"t{number}"
                put(saver, thread=thread, lease=claimed(saver, thread), begin=CALL, release=True)
            results: list[Lease | None] = []
            racers = [threading.Thread(target=lambda: results.append(saver.adopt(*CALL))) for _ in range(6)]
            for racer in racers:
                racer.start()
            for racer in racers:
                racer.join()
            assert sorted(one.thread for one in results if one) == ["t0", "t1", "t2", "t3"]
            assert results.count(None) == 2

    def test_tasks_of_one_event_loop_exclude_each_other(self) -> None:
        """A lease belongs to a run, not to a process: two runs in one loop are two."""

        async def claim_twice() -> list[Lease | Busy]:
            async def claim() -> Lease | Busy:
                return saver.claim(THREAD)

            return list(await asyncio.gather(claim(), claim()))

        with self.saver() as saver:
            results = asyncio.run(claim_twice())
            assert [type(result) for result in results] == [Lease, Busy]
