"""The tables of a database, and how an older database becomes a current one.

Rule: a schema is the sum of the numbered files in a folder of a package, which are only ever added to;
its table `migration` has a row for each that a database has had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.types.array import ListBinaryDumper

from flowfn.errors import DatabaseVersion, NotADatabase, SaverError
from flowfn.python.cached_property import cached_property

ADAPTERS = AdaptersMap(psycopg.adapters)
"""How connections say values: lists in the binary form, as a text has every item looked through for what to quote."""

ADAPTERS.register_dumper(list, ListBinaryDumper)


class Connection(psycopg.Connection[Any]):
    """A connection of psycopg's, with a cursor for what is answered before the next statement.

    A cursor of its own for each costs a third of what a statement costs this process.
    """

    age = 0
    """Which generation of its owner's connections it is of."""

    def ask(self, query: str, parameters: Sequence[Any] = (), **options: Any) -> psycopg.Cursor[Any]:
        """`execute`, whose answer is to be read before this is called again; for no pipeline."""
        return self._asking.execute(query, parameters, **options)

    @cached_property
    def _asking(self) -> psycopg.Cursor[Any]:
        return self.cursor()


_LOCK = 0x464C4F57
"""`FLOW`: the advisory lock under which a database is migrated."""

_FOUND = """
    SELECT to_regclass($1::text || '.migration') IS NOT NULL, count(pg_namespace.oid), count(pg_class.oid)
    FROM pg_namespace LEFT JOIN pg_class ON relnamespace = pg_namespace.oid WHERE nspname = $1::text"""


@dataclass(frozen=True)
class Schema:
    """A schema of Postgres's by its `name`, and the `folder` of a `package` that has its migrations.

    Without `create`, a database that isn't up to date is refused and left as it is.

    `behind` is a query whether a sequence is behind the rows that there are, and `catch_up` has them go on from there:
    rows may come without their sequences, as by logical replication.
    """

    name: str
    package: str
    folder: str
    create: bool = True
    behind: str = ""
    catch_up: str = ""

    def bring_up_to_date(self, connection: Connection, database: str) -> None:
        """Bring a database to the current format in one transaction, once, whoever else tries it too.

        Raises:
            DatabaseVersion: a newer flowfn wrote it; or an older one, and it is to be left as it is.
            NotADatabase: its schema of this name is another application's, or there is none and none is to be made; or
                it has another encoding than UTF-8.
        """
        scripts = _migrations(self.package, self.folder)
        _check_encoding(connection, database)
        version = self._version(connection, database)
        if version == len(scripts):
            self._catch_up(connection)
            return
        if not self.create:
            raise _unready(database, version, len(scripts))
        with connection.transaction():
            _wait_for_turn(connection)
            version = self._version(connection, database)
            if version is None:
                connection.execute(f"CREATE SCHEMA {self.name}")
            if not version:
                connection.execute(
                    f"CREATE TABLE {self.name}.migration (number integer NOT NULL, at timestamptz NOT NULL)"
                )
            for number, script in enumerate(scripts[version or 0 :], (version or 0) + 1):
                connection.execute(script)
                connection.execute(f"INSERT INTO {self.name}.migration VALUES ($1, now())", (number,))

    def _catch_up(self, connection: Connection) -> None:
        """Have sequences go on from the rows that there are."""
        if self.create and self.behind and connection.execute(self.behind).fetchone() == (True,):
            with connection.transaction():
                _wait_for_turn(connection)
                connection.execute(self.catch_up)

    def _version(self, connection: Connection, database: str) -> int | None:
        """How many migrations a database has had; None where it doesn't even have the schema."""
        found = connection.execute(_FOUND, (self.name,)).fetchone()
        ours, schema, tables = found or (False, 0, 0)
        if not ours:
            if tables:
                raise NotADatabase(
                    f"{database} has a schema `{self.name}` that is another application's; it was left as it is."
                    " Name another database."
                )
            return 0 if schema else None
        query = f"SELECT coalesce(max(number), 0) FROM {self.name}.migration"
        ((version,),) = connection.execute(query).fetchall()
        known = len(_migrations(self.package, self.folder))
        if version > known:
            raise DatabaseVersion(
                f"{database} has format {version}, and this flowfn knows formats up to {known}."
                " Upgrade flowfn, or name another database."
            )
        return int(version)


def _check_encoding(connection: Connection, database: str) -> None:
    """Refuse at once what would refuse a name or a value one day, in the middle of a run."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in ("UTF8", None):  # a pooler may tell nothing
        raise NotADatabase(
            f"{database} is encoded in {encoding}, which doesn't have every text."
            " Name one that was made with ENCODING 'UTF8' (and TEMPLATE template0)."
        )


def _wait_for_turn(connection: Connection) -> None:
    """Be the only one who migrates; whoever else does may take longer than is waited for other locks."""
    ((patience,),) = connection.execute("SELECT current_setting('lock_timeout')").fetchall()
    connection.execute("SELECT set_config('lock_timeout', '0', true)")
    connection.execute("SELECT pg_advisory_xact_lock($1)", (_LOCK,))
    connection.execute("SELECT set_config('lock_timeout', $1, true)", (patience,))


def _unready(database: str, version: int | None, known: int) -> SaverError:
    """Why a database that is only to be read can't be."""
    if not version:
        return NotADatabase(f"{database} is empty: no workflow has written to it yet. Name another database.")
    return DatabaseVersion(
        f"{database} has format {version}, and this flowfn reads format {known}."
        " Any run of a workflow on it brings it up to date; older flowfns can't use it then."
    )


@cache
def _migrations(package: str, folder: str) -> tuple[str, ...]:
    """The scripts, in the order of their numbers."""
    files = (resources.files(package) / folder).iterdir()
    scripts = sorted((file for file in files if file.name.endswith(".sql")), key=lambda f: f.name)
    numbers = [int(file.name.partition("_")[0]) for file in scripts]
    assert numbers == list(range(1, len(scripts) + 1)), f"migrations are numbered {numbers}"
    return tuple(file.read_text("utf-8") for file in scripts)
