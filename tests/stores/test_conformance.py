"""Every store keeps the contract, for blocking and asyncio callers (G7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowfn.stores import InMemoryStore, PostgresStore, SqliteStore
from flowfn.stores.conformance import StoreContract

from ..postgres_database import Database


class TestMemory(StoreContract):
    """In this process."""

    def make(self, **options: Any) -> InMemoryStore:
        return InMemoryStore(**options)


class TestMemoryAsyncio(TestMemory):
    """The same, in an event loop."""

    asyncio = True


class TestSqliteInMemory(StoreContract):
    """SQLite without a file."""

    def make(self, **options: Any) -> SqliteStore:
        return SqliteStore(":memory:", **options)


class TestSqliteFile(StoreContract):
    """SQLite in a file that survives the process."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.folder_path = tmp_path
        self.count = 0

    def make(self, **options: Any) -> SqliteStore:
        self.count += 1
        return SqliteStore(self.folder_path / f"{self.count}.db", **options)

    def reopen(self, store: SqliteStore) -> SqliteStore:
        store.close()
        return SqliteStore(store.path)


class TestSqliteFileAsyncio(TestSqliteFile):
    """The same, in an event loop."""

    asyncio = True


class TestPostgres(StoreContract):
    """A Postgres database."""

    @pytest.fixture(autouse=True)
    def database(self, postgres_database: Database) -> None:
        self.database = postgres_database

    def make(self, **options: Any) -> PostgresStore:
        store = PostgresStore(self.database.url, **options)
        self.database.empty_store()
        return store

    def reopen(self, store: PostgresStore) -> PostgresStore:
        store.close()
        return PostgresStore(self.database.url)


class TestPgvector(TestPostgres):
    """A Postgres database with pgvector, which ranks."""

    @pytest.fixture(autouse=True)
    def database(self, pgvector_database: Database) -> None:
        self.database = pgvector_database


class TestPostgresAsyncio(TestPostgres):
    """The same, in an event loop."""

    asyncio = True
