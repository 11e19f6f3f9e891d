"""Every store does what a plain dict does, whatever the order of calls."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from flowfn.stores import InMemoryStore, PostgresStore, PutOp, SqliteStore
from flowfn.stores.conformance.calls import FakeClock
from flowfn.stores.conformance.ranking import index

from ..postgres_database import Database

LABELS = st.sampled_from(["a", "ab", "ü"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(LABELS, max_size=2).map(tuple)
KEYS = st.sampled_from(["k", "l", "m"])
FIELDS = st.none() | st.booleans() | st.integers(-2, 12) | st.sampled_from(["", "9", "10", "x", "ü"])
VALUES = st.fixed_dictionaries(
    {"text": st.text("abc", max_size=3)}, optional={"n": FIELDS, "pair": st.just((1,))}
)
OPERATORS = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]
FILTERS = st.none() | st.dictionaries(
    st.sampled_from(["n", "text"]),
    FIELDS | st.dictionaries(st.sampled_from(OPERATORS), FIELDS, min_size=1),
    max_size=2,
)
MINUTES = st.none() | st.integers(1, 4)
PAGES = st.tuples(st.integers(0, 5), st.integers(0, 3))
OPTIONS: dict[str, Any] = {"ttl": {"omit_expired": True, "refresh_on_read": False}}


class Kept:
    """One item of the model: the filter's rules are written out anew, without looking at the store's."""

    def __init__(self, value: dict[str, Any], now: float, minutes: float | None, created: float) -> None:
        self.value, self.updated, self.created = value, now, created
        self.minutes = minutes
        self.touch(now)

    def touch(self, now: float) -> None:
        self.until = float("inf") if self.minutes is None else now + self.minutes * 60

    def passes(self, given: dict[str, Any] | None) -> bool:
        return all(
            all(self.holds(name, operator, operand) for operator, operand in condition.items())
            if isinstance(condition, dict)
            else self.value.get(name) == condition
            for name, condition in (given or {}).items()
        )

    def holds(self, name: str, operator: str, operand: Any) -> bool:
        field = self.value.get(name)
        if operator in ("$eq", "$ne"):
            return (field == operand) is (operator == "$eq")
        try:
            one, other = float(field), float(operand)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            if not (isinstance(field, str) and isinstance(operand, str)):
                return False
            order = (field > operand) - (field < operand)
        else:
            order = (one > other) - (one < other)
        return {"$gt": order > 0, "$gte": order >= 0, "$lt": order < 0, "$lte": order <= 0}[operator]

    def likeness(self, letter: str) -> float:
        counts = [self.value["text"].count(each) for each in "abc"]
        length = sum(count**2 for count in counts) ** 0.5
        return counts["abc".index(letter)] / length if length else 0.0


class StoresAgree(RuleBasedStateMachine):
    """Every step is done to the model and to all stores."""

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.path = Path(self.folder.name) / "items.db"
        more: dict[str, Any] = {**OPTIONS, "index": index(), "clock": self.clock}
        self.memory = InMemoryStore(**more)
        self.sqlite = SqliteStore(self.path, **more)
        self.second = SqliteStore(self.path, **more)
        self.model: dict[tuple[tuple[str, ...], str], Kept] = {}

        self.others = self.opened(more)

    def opened(self, more: dict[str, Any]) -> list[Any]:
        """Further stores that do every step."""
        return []

    @property
    def stores(self) -> list[Any]:
        return [self.memory, self.sqlite, *self.others]

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            for store in (*self.stores, self.second):
                store.close()
            self.folder.cleanup()

    def alive(self, prefix: tuple[str, ...] = ()) -> list[tuple[tuple[tuple[str, ...], str], Kept]]:
        """What can be seen, the last put first."""
        now = self.clock.time
        found = [
            (place, kept)
            for place, kept in self.model.items()
            if kept.until > now and place[0][: len(prefix)] == prefix
        ]
        return found[::-1]

    def keep(
        self, namespace: tuple[str, ...], key: str, value: dict[str, Any], minutes: float | None
    ) -> None:
        old = self.model.pop((namespace, key), None)
        now = self.clock.time
        created = old.created if old is not None and old.until > now else now
        self.model[namespace, key] = Kept(value, now, minutes, created)

    @rule(namespace=NAMESPACES, key=KEYS, value=VALUES, minutes=MINUTES)
    def put(self, namespace: Any, key: str, value: Any, minutes: float | None) -> None:
        """The last put comes first from now on."""
        self.keep(namespace, key, value, minutes)
        for store in self.stores:
            store.put(namespace, key, value, ttl=minutes)

    @rule(puts=st.lists(st.tuples(NAMESPACES, KEYS, st.none() | VALUES), max_size=4))
    def batch(self, puts: list[Any]) -> None:
        """Several puts and deletions at once; of those to one place the last counts."""
        for (namespace, key), value in {(namespace, key): value for namespace, key, value in puts}.items():
            if value is None:
                self.model.pop((namespace, key), None)
            else:
                self.keep(namespace, key, value, None)
        for store in self.stores:
            store.batch([PutOp(*put) for put in puts])

    @rule(namespace=NAMESPACES, key=KEYS)
    def delete(self, namespace: Any, key: str) -> None:
        """There or not."""
        self.model.pop((namespace, key), None)
        for store in self.stores:
            store.delete(namespace, key)

    @rule(minutes=st.integers(1, 3))
    def wait(self, minutes: int) -> None:
        """What expires is gone, whether it is swept or not."""
        self.clock.pass_minutes(minutes)

    @rule()
    def sweep(self) -> None:
        """As many as had expired."""
        expired = len(self.model) - len(self.alive())
        self.model = dict(reversed(self.alive()))
        assert [store.sweep_ttl() for store in self.stores] == [expired] * len(self.stores)

    @rule()
    def reopen(self) -> None:
        """A file says what it said."""
        self.sqlite.close()
        self.sqlite = SqliteStore(self.path, index=index(), clock=self.clock, **OPTIONS)

    @rule(namespace=NAMESPACES, key=KEYS)
    def refresh(self, namespace: Any, key: str) -> None:
        """A read may begin the time to live anew."""
        kept = dict(self.alive()).get((namespace, key))
        if kept is not None:
            kept.touch(self.clock.time)
        for store in self.stores:
            found = store.get(namespace, key, refresh_ttl=True)
            assert (found and found.value) == (kept and kept.value)

    @rule(prefix=PREFIXES, given=FILTERS, page=PAGES)
    def search(self, prefix: Any, given: Any, page: tuple[int, int]) -> None:
        """A page of what passes the filter."""
        limit, offset = page
        expected = [place for place, kept in self.alive(prefix) if kept.passes(given)][
            offset : offset + limit
        ]
        for store in (*self.stores, self.second):
            found = store.search(prefix, filter=given, limit=limit, offset=offset)
            assert [(item.namespace, item.key) for item in found] == expected

    @rule(prefix=PREFIXES, given=FILTERS, page=PAGES, letter=st.sampled_from("abc"))
    def ask(self, prefix: Any, given: Any, page: tuple[int, int], letter: str) -> None:
        """A page of what passes, the most alike first; an empty text has a vector too."""
        limit, offset = page
        passing = [(place, kept.likeness(letter)) for place, kept in self.alive(prefix) if kept.passes(given)]
        expected = sorted(passing, key=lambda pair: -round(pair[1], 9))[offset : offset + limit]
        for store in (*self.stores, self.second):
            found = store.search(prefix, query=letter, filter=given, limit=limit, offset=offset)
            assert [(item.namespace, item.key) for item in found] == [place for place, _ in expected]
            assert all(abs(i.score - score) < 1e-6 for i, (_, score) in zip(found, expected, strict=True))

    @rule(prefix=PREFIXES, suffix=PREFIXES, depth=st.none() | st.integers(0, 2), page=PAGES)
    def list(self, prefix: Any, suffix: Any, depth: int | None, page: tuple[int, int]) -> None:
        """A page of the namespaces."""
        limit, offset = page
        known = {place[0] for place, _ in self.alive(prefix)}
        ending = {name[:depth] for name in known if name[len(name) - len(suffix) :] == suffix}
        expected = sorted(ending)[offset : offset + limit]
        for store in (*self.stores, self.second):
            asked: dict[str, Any] = {"max_depth": depth, "limit": limit, "offset": offset}
            assert store.list_namespaces(prefix=prefix, suffix=suffix, **asked) == expected

    @invariant()
    def every_item_agrees(self) -> None:
        """Values and times, for both connections to the file."""
        if not hasattr(self, "model"):
            return
        expected = [(*place, kept.value, kept.created, kept.updated) for place, kept in self.alive()]
        for store in (*self.stores, self.second):
            found = store.search((), limit=1000)
            seen = [
                (i.namespace, i.key, i.value, i.created_at.timestamp(), i.updated_at.timestamp())
                for i in found
            ]
            assert seen == expected


StoresAgree.TestCase.settings = settings(max_examples=50, stateful_step_count=25)
TestStoresAgree = StoresAgree.TestCase


class PostgresAgrees(StoresAgree):
    """And to a Postgres store."""

    database: Database

    def opened(self, more: dict[str, Any]) -> list[Any]:
        store = PostgresStore(self.database.url, **more)
        self.database.empty_store()
        return [store]


class TestPgvectorAgrees(PostgresAgrees.TestCase):  # type: ignore[name-defined, misc]
    """The server ranks."""

    settings = settings(max_examples=10, stateful_step_count=20)

    @pytest.fixture(autouse=True)
    def database(self, pgvector_database: Database) -> None:
        PostgresAgrees.database = pgvector_database


class TestPostgresAgrees(PostgresAgrees.TestCase):  # type: ignore[name-defined, misc]
    """Fewer runs, since each step is a round trip or more."""

    settings = settings(max_examples=10, stateful_step_count=20)

    @pytest.fixture(autouse=True)
    def database(self, postgres_database: Database) -> None:
        PostgresAgrees.database = postgres_database
