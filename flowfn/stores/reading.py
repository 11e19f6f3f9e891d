"""What the reads of a batch find.

Rule: rows come from the backend one by one, in its order or by likeness, and are decoded until a page is full.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from flowfn.ports import Serializer
from flowfn.stores import filters
from flowfn.stores.embedding import Embedded
from flowfn.stores.encoding import decode
from flowfn.stores.items import GetOp, Item, ListNamespacesOp, Namespace, Op, Result, SearchItem, SearchOp
from flowfn.stores.namespaces import common_prefix, listed
from flowfn.stores.rows import Place, Row, Rows


class Reading:
    """What the reads of one batch find, and which items they refresh."""

    def __init__(self, rows: Rows, serde: Serializer, embedded: Embedded, alive: float | None) -> None:
        self._rows = rows
        self._serde = serde
        self._embedded = embedded
        self._alive = alive
        self.refreshed: list[Place] = []

    def result(self, op: Op) -> Result:
        """What an operation returns; None for a put."""
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._list(op)
        return None

    def _get(self, op: GetOp) -> Item | None:
        row = self._rows.get((op.namespace, op.key), self._alive)
        if row is None:
            return None
        self._refresh(row, op.refresh_ttl)
        return Item(row.namespace, row.key, decode(row.value, self._serde), *_times(row))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        query = self._embedded.queries.get(op.query) if op.query else None
        found = self._newest(op) if query is None else self._likest(op, query)
        chosen = islice(found, min(op.offset, sys.maxsize), min(op.offset + op.limit, sys.maxsize))
        return [self._found(row, value, score, op.refresh_ttl) for row, value, score in chosen]

    def _newest(self, op: SearchOp, but: Iterable[Place] = ()) -> Iterator[_Scored]:
        """The matching rows, the last put first."""
        given = op.filter or {}
        passes = filters.matcher(given)
        for row in self._rows.scan(op.namespace_prefix, given, self._alive):
            if not (but and row.place in but) and passes(value := decode(row.value, self._serde)):
                yield row, value, None

    def _likest(self, op: SearchOp, query: bytes) -> Iterator[_Scored]:
        """The matching rows, those most like the query first; then those that have no vectors."""
        given = op.filter or {}
        passes, seen = filters.matcher(given), set()
        for place, score in self._rows.likest(query, op.namespace_prefix, given, self._alive):
            seen.add(place)
            row = self._rows.get(place, self._alive)
            if row is not None and passes(value := decode(row.value, self._serde)):
                yield row, value, score
        yield from self._newest(op, seen)

    def _found(self, row: Row, value: dict[str, Any], score: float | None, refresh: bool) -> SearchItem:
        self._refresh(row, refresh)
        return SearchItem(row.namespace, row.key, value, *_times(row), score)

    def _refresh(self, row: Row, asked: bool) -> None:
        if asked and row.ttl is not None:
            self.refreshed.append(row.place)

    def _list(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        known = self._rows.namespaces(common_prefix(conditions), self._alive)
        return listed(known, conditions, op.max_depth, op.limit, op.offset)


_Scored = tuple[Row, dict[str, Any], float | None]


def _times(row: Row) -> tuple[datetime, datetime]:
    """When it was first put, and last."""
    created = datetime.fromtimestamp(row.created, UTC)
    return created, created if row.updated == row.created else datetime.fromtimestamp(row.updated, UTC)
