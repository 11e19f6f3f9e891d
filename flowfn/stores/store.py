"""What every backend's store does with a batch, from its arguments to its results.

Rule: a batch is checked, encoded and embedded before the backend is touched, and then done in one transaction. All of
it is kept, or nothing. A backend derives from `Store` and writes `_transact`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import ClassVar, NamedTuple, Self, TypeVar

from flowfn.ports import Serializer
from flowfn.stores.base import BaseStore
from flowfn.stores.checking import checked_op
from flowfn.stores.embedding import Embedded, Embeddings, Index
from flowfn.stores.encoding import Encoded, decode, encode
from flowfn.stores.items import (
    IndexConfig,
    Moved,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
)
from flowfn.stores.reading import Reading
from flowfn.stores.rows import Place, Row, Rows
from flowfn.stores.sweeper import SYSTEM, Clock, Sweeper

T = TypeVar("T")

_NOTHING = Embedded({}, {})


class Store(BaseStore):
    """A store on a backend's rows.

    Args:
        index: compare values with queries, see `IndexConfig`; default: None, and a search's `query` orders nothing.
        ttl: how long items live, see `TTLConfig`; default: None, for ever.
        serde: keeps what JSON can't; default: `flowfn.serde.DEFAULT`.
        clock: tells the time: an object with `now()`, seconds since the epoch, and `wait(event, seconds)`; default: the
            machine's.

    Raises:
        InvalidInput: `index` lacks `dims` or `embed`.
    """

    supports_ttl = True
    inline = False
    """Whether batches are so brief that an event loop may wait for them."""
    keeps_text: ClassVar[bool] = True
    """Whether what JSON can hold is kept as JSON, for a database to look into; the serializer is quicker."""

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
        self._serde = serde if serde is not None else self._default_serde()
        self._clock = clock
        self._sweeper = Sweeper(self, clock)

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes vectors of texts; None without `index`."""
        return None if self._index is None else self._index.embeddings

    def _default_serde(self) -> Serializer:
        from flowfn.serde import DEFAULT

        return DEFAULT

    @abstractmethod
    def _transact(self, work: Callable[[Rows], T], *, writing: bool) -> T:
        """What `work` returns, done in one transaction; one that writes keeps all, or nothing.

        A backend may do the work again where its connection was lost.
        """

    @abstractmethod
    def close(self) -> None:
        """Give back what the store holds. No error if closed already."""

    def __enter__(self) -> Self:
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

    def adopt(self, items: Iterable[Moved]) -> int:
        """Keep items of another store with their times, all of them or none; how many there were.

        A key that has an item already keeps its own. With `index` they are embedded, to be compared with queries.
        """
        moved = {(item.namespace, item.key): item for item in items}
        batch = self._prepared(PutOp(*place, item.value, ttl=item.ttl) for place, item in moved.items())
        embedded = _NOTHING if self._index is None else self._index.embed(batch.texts, ())

        def keep(rows: Rows) -> int:
            new = [(place, kept) for place, kept in batch.puts.items() if kept and not rows.get(place, None)]
            for place, kept in new:
                own, vectors = moved[place], [embedded.texts[text] for text in kept.texts]
                rows.put(Row(*place, kept.value, own.created, own.updated, own.ttl, own.expires), vectors)
            return len(new)

        return self._transact(keep, writing=True)

    def _prepared(self, ops: Iterable[Op]) -> _Batch:
        """The operations, checked, and what the last put to each key keeps."""
        found = [*map(checked_op, ops)]
        puts = {(op.namespace, op.key): op for op in found if isinstance(op, PutOp)}
        return _Batch(found, {place: self._encoded(op) for place, op in puts.items()} if puts else {})

    def _encoded(self, op: PutOp) -> _Kept | None:
        if op.value is None:
            return None
        texts = [] if self._index is None else self._index.texts(op.value, op.index)
        unindexed = self._index.texts(op.value, None) if self._index is not None and op.index is False else []
        value = dict(op.value)
        kept = encode(value, self._serde) if self.keeps_text else self._serde.dumps(value)
        return _Kept(kept, texts, op.ttl, unindexed)

    def _says_the_same(self, kept: _Kept, old: Row | None) -> bool:
        """Whether what isn't to be indexed leaves the texts as they were, of which there may be vectors."""
        if self._index is None or old is None or not kept.unindexed:
            return False
        return self._index.texts(decode(old.value, self._serde), None) == kept.unindexed

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
        reading = Reading(rows, self._serde, embedded, alive)
        results = [reading.result(op) for op in batch.ops]
        if batch.puts and reading.refreshed:
            rows.refresh(reading.refreshed, now)
        for place, kept in batch.puts.items():
            if kept is None:
                rows.delete(place)
            else:
                old = rows.get(place, alive)
                made = [embedded.texts[text] for text in kept.texts]
                vectors = rows.vectors(place) if self._says_the_same(kept, old) else made
                rows.put(_row(place, kept, old, now), vectors)
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
    unindexed: list[str]
    """What would be compared with queries, had the put not said that nothing is."""


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
