"""The memory that LangGraph kept in a store, in SQLite or Postgres, becomes items of a store of flowfn's.

Rule: they are taken over all at once, and the database that they come from is only read. Keys, values, times and times
to live come along, in the order of the last puts; vectors are made anew where the taking store compares with queries.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flowfn.errors import CorruptDataError, InvalidInput
from flowfn.stores.items import Moved
from flowfn.stores.store import Store
from graph_compat.importing.tables import OF_STORES, connected, tables_of


def import_items(source: Path | str, target: Store) -> int:
    """Take over every item of a LangGraph store, in a file or at a Postgres URL; how many there were.

    A key that `target` has already stays as it is there.

    Raises:
        InvalidInput: `source` has no such store.
        CorruptDataError: an item of it can't be read; none is taken over.
    """
    if not tables_of(source) >= OF_STORES:
        raise InvalidInput(f"{source} holds no store of LangGraph's. Pass the database that its store wrote")
    with closing(connected(source)) as database:
        return target.adopt(_items(database))


def _items(database: Any) -> Iterator[Moved]:
    rows = database.execute("SELECT * FROM store ORDER BY updated_at, created_at")
    names = [name for name, *_ in rows.description]
    for row in rows:
        yield _moved(dict(zip(names, row, strict=True)))


def _moved(row: dict[str, Any]) -> Moved:
    """An item; its time to live is in columns that older stores haven't."""
    prefix, key, value = row["prefix"], row["key"], row["value"]
    try:
        return Moved(
            namespace=tuple(prefix.split(".")),
            key=key,
            value=value if isinstance(value, dict) else dict(json.loads(value)),
            created=_seconds(row["created_at"]),
            updated=_seconds(row["updated_at"]),
            ttl=row.get("ttl_minutes"),
            expires=None if row.get("expires_at") is None else _seconds(row["expires_at"]),
        )
    except (TypeError, ValueError) as error:
        raise CorruptDataError(
            f"The item {key!r} of {prefix!r} can't be read ({error}). Restore a copy"
        ) from error


def _seconds(moment: Any) -> float:
    """Since the epoch, of what a driver gives: text without a zone is in UTC."""
    found: datetime = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
