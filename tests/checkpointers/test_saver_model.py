"""All savers do what a plain dict does, whatever the order of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ormsgpack
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from checkpointers import CheckpointSaver, MemorySaver, PostgresSaver, SqliteSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, write, writes
from flowfn.errors import InvalidInput, LeaseLost, ThreadBusy
from flowfn.ports import Begin, Busy, CheckpointRow, Commit, Lease, Versioned, Writes

from ..postgres_database import Database

threads = st.sampled_from(["t", "u"])
namespaces = st.sampled_from(["", "child"])
names = st.sampled_from(["c1", "c2", "c3", "c4"])
statuses = st.sampled_from([None, "running", "interrupted", "failed", "cancelled", "done"])
calls = st.sampled_from([None, Begin("wf", "one"), Begin("wf", "two")])
rows = st.lists(
    st.builds(write, st.sampled_from("ab"), st.integers(-2, 2), st.binary(max_size=2)), min_size=1, max_size=3
)


class Model:
    """What a thread holds: lists in the order of commits, and nothing clever."""

    def __init__(self) -> None:
        self.checkpoints: list[tuple[str, str]] = []
        self.values: dict[tuple[str, str], dict[str, Versioned]] = {}
        self.writes: dict[tuple[str, str], list[Any]] = {}
        self.call: Begin | None = None
        self.status = "done"
        self.lease: Lease | None = None
        self.token = 0

    @property
    def is_thread(self) -> bool:
        """Whether it is more than a claim that was given up."""
        return bool(self.checkpoints or self.writes or self.call or self.lease)

    def put(self, spot: tuple[str, str], values: dict[str, Versioned]) -> None:
        if spot not in self.checkpoints:
            self.checkpoints.append(spot)
        self.values[spot] = values

    def write(self, spot: tuple[str, str], rows: list[Any]) -> None:
        kept = self.writes.setdefault(spot, [])
        for row in rows:
            same = [old for old in kept if old[:2] == row[:2]]
            if same and row.index < 0:
                kept.remove(same[0])
            if not same or row.index < 0:
                kept.append(row)


class SaversAgree(RuleBasedStateMachine):
    """Every step is done to the model and to each saver."""

    @initialize()
    def open(self) -> None:
        self.savers = self.new_savers()
        self.leases: list[list[Lease]] = [[] for _ in self.savers]
        self.models: dict[str, Model] = {}

    def new_savers(self) -> list[CheckpointSaver]:
        """Empty ones, one of each kind that costs nothing to open."""
        return [MemorySaver(serde=PlainSerde()), SqliteSaver(":memory:", serde=PlainSerde())]

    def teardown(self) -> None:
        for saver in getattr(self, "savers", []):
            saver.close()

    @rule(
        thread=threads,
        spot=st.tuples(namespaces, names),
        value=st.none() | st.binary(max_size=2),
        grows=st.booleans(),
        leased=st.booleans(),
    )
    def put(self, thread: str, spot: tuple[str, str], value: bytes | None, grows: bool, leased: bool) -> None:
        """A new checkpoint shares channel `kept` with the last one, and changes `new`, which may grow."""
        model = self.models.setdefault(thread, Model())
        if spot in model.checkpoints:
            return
        known = [place for place in model.checkpoints if place[0] == spot[0]]
        parent = known[-1][1] if known else None
        kept = model.values[known[-1]]["kept"] if known else Versioned(1, spot[1].encode())
        new = Versioned(len(known) + 1, value)
        old = model.values[known[-1]]["new"].value if known else None
        if grows and old is not None and value:
            delta = ormsgpack.packb([len(old), len(old) + len(value), len(old), 0, value])
            model.put(spot, {"new": new._replace(value=old + value), "kept": kept})
            new = Versioned(new.version, None, (delta,))
        else:
            model.put(spot, {"new": new, "kept": kept})
        changed = {"new": new} | ({} if known else {"kept": kept})
        versions = {"kept": 1, "new": len(known) + 1}
        row = checkpoint(spot[1], parent, namespace=spot[0], versions=versions, values=changed)
        self._commit(thread, row, leased)

    @rule(thread=threads, spot=st.tuples(namespaces, names), rows=rows, leased=st.booleans())
    def write(self, thread: str, spot: tuple[str, str], rows: list[Any], leased: bool) -> None:
        """Writes go to any checkpoint, put or not."""
        self.models.setdefault(thread, Model()).write(spot, rows)
        self._commit(thread, writes(spot[1], *rows, namespace=spot[0]), leased)

    def _commit(self, thread: str, item: CheckpointRow | Writes, leased: bool) -> None:
        """With the thread's lease, where there is one, or as an outsider."""
        model = self.models[thread]
        for saver, leases in zip(self.savers, self.leases, strict=True):
            lease = leases[model.token - 1] if leased and model.lease is not None else None
            assert saver.commit([Commit(thread, lease, items=[item])]) == [None]

    @rule(thread=threads, namespace=namespaces)
    def load(self, thread: str, namespace: str) -> None:
        """The last checkpoint of a namespace."""
        model = self.models.get(thread, Model())
        known = [place for place in model.checkpoints if place[0] == namespace]
        for saver in self.savers:
            found = saver.load(thread, namespace)
            assert (found and found.checkpoint.id) == (known[-1][1] if known else None)

    @rule(thread=threads, force=st.booleans())
    def claim(self, thread: str, force: bool) -> None:
        """A held thread is busy, unless forced."""
        model = self.models.setdefault(thread, Model())
        results = [saver.claim(thread, force=force) for saver in self.savers]
        if model.lease is not None and not force:
            assert all(isinstance(result, Busy) for result in results)
            return
        for leases, result in zip(self.leases, results, strict=True):
            assert isinstance(result, Lease)
            leases.append(result)
        model.lease = results[0]
        model.token = len(self.leases[0])

    @rule(data=st.data(), begin=calls, status=statuses, release=st.booleans())
    def finish(self, data: Any, begin: Begin | None, status: Any, release: bool) -> None:
        """Only the last lease of a thread that is still there may commit."""
        if not self.leases[0]:
            return
        chosen = data.draw(st.integers(0, len(self.leases[0]) - 1))
        thread = self.leases[0][chosen].thread
        model = self.models.get(thread)
        valid = model is not None and model.token == chosen + 1
        for saver, leases in zip(self.savers, self.leases, strict=True):
            commit = Commit(thread, leases[chosen], [], begin, status, release)
            assert [type(one) for one in saver.commit([commit])] == [type(None) if valid else LeaseLost]
        if model is not None and valid:
            model.call = begin or model.call
            model.status = status or ("running" if begin else model.status)
            model.lease = None if release else model.lease

    @rule(call=calls.filter(bool))
    def adopt(self, call: Begin) -> None:
        """The newest free thread of the call, or none."""
        found = [
            thread
            for thread, model in self.models.items()
            if model.call == call
            and model.lease is None
            and model.status in ("running", "interrupted", "failed")
        ]
        results = [saver.adopt(*call) for saver in self.savers]
        assert [one and one.thread for one in results] == [found[-1] if found else None] * len(results)
        if found:
            for leases, one in zip(self.leases, results, strict=True):
                assert one is not None
                leases.append(one)
            self.models[found[-1]].lease = results[0]
            self.models[found[-1]].token = len(self.leases[0])

    @rule(thread=threads, count=st.integers(1, 2))
    def prune(self, thread: str, count: int) -> None:
        """The last of each namespace stay, unless a run holds the thread."""
        model = self.models.get(thread, Model())
        kept = [
            spot
            for number, spot in enumerate(model.checkpoints)
            if [later[0] for later in model.checkpoints[number:]].count(spot[0]) <= count
        ]
        self._forget(
            thread, model, set(model.checkpoints) - set(kept), lambda saver: saver.keep_last(thread, count)
        )

    @rule(thread=threads, data=st.data())
    def forget(self, thread: str, data: Any) -> None:
        """Any may go."""
        model = self.models.get(thread, Model())
        if model.checkpoints:
            doomed = data.draw(st.sets(st.sampled_from(model.checkpoints), min_size=1))
            self._forget(thread, model, doomed, lambda saver: saver.forget(thread, doomed))

    def _forget(
        self,
        thread: str,
        model: Model,
        doomed: set[tuple[str, str]],
        call: Callable[[CheckpointSaver], object],
    ) -> None:
        for saver in self.savers:
            if model.lease is not None and doomed:
                with pytest.raises(ThreadBusy):
                    call(saver)
            else:
                call(saver)
        if model.lease is None:
            model.checkpoints = [spot for spot in model.checkpoints if spot not in doomed]
            for spot in doomed:
                model.values.pop(spot)
                model.writes.pop(spot, None)

    @rule(source=threads, copy=threads)
    def copy(self, source: str, copy: str) -> None:
        """A copy has all checkpoints, in their order."""
        model = self.models.get(source)
        if model is None or not model.is_thread or source == copy:
            return
        there = self.models.get(copy)
        for saver in self.savers:
            if there is not None and there.is_thread:
                with pytest.raises(InvalidInput):
                    saver.copy_thread(source, copy)
            else:
                saver.copy_thread(source, copy)
        if there is None or not there.is_thread:
            copied = self.models[copy] = there or Model()
            copied.checkpoints, copied.values = list(model.checkpoints), dict(model.values)
            copied.writes = {
                spot: list(model.writes[spot]) for spot in model.checkpoints if spot in model.writes
            }
            copied.status, copied.call = model.status, Begin(model.call.workflow, "") if model.call else None

    @rule(thread=threads)
    def delete(self, thread: str) -> None:
        """As if it had never been."""
        self.models.pop(thread, None)
        for saver in self.savers:
            saver.delete_thread(thread)

    @invariant()
    def every_read_agrees(self) -> None:
        """Histories with values and writes, and the threads' rows."""
        for saver in getattr(self, "savers", []):
            assert {row.id for row in saver.threads()} == {t for t, m in self.models.items() if m.is_thread}
            for thread, model in self.models.items():
                found = list(saver.history(thread, None))
                spots = [(one.checkpoint.namespace, one.checkpoint.id) for one in found]
                assert spots == model.checkpoints[::-1]
                values = [
                    {
                        name: Versioned(held.version, held.whole())
                        for name, held in one.checkpoint.values.items()
                    }
                    for one in found
                ]
                assert values == [model.values[spot] for spot in spots]
                assert [one.writes for one in found] == [model.writes.get(spot, []) for spot in spots]
                row = saver.thread(thread)
                assert (row is not None) == model.is_thread
                if row is not None:
                    assert (row.status, row.owner is None) == (model.status, model.lease is None)


SaversAgree.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestSaversAgree = SaversAgree.TestCase


class PostgresAgrees(SaversAgree):
    """The same with Postgres."""

    database: Database

    def new_savers(self) -> list[CheckpointSaver]:
        self.database.empty()
        return [PostgresSaver(self.database.url, serde=PlainSerde())]


class TestPostgresAgrees(PostgresAgrees.TestCase):  # type: ignore[misc, name-defined]
    """Fewer examples: each of their steps is a round trip or two."""

    settings = settings(SaversAgree.TestCase.settings, max_examples=15)

    @pytest.fixture(autouse=True)
    def database(self, postgres_database: Database) -> None:
        PostgresAgrees.database = postgres_database
