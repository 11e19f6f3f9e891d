"""The store that keeps items in this process's memory.

Rule: it keeps encoded values, so that nobody's changes to a dict that was put or found reach the store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, TypeVar

from flowfn.ports import Serializer
from flowfn.python.forking import each_after_fork
from flowfn.stores.items import IndexConfig, Namespace, TTLConfig
from flowfn.stores.ranking import ranked
from flowfn.stores.rows import Place, Row, Rows
from flowfn.stores.store import Store
from flowfn.stores.sweeper import SYSTEM, Clock

T = TypeVar("T")


class InMemoryStore(Store):
    """Long-term memory that ends with the process. See `Store` for its options."""

    inline = True
    keeps_text: ClassVar[bool] = False
    newest_first: ClassVar[bool] = True
    """Whether a search gives the last put first, as every other store does, or each key where it was first put."""

    def __init__(
        self,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        serde: Serializer | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        super().__init__(index=index, ttl=ttl, serde=serde, clock=clock)
        self._kept = _MemoryRows(self.newest_first)
        self._renew_lock()
        _renewed_after_fork(self)

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    def _transact(self, work: Callable[[Rows], T], *, writing: bool) -> T:
        with self._lock:
            return work(self._kept)

    def close(self) -> None:
        """Stop the sweeper; the items stay."""
        self.stop_ttl_sweeper(0)


class _Kept(NamedTuple):
    row: Row
    vectors: Sequence[bytes]
    turn: int


_turn = attrgetter("turn")


class _MemoryRows:
    """Rows in dicts: namespaces, and in each its keys, in the order in which they were put, first or last."""

    def __init__(self, newest_first: bool) -> None:
        self._namespaces: dict[Namespace, dict[str, _Kept]] = {}
        self._newest_first = newest_first
        self._turn = 0

    def get(self, place: Place, alive: float | None) -> Row | None:
        kept = self._namespaces.get(place[0], {}).get(place[1])
        return kept.row if kept is not None and _lives(kept.row, alive) else None

    def scan(self, prefix: Namespace, filter: Mapping[str, Any], alive: float | None) -> Iterator[Row]:
        return (kept.row for kept in self._ordered(prefix, alive))

    def likest(
        self, query: bytes, prefix: Namespace, filter: Mapping[str, Any], alive: float | None
    ) -> Iterable[tuple[Place, float]]:
        kept = self._ordered(prefix, alive)
        return ranked(query, ((one.row.place, vector) for one in kept for vector in one.vectors))

    def vectors(self, place: Place) -> Sequence[bytes]:
        kept = self._namespaces.get(place[0], {}).get(place[1])
        return () if kept is None else kept.vectors

    def namespaces(self, prefix: Namespace, alive: float | None) -> Iterable[Namespace]:
        return [
            namespace
            for namespace, keys in self._namespaces.items()
            if namespace[: len(prefix)] == prefix
            and (alive is None or any(_lives(kept.row, alive) for kept in keys.values()))
        ]

    def put(self, row: Row, vectors: Sequence[bytes]) -> None:
        self._turn += 1
        keys = self._namespaces.setdefault(row.namespace, {})
        if self._newest_first:
            keys.pop(row.key, None)
        keys[row.key] = _Kept(row, vectors, self._turn)

    def delete(self, place: Place) -> None:
        namespace, key = place
        keys = self._namespaces.get(namespace, {})
        keys.pop(key, None)
        if not keys:
            self._namespaces.pop(namespace, None)

    def refresh(self, places: Iterable[Place], now: float) -> None:
        for namespace, key in places:
            kept = self._namespaces.get(namespace, {}).get(key)
            if kept is not None and kept.row.ttl is not None:
                row = kept.row._replace(expires=now + kept.row.ttl * 60)
                self._namespaces[namespace][key] = kept._replace(row=row)

    def sweep(self, now: float) -> int:
        expired = [kept.row.place for kept in self._ordered((), None) if not _lives(kept.row, now)]
        for place in expired:
            self.delete(place)
        return len(expired)

    def _ordered(self, prefix: Namespace, alive: float | None) -> Iterable[_Kept]:
        below = [keys for namespace, keys in self._namespaces.items() if namespace[: len(prefix)] == prefix]
        found: Iterable[_Kept]
        if self._newest_first:
            found = chain.from_iterable(reversed(keys.values()) for keys in below)
            if len(below) > 1:
                found = sorted(found, key=_turn, reverse=True)
        else:
            found = chain.from_iterable(keys.values() for keys in below)
        return found if alive is None else (kept for kept in found if _lives(kept.row, alive))


def _lives(row: Row, alive: float | None) -> bool:
    return alive is None or row.expires is None or row.expires > alive


_renewed_after_fork = each_after_fork(InMemoryStore._renew_lock)
