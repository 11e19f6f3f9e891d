"""The database that a connection or pool of the program's is open on."""

from __future__ import annotations

from typing import Any


def url_of(conn: Any) -> str:
    """What libpq opens the same database with.

    Raises:
        TypeError: it is no connection of psycopg's, and no pool.
    """
    if isinstance(conn, str):
        return conn
    if isinstance(given := getattr(conn, "conninfo", None), str):  # a pool's
        return given
    info = getattr(conn, "info", None)
    if info is None:
        raise TypeError(
            f"{conn!r} is no connection. Pass psycopg.connect(url), or use from_conn_string(url)."
        )
    from psycopg.conninfo import make_conninfo

    secret = {"password": info.password} if info.password else {}
    return make_conninfo(**info.get_parameters(), **secret)
