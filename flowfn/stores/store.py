"""What every backend's store does with a batch, from its arguments to its results.

Rule: a batch is checked, encoded and embedded before the backend is touched, and then done in one transaction. All of
it is kept, or nothing. A backend derives from `Store` and writes `_transact`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from flowfn.errors import InvalidInput
from flowfn.ports import Serializer
from flowfn.stores import filters
from flowfn.stores.base import BaseStore
from flowfn.stores.embedding import Embedded, Index
from flowfn.stores.encoding import Encoded, decode, encode
from flowfn.stores.items import (
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Namespace,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from flowfn.stores.namespaces import (
    checked,
    checked_conditions,
    checked_for_put,
    common_prefix,
    is_unicode,
    listed,
)
from flowfn.stores.ranking import ranked
from flowfn.stores.rows import Place, Row, Rows
from flowfn.stores.sweeper import SYSTEM, Clock, Sweeper

T = TypeVar("T")
Self = TypeVar("Self", bound="Store")

_NOTHING = Embedded({}, {})


class Store(BaseStore):
    """A store on a backend's rows.

    `index`: compare values with queries, see `IndexConfig`; `ttl`: how long items live, see `TTLConfig`.
    `serde` keeps what JSON can't; default: `flowfn.serde.DEFAULT`. `clock` tells the time: an object with
    `now()`, seconds since the epoch, and `wait(event, seconds)`.
    """

    supports_ttl = True
    inline = False
    """Whether batches are so brief that an event loop may wait for them."""

    def __init__(
        self,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        serde: Serializer | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self.index_config = index
        self.ttl_config = ttl
        self._index = None if index is None else Index(index)
        self._serde = serde if serde is not None else _default_serde()
        self._clock = clock
        self._sweeper = Sweeper(self, clock)

    @abstractmethod
    def _transact(self, work: Callable[[Rows], T], *, writing: bool) -> T:
        """What `work` returns, done in one transaction; one that writes keeps all, or nothing.

        A backend may do the work again where its connection was lost.
        """

    @abstractmethod
    def close(self) -> None:
        """Give back what the store holds. No error if closed already."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- batches ----------------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations in one transaction; their results in the same order."""
        batch = self._prepared(ops)
        embedded = _NOTHING if self._index is None else self._index.embed(batch.texts, batch.queries)
        return self._perform(batch, embedded)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, for asyncio."""
        batch = self._prepared(ops)
        embedded = _NOTHING if self._index is None else await self._index.aembed(batch.texts, batch.queries)
        if self.inline:
            return self._perform(batch, embedded)
        import asyncio

        return await asyncio.to_thread(self._perform, batch, embedded)

    def _prepared(self, ops: Iterable[Op]) -> _Batch:
        """The operations, checked, and what the last put to each key keeps."""
        found = [_checked(op) for op in ops]
        puts = {(op.namespace, op.key): op for op in found if isinstance(op, PutOp)}
        return _Batch(found, {place: self._encoded(op) for place, op in puts.items()})

    def _encoded(self, op: PutOp) -> _Kept | None:
        if op.value is None:
            return None
        texts = [] if self._index is None else self._index.texts(op.value, op.index)
        return _Kept(encode(dict(op.value), self._serde), texts, op.ttl)

    def _perform(self, batch: _Batch, embedded: Embedded) -> list[Result]:
        now = self._clock.now()
        alive = now if (self.ttl_config or {}).get("omit_expired", False) else None
        work = partial(self._done, batch, embedded, now, alive)
        results, refreshed = self._transact(work, writing=bool(batch.puts))
        if refreshed and not batch.puts:
            self._transact(lambda rows: rows.refresh(refreshed, now), writing=True)
        return results

    def _done(
        self, batch: _Batch, embedded: Embedded, now: float, alive: float | None, rows: Rows
    ) -> tuple[list[Result], list[Place]]:
        """The results of a batch, and what its reads refresh."""
        reading = _Reading(rows, self._serde, embedded, alive)
        results = [reading.result(op) for op in batch.ops]
        if batch.puts and reading.refreshed:
            rows.refresh(reading.refreshed, now)
        for place, kept in batch.puts.items():
            if kept is None:
                rows.delete(place)
            else:
                vectors = [embedded.texts[text] for text in kept.texts]
                rows.put(_row(place, kept, rows.get(place, alive), now), vectors)
        return results, reading.refreshed

    # -- time to live -----------------------------------------------------------------------------

    def sweep_ttl(self) -> int:
        """Delete the items whose time is up; how many there were."""
        now = self._clock.now()
        return self._transact(lambda rows: rows.sweep(now), writing=True)

    async def asweep_ttl(self) -> int:
        """As `sweep_ttl`."""
        if self.inline:
            return self.sweep_ttl()
        import asyncio

        return await asyncio.to_thread(self.sweep_ttl)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep now and then, in a thread, until the store is closed or forgotten.

        Returns a `concurrent.futures.Future` that is done when the sweeper has stopped; where one runs already, its
        future. The interval's default is `sweep_interval_minutes` of the store's `ttl`, or 5.
        """
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes if sweep_interval_minutes is not None else configured
        return self._sweeper.start(5 if minutes is None else minutes)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper, waiting for `timeout` seconds; whether none runs any more."""
        return self._sweeper.stop(timeout)


class _Kept(NamedTuple):
    """What a put keeps."""

    value: Encoded
    texts: list[str]
    ttl: float | None


class _Batch(NamedTuple):
    """Operations that can be done; `puts` has None for what is deleted."""

    ops: list[Op]
    puts: dict[Place, _Kept | None]

    @property
    def texts(self) -> list[str]:
        """What queries will be compared with."""
        return [text for kept in self.puts.values() if kept is not None for text in kept.texts]

    @property
    def queries(self) -> list[str]:
        """What is searched for."""
        return [op.query for op in self.ops if isinstance(op, SearchOp) and op.query]


def _row(place: Place, kept: _Kept, old: Row | None, now: float) -> Row:
    """The row of a put: what was there before gives it its first moment."""
    created = now if old is None else old.created
    expires = None if kept.ttl is None else now + kept.ttl * 60
    return Row(*place, kept.value, created, now, kept.ttl, expires)


class _Reading:
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
        return Item(*row.place, decode(row.value, self._serde), _time(row.created), _time(row.updated))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        query = self._embedded.queries.get(op.query) if op.query else None
        found = self._newest(op) if query is None else self._likest(op, query)
        chosen = islice(found, op.offset, op.offset + op.limit)
        return [self._found(row, value, score, op.refresh_ttl) for row, value, score in chosen]

    def _newest(self, op: SearchOp, but: Iterable[Place] = ()) -> Iterator[_Scored]:
        """The matching rows, the last put first."""
        given = op.filter or {}
        for row in self._rows.scan(op.namespace_prefix, given, self._alive):
            if row.place not in but and (value := self._matching(row, given)) is not None:
                yield row, value, None

    def _likest(self, op: SearchOp, query: bytes) -> Iterator[_Scored]:
        """The matching rows, those most like the query first; then those that have no vectors."""
        given = op.filter or {}
        scores = ranked(query, self._rows.vectors(op.namespace_prefix, given, self._alive))
        for place, score in scores:
            row = self._rows.get(place, self._alive)
            if row is not None and (value := self._matching(row, given)) is not None:
                yield row, value, score
        yield from self._newest(op, dict(scores))

    def _matching(self, row: Row, given: Any) -> dict[str, Any] | None:
        value = decode(row.value, self._serde)
        return value if filters.matches(value, given) else None

    def _found(self, row: Row, value: dict[str, Any], score: float | None, refresh: bool) -> SearchItem:
        self._refresh(row, refresh)
        return SearchItem(*row.place, value, _time(row.created), _time(row.updated), score)

    def _refresh(self, row: Row, asked: bool) -> None:
        if asked and row.ttl is not None:
            self.refreshed.append(row.place)

    def _list(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        known = self._rows.namespaces(common_prefix(conditions), self._alive)
        return listed(known, conditions, op.max_depth, op.limit, op.offset)


_Scored = tuple[Row, dict[str, Any], float | None]


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _default_serde() -> Serializer:
    from flowfn.serde import DEFAULT

    return DEFAULT


# -- checking -------------------------------------------------------------------------------------


def _checked(op: Op) -> Op:
    """An operation that can be done.

    Raises:
        InvalidInput: its key, value, limit or offset is of the wrong kind, or it is no operation.
        InvalidFilter: its filter or condition can't be met.
        InvalidNamespaceError: its namespace is none.
    """
    if isinstance(op, GetOp):
        return op._replace(namespace=checked(op.namespace), key=_key(op.key))
    if isinstance(op, PutOp):
        place = checked if op.value is None else checked_for_put
        return op._replace(namespace=place(op.namespace), key=_key(op.key), value=_value(op.value))
    if isinstance(op, SearchOp):
        filters.check(op.filter or {})
        _check_page(op.limit, op.offset)
        return op._replace(namespace_prefix=checked(op.namespace_prefix))
    if isinstance(op, ListNamespacesOp):
        _check_page(op.limit, op.offset)
        return op._replace(match_conditions=checked_conditions(op.match_conditions))
    raise InvalidInput(f"{op!r} is no operation. Pass a GetOp, PutOp, SearchOp or ListNamespacesOp.")


def _key(key: Any) -> str:
    """The key; a whole number stands for its digits."""
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    if not isinstance(key, str) or not is_unicode(key):
        raise InvalidInput(f"key={key!r} is no key. Pass a string, such as {str(key)!r}.")
    return key


def _value(value: Any) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value
    try:
        return dict(value.items())
    except (AttributeError, TypeError):
        raise InvalidInput(f'value={value!r} is not a dict. Write {{"value": {value!r}}}.') from None


def _check_page(limit: Any, offset: Any) -> None:
    for name, number in (("limit", limit), ("offset", offset)):
        if not isinstance(number, int) or number < 0:
            raise InvalidInput(f"{name}={number!r} is not a count. Pass a whole number from 0 on.")
