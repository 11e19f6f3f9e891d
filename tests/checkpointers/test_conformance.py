"""Every saver keeps the port's contract."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("checkpointers.conformance")

from checkpointers import CheckpointSaver, EncryptedSaver, MemorySaver, PostgresSaver, SqliteSaver  # noqa: E402
from checkpointers.conformance import SaverContract  # noqa: E402
from checkpointers.conformance.rows import PlainSerde  # noqa: E402
from flowfn.encryption import KeyRing  # noqa: E402

KEYS = KeyRing({"now": bytes(range(32)), "before": bytes(32)})

from ..postgres_database import Database  # noqa: E402


class TestMemory(SaverContract):
    """In this process."""

    def make(self) -> CheckpointSaver:
        return MemorySaver(serde=PlainSerde())


class TestSqliteInMemory(SaverContract):
    """SQLite without a file."""

    def make(self) -> CheckpointSaver:
        self.opened = SqliteSaver(":memory:", serde=PlainSerde())
        return self.opened

    test_closing_releases = None  # its data ends with it


class TestSqliteFile(SaverContract):
    """SQLite in a file that survives the process."""

    fsync = "process"

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path
        self.count = 0

    def make(self) -> CheckpointSaver:
        self.count += 1
        return self.open()

    def reopen(self, saver: CheckpointSaver) -> CheckpointSaver:
        saver.close()
        return self.open()

    def open(self) -> CheckpointSaver:
        return SqliteSaver(self.path / f"{self.count}.db", fsync=self.fsync, serde=PlainSerde())


class TestSqlitePower(TestSqliteFile):
    """SQLite in a file that survives the machine."""

    fsync = "power"


class TestEncryptedMemory(SaverContract):
    """Around the one in this process."""

    def make(self) -> CheckpointSaver:
        return EncryptedSaver(MemorySaver(serde=PlainSerde()), KEYS)


class TestEncryptedSqlite(TestSqliteFile):
    """Around SQLite; each reopening begins with nothing remembered."""

    def open(self) -> CheckpointSaver:
        return EncryptedSaver(super().open(), KEYS)


class TestPostgres(SaverContract):
    """Postgres; a new saver finds the database empty."""

    @pytest.fixture(autouse=True)
    def database(self, postgres_database: Database) -> None:
        self.database = postgres_database

    def make(self) -> CheckpointSaver:
        self.database.empty()
        return self.open()

    def reopen(self, saver: CheckpointSaver) -> CheckpointSaver:
        saver.close()
        return self.open()

    def open(self) -> CheckpointSaver:
        return PostgresSaver(self.database.url, serde=PlainSerde())
