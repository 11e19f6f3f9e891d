"""The least that the same work costs on this machine without a framework."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SYNCHRONOUS = {"SQLite, process": "NORMAL", "SQLite, power": "FULL"}


@contextmanager
def database(path: Path, synchronous: str) -> Iterator[sqlite3.Connection]:
    """A database in WAL mode with one table of records; a commit survives what `synchronous` says."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute("CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY, value BLOB)")
    try:
        yield connection
    finally:
        connection.close()


def commit(connection: sqlite3.Connection, values: Sequence[bytes]) -> None:
    """Add rows in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO record (value) VALUES (?)", [(value,) for value in values])
    connection.execute("COMMIT")
