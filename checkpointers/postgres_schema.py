"""The tables of the Postgres saver, and how an older database becomes a current one.

Rule: the schema `flowfn` is the sum of the numbered files in `postgres_migrations/`, which are only ever added
to; its table `migration` has a row for each that a database has had.

- `thread`: one row each, with its last run and its lease, which ends at `expires` by the server's clock.
- `checkpoint`: `place` is the order of commits; a row without one is named by writes alone so far. `channels`,
  `versions` and `stored` are parallel: each channel's version and the key of its value, NULL where it is
  empty, so that a checkpoint shares what did not change with its parent.
- `value`: what channels held; `write`: what tasks wrote, a log that is merged when read.
- `tick`: a sequence, of which tokens, places and touches are taken.

Names are stored by `postgres_text`, since Postgres has no text with a NUL in it.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import psycopg

from flowfn.errors import DatabaseVersion, NotADatabase

Connection = psycopg.Connection[Any]

_LOCK = 0x464C4F57
"""`FLOW`: the advisory lock under which a database is migrated."""

_FOUND = """
    SELECT to_regclass('flowfn.migration') IS NOT NULL, count(pg_namespace.oid), count(pg_class.oid)
    FROM pg_namespace LEFT JOIN pg_class ON relnamespace = pg_namespace.oid WHERE nspname = 'flowfn'"""


@cache
def migrations() -> tuple[str, ...]:
    """The scripts, in the order of their numbers."""
    folder = resources.files("checkpointers") / "postgres_migrations"
    scripts = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda f: f.name)
    numbers = [int(file.name.partition("_")[0]) for file in scripts]
    assert numbers == list(range(1, len(scripts) + 1)), f"migrations are numbered {numbers}"
    return tuple(file.read_text("utf-8") for file in scripts)


def bring_up_to_date(connection: Connection, name: str) -> None:
    """Bring a database to the current format in one transaction, once, whoever else tries it too.

    Raises:
        DatabaseVersion: a newer flowfn wrote it.
        NotADatabase: its schema `flowfn` is another application's.
    """
    if _version(connection, name) == len(migrations()):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock($1)", (_LOCK,))
        version = _version(connection, name)
        if version is None:
            connection.execute("CREATE SCHEMA flowfn")
        if not version:
            connection.execute(
                "CREATE TABLE flowfn.migration (number integer PRIMARY KEY, at timestamptz NOT NULL)"
            )
        for number, script in enumerate(migrations()[version or 0 :], (version or 0) + 1):
            for statement in script.split(";\n"):
                connection.execute(statement)
            connection.execute("INSERT INTO flowfn.migration VALUES ($1, now())", (number,))


def _version(connection: Connection, name: str) -> int | None:
    """How many migrations a database has had; None where it doesn't even have the schema."""
    ours, schema, tables = connection.execute(_FOUND).fetchone() or (False, 0, 0)
    if not ours:
        if tables:
            raise NotADatabase(
                f"{name} has a schema `flowfn` that is another application's; it was left as it is."
                " Name another database."
            )
        return 0 if schema else None
    ((version,),) = connection.execute("SELECT coalesce(max(number), 0) FROM flowfn.migration").fetchall()
    if version > len(migrations()):
        raise DatabaseVersion(
            f"{name} has format {version}, and this flowfn knows formats up to {len(migrations())}."
            " Upgrade flowfn, or name another database."
        )
    return int(version)
