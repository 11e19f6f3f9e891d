"""Which of LangGraph's tables a database has, and a connection that reads them.

Rule: connections of both drivers, SQLite's and Postgres', execute statements alike, and never write.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from flowfn.errors import InvalidInput

OF_SAVERS = {"checkpoints"}
OF_STORES = {"store", "store_migrations"}

_IN_SQLITE = "SELECT name FROM sqlite_master"
_IN_POSTGRES = "SELECT relname FROM pg_class WHERE pg_table_is_visible(oid)"


def tables_of(source: Path | str) -> set[str]:
    """The names of all tables, of a file or at a Postgres URL.

    Raises:
        InvalidInput: it can't be opened.
    """
    with closing(connected(source)) as database:
        return {
            name for (name,) in database.execute(_IN_SQLITE if isinstance(source, Path) else _IN_POSTGRES)
        }


def connected(source: Path | str) -> Any:
    """A connection that only reads.

    Raises:
        InvalidInput: there is none to be had.
    """
    return _file(source) if isinstance(source, Path) else _server(source)


def _file(path: Path) -> sqlite3.Connection:
    with ExitStack() as stack:
        try:
            found = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            stack.callback(found.close)
            found.execute(_IN_SQLITE)  # SQLite opens it with the first statement
        except sqlite3.Error as error:
            raise InvalidInput(
                f"{path} is not a database of LangGraph's ({error}). Pass the file that it wrote"
            ) from error
        stack.pop_all()
        return found


def _server(url: str) -> Any:
    import psycopg

    try:
        return psycopg.connect(url, options="-c default_transaction_read_only=on")
    except psycopg.Error as error:
        raise InvalidInput(f"LangGraph's database can't be opened: {str(error).strip()}") from error
