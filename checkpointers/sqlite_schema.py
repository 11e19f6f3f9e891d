"""The tables of the SQLite saver, and how an older database becomes a current one.

Rule: the schema is the sum of `MIGRATIONS`, which are only ever appended to; `user_version` counts those
that a database has had, and `application_id` says that it is one of ours.

- `thread`: one row each, with its last run and its lease. `touched` orders listings; the clock doesn't.
- `checkpoint`: `key` is the order of commits. `channels` maps each channel to `[version, key of value]`,
  without a key where it is empty, so that a checkpoint shares what did not change with its parent,
  whatever other branch gave the same number to its own version. A row whose `body` is NULL is named by
  writes alone so far.
- `value`: what channels held; `write`: what tasks wrote, a log that is merged when read. Their `key` is
  the key of the checkpoint that they were put with times 2**32, plus a place under it: the rows of a
  checkpoint lie side by side, need no index, and a commit of writes dirties a single page.
- `fence`: one row, the last token given out. Tokens never return, not even after a thread was deleted.
"""

from __future__ import annotations

import sqlite3

from flowfn.errors import DatabaseVersion, NotADatabase

APPLICATION_ID = 0x464C4F57
"""`FLOW`, in the file's header."""

IS_UNFINISHED = "status IN ('running', 'interrupted', 'failed')"
"""A query must spell it like this for its index to be used."""

_TABLES = f"""
CREATE TABLE thread (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    workflow TEXT NOT NULL DEFAULT '',
    call TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'done',
    token INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    expires REAL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    touched INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX thread_touched ON thread (touched);
CREATE INDEX thread_unfinished ON thread (workflow, call) WHERE {IS_UNFINISHED};

CREATE TABLE checkpoint (
    key INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    parent TEXT,
    step INTEGER,
    source TEXT,
    created_at TEXT,
    body BLOB,
    metadata BLOB,
    channels TEXT
);
CREATE UNIQUE INDEX checkpoint_id ON checkpoint (thread, id, namespace);
CREATE INDEX checkpoint_order ON checkpoint (thread, namespace);

CREATE TABLE value (key INTEGER PRIMARY KEY, data BLOB NOT NULL);

CREATE TABLE "write" (
    key INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    idx INTEGER NOT NULL,
    channel TEXT NOT NULL,
    data BLOB NOT NULL,
    path TEXT NOT NULL
);

CREATE TABLE fence (token INTEGER NOT NULL);
INSERT INTO fence VALUES (0);
"""

MIGRATIONS: tuple[str, ...] = (_TABLES,)


def check(connection: sqlite3.Connection, path: str) -> bool:
    """Whether the database is current; refuses another application's, and a newer flowfn's."""
    application, version = _header(connection)
    if application == APPLICATION_ID:
        if version > len(MIGRATIONS):
            raise DatabaseVersion(
                f"{path} has format {version}, and this flowfn knows formats up to {len(MIGRATIONS)}."
                " Upgrade flowfn, or name another file."
            )
        return version == len(MIGRATIONS)
    if application or version or connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise NotADatabase(
            f"{path} is another application's SQLite database; it was left as it is. Name another file."
        )
    return False


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring a database to the current format in one transaction, once, whoever else tries it too."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not check(connection, path):
            _, version = _header(connection)
            for script in MIGRATIONS[version:]:
                for statement in script.split(";\n"):
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _header(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version
