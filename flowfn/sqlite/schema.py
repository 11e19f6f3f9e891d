"""The tables of a file, and how an older file becomes a current one.

Rule: a schema is the sum of its migrations, which are only ever appended to. Several schemas may live in
one file: each counts the migrations that the file has had, and `application_id` says that the file is ours.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from flowfn.errors import DatabaseVersion, NotADatabase

APPLICATION_ID = 0x464C4F57
"""`FLOW`, in the file's header."""


@dataclass(frozen=True)
class Schema:
    """Migrations, oldest first, each a script of statements that end with `;` and a newline.

    `counter`: a table of one row that counts those which the file has had; None: the header's `user_version`.
    `functions`: what the migrations call, by name.
    """

    migrations: tuple[str, ...]
    counter: str | None = None
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def is_current(self, connection: sqlite3.Connection, path: str) -> bool:
        """Whether the file has all migrations, as of one moment: others may be making them meanwhile.

        Raises:
            NotADatabase, DatabaseVersion: as `check`.
        """
        connection.execute("BEGIN")
        try:
            return self.check(connection, path)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def check(self, connection: sqlite3.Connection, path: str) -> bool:
        """Whether the file has all migrations, in a transaction; refuses another application's, and a newer flowfn's.

        Raises:
            NotADatabase: the file holds somebody else's tables.
            DatabaseVersion: it has had migrations that this flowfn doesn't know.
        """
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            held = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if application or version or held:
                raise NotADatabase(_foreign(path, held))
            return False
        version = self._version(connection)
        if version > len(self.migrations):
            raise DatabaseVersion(
                f"{path} has format {version}, and this flowfn knows formats up to {len(self.migrations)}."
                " Upgrade flowfn, or name another file."
            )
        return version == len(self.migrations)

    def migrate(self, connection: sqlite3.Connection, path: str) -> None:
        """Bring a file to the current format in one transaction, once, whoever else tries it too."""
        for name, function in self.functions.items():
            connection.create_function(name, -1, function)
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not self.check(connection, path):
                for script in self.migrations[self._version(connection) :]:
                    for statement in script.split(";\n"):
                        connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._count(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # on a full disk SQLite has ended it itself
                connection.execute("ROLLBACK")
            raise

    def _version(self, connection: sqlite3.Connection) -> int:
        """The migrations that the file has had."""
        known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        if self.counter is None:
            row = connection.execute("PRAGMA user_version").fetchone()
        elif connection.execute(known, (self.counter,)).fetchone():
            row = connection.execute(f"SELECT version FROM {self.counter}").fetchone()
        else:
            return 0
        version: int = row[0]
        return version

    def _count(self, connection: sqlite3.Connection) -> None:
        version = len(self.migrations)
        if self.counter is None:
            connection.execute(f"PRAGMA user_version = {version}")
            return
        connection.execute(f"CREATE TABLE IF NOT EXISTS {self.counter} (version INTEGER NOT NULL)")
        connection.execute(f"DELETE FROM {self.counter}")
        connection.execute(f"INSERT INTO {self.counter} VALUES (?)", (version,))


def _foreign(path: str, held: Set[str]) -> str:
    """Why a file with somebody else's tables is refused, and what to do."""
    if held >= {"checkpoints", "writes"}:
        return (
            f"{path} holds threads of LangGraph's SqliteSaver; it was left as it is. Name another file, and take the"
            f" threads over: flowfn import-langgraph {path} --to new.db"
        )
    if held >= {"store", "store_migrations"}:
        return (
            f"{path} holds the memory of LangGraph's SqliteStore; it was left as it is. Name another file, and take it"
            f" over: flowfn import-langgraph {path} --to new.db"
        )
    return f"{path} is another application's SQLite database; it was left as it is. Name another file."
