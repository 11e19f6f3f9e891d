"""The file that a connection of the program's is open on."""

from __future__ import annotations

import sqlite3


def path_of(conn: sqlite3.Connection | str) -> str:
    """The path of a connection's file; `":memory:"` where it has none.

    Raises:
        TypeError: it is no connection.
    """
    if isinstance(conn, str):
        return conn
    if not isinstance(conn, sqlite3.Connection):
        raise TypeError(
            f"{conn!r} is no connection. Pass sqlite3.connect(path), or use from_conn_string(path)."
        )
    return file_in(conn.execute(DATABASES).fetchall())


DATABASES = "PRAGMA database_list"


def file_in(databases: list[tuple[int, str, str]]) -> str:
    """The path of the main one of the `DATABASES` of a connection; `":memory:"` where it has none."""
    return databases[0][2] or ":memory:"
