"""How long items live. All times are a fake clock's."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from flowfn.errors import InvalidInput
from flowfn.stores.conformance.calls import HERE, Contract, FakeClock, keys, refused
from flowfn.stores.items import GetOp, PutOp


class LivingContract(Contract):
    """`ttl`, and what sweeps."""

    def test_an_expired_item_is_swept(self) -> None:
        """At its time and not before; until then it can be read. One without a `ttl` stays."""
        clock = FakeClock()
        with self.store(clock=clock) as store:
            store.put(HERE, "short", {}, ttl=1)
            store.put(HERE, "long", {}, ttl=timedelta(hours=1))
            store.put(HERE, "ever", {})
            clock.pass_minutes(0.99)
            assert store.sweep_ttl() == 0
            clock.pass_minutes(0.01)
            assert store.get(HERE, "short", refresh_ttl=False) is not None
            assert store.sweep_ttl() == 1
            assert keys(store.search(HERE)) == ["ever", "long"]

    def test_reading_begins_the_time_anew(self) -> None:
        """By `get` and for what `search` returns, unless they or the store say otherwise."""
        clock = FakeClock()
        with self.store(clock=clock) as store:
            for key in ("got", "found", "other", "seen"):
                store.put(HERE, key, {"key": key}, ttl=2)
            clock.pass_minutes(1)
            store.get(HERE, "got")
            store.search(HERE, filter={"key": "found"})
            store.get(HERE, "seen", refresh_ttl=False)
            store.search(HERE, filter={"key": "seen"}, refresh_ttl=False)
            clock.pass_minutes(1)
            assert store.sweep_ttl() == 2
            assert keys(store.search(HERE)) == ["found", "got"]

    def test_reading_in_a_batch_that_puts_begins_the_time_anew(self) -> None:
        """As it does in one that only reads."""
        clock = FakeClock()
        with self.store(clock=clock) as store:
            store.put(HERE, "read", {}, ttl=2)
            clock.pass_minutes(1)
            store.batch([GetOp(HERE, "read"), PutOp(HERE, "put", {})])
            clock.pass_minutes(1)
            assert store.sweep_ttl() == 0

    def test_reading_need_not(self) -> None:
        """`refresh_on_read=False` is the default of every read; putting always begins anew."""
        clock = FakeClock()
        with self.store(clock=clock, ttl={"refresh_on_read": False, "default_ttl": 2}) as store:
            for key in ("read", "asked", "put"):
                store.put(HERE, key, {})
            clock.pass_minutes(1)
            store.get(HERE, "read")
            store.get(HERE, "asked", refresh_ttl=True)
            store.put(HERE, "put", {})
            clock.pass_minutes(1)
            store.sweep_ttl()
            assert keys(store.search(HERE)) == ["put", "asked"]

    def test_a_store_may_have_a_default(self) -> None:
        """None stands for ever; an operation in a batch says for itself."""
        clock = FakeClock()
        with self.store(clock=clock, ttl={"default_ttl": 1}) as store:
            store.put(HERE, "default", {})
            store.put(HERE, "ever", {}, ttl=None)
            store.batch([PutOp(HERE, "op", {})])
            clock.pass_minutes(1)
            assert store.sweep_ttl() == 1
            assert keys(store.search(HERE)) == ["op", "ever"]

    def test_putting_again_may_end_the_waiting(self) -> None:
        """The last put's `ttl` counts."""
        clock = FakeClock()
        with self.store(clock=clock) as store:
            store.put(HERE, "k", {}, ttl=1)
            store.put(HERE, "k", {})
            clock.pass_minutes(2)
            assert store.sweep_ttl() == 0

    def test_what_expired_may_be_passed_over(self) -> None:
        """`omit_expired`: no read sees it, or brings it back; a put begins a new item."""
        clock = FakeClock()
        index = {"dims": 1, "embed": lambda texts: [[1.0] for _ in texts]}
        with self.store(clock=clock, index=index, ttl={"omit_expired": True, "default_ttl": 1}) as store:
            store.put(HERE, "k", {})
            clock.pass_minutes(1)
            assert store.get(HERE, "k") is None
            assert store.search(HERE) == store.search(HERE, query="text") == []
            assert store.list_namespaces() == []
            store.put(HERE, "k", {})
            assert store.get(HERE, "k").created_at.timestamp() == clock.time
            assert store.sweep_ttl() == 0

    def test_a_thread_sweeps(self) -> None:
        """Each interval, until it is stopped; it can be started again."""
        clock = FakeClock()
        with self.store(clock=clock, ttl={"sweep_interval_minutes": 3}) as store:
            store.put(HERE, "k", {}, ttl=1)
            done = store.kept.start_ttl_sweeper()
            assert clock.swept.wait(10)
            assert store.get(HERE, "k") is None
            assert clock.waits == [180, 180]
            assert store.kept.start_ttl_sweeper() is done
            assert store.kept.stop_ttl_sweeper(10)
            assert done.result(10) is None
            again = store.kept.start_ttl_sweeper(1)
            assert not again.done()
            assert store.kept.stop_ttl_sweeper(10)
            assert clock.waits == [180, 180, 60]

    def test_any_number_is_a_time(self) -> None:
        """However large, and whatever its type."""
        with self.store() as store:
            for ttl in (True, 10**30, 1e300):
                store.put(HERE, "k", {}, ttl=ttl)
                assert store.get(HERE, "k") is not None
            assert store.sweep_ttl() == 0

    def test_a_time_that_is_none_is_refused(self) -> None:
        """Below zero, or no number at all."""
        with self.store() as store:
            for ttl in (-1, float("nan"), float("inf"), "1", 10**400, 1e308):
                assert "is no time to live" in refused(
                    partial(store.put, HERE, "k", {}, ttl=ttl), InvalidInput
                )
            assert "is no interval" in refused(lambda: store.kept.start_ttl_sweeper(0), InvalidInput)
