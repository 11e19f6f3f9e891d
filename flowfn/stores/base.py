"""What every store is: operations in batches, and a method for each on top.

Rule: a store of one's own derives from `BaseStore` and writes `batch`; whatever else users call is written here
once and does nothing but make operations. Each `a…` method awaits `abatch`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal, cast

from flowfn.errors import InvalidInput
from flowfn.stores.items import (
    NOT_PROVIDED,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Namespace,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from flowfn.stores.namespaces import checked, checked_for_put

TTL = float | timedelta | None | NotProvided
Indexed = Literal[False] | list[str] | None


class BaseStore(ABC):
    """Long-term memory: values under a namespace and a key, for all threads and workflows.

    Derive from it, and write `batch`; `abatch` runs it in a thread unless you write that too. A store whose
    items may expire sets `supports_ttl`, and `ttl_config` where it has defaults.

    Of an argument of the wrong kind all methods raise `InvalidInput`; of a namespace that can't be one,
    `InvalidNamespaceError`; of a database that can't be used, `SaverError`, or one of the errors below it. Each
    blocking method has one for asyncio, whose name begins with an `a`: `aget`, `aput`.
    """

    supports_ttl: bool = False
    """Whether a `put` may name a `ttl`; default: no."""
    ttl_config: TTLConfig | None = None
    """How long items live that name no `ttl`; default: for ever."""

    @abstractmethod
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations; their results in the same order.

        All reads see what was there before the batch. Of several puts to one key the last counts.

        Args:
            ops: `GetOp`, `PutOp`, `SearchOp` and `ListNamespacesOp`, of which each method here makes one.

        Raises:
            InvalidInput, InvalidNamespaceError, InvalidFilter: an operation can't be done; then none is.
            SerializationError: a value that is put can't be stored; then nothing is.
            AsyncInBlockingRun: texts are to be embedded, and the index's `embed` is async: await `abatch`.
        """

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, for asyncio."""
        import asyncio

        return await asyncio.to_thread(self.batch, list(ops))

    # -- blocking ---------------------------------------------------------------------------------

    def get(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """The item under a key, or None.

        Args:
            namespace: labels, all of them: `("users", "ann")`.
            key: what it was put under.
            refresh_ttl: whether its time to live begins anew; default: the store's `refresh_on_read`, else True.

        Raises:
            InvalidInput: the key is no string.
            InvalidNamespaceError: the namespace isn't valid.
        """
        return cast("Item | None", self.batch([self._get(namespace, key, refresh_ttl)])[0])

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """The items in a namespace and in those below it, the last put first.

        Args:
            namespace_prefix: the first labels of the namespaces to search; `()` for all.
            query: put those first whose texts are most like this one, where the store has an index; items
                that aren't indexed come last, with a score of None. Default: the last put come first.
            filter: pass only values with these fields; see `flowfn.stores.filters`. Default: all.
            limit: how many at most; default: 10.
            offset: how many of the first to leave out; default: 0.
            refresh_ttl: whether the time to live of what is found begins anew; default: the store's `refresh_on_read`,
                else True.

        Raises:
            InvalidFilter: the filter has an unknown operator.
            InvalidInput: `limit` or `offset` is no whole number from 0 on.
            InvalidNamespaceError: the namespace isn't valid.
        """
        op = self._search(namespace_prefix, query, filter, limit, offset, refresh_ttl)
        return cast("list[SearchItem]", self.batch([op])[0])

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Indexed = None,
        *,
        ttl: TTL = NOT_PROVIDED,
    ) -> None:
        """Keep a value under a key, in place of what was there.

        Args:
            namespace: non-empty labels without periods.
            key: names the value within its namespace.
            value: a dict.
            index: the paths whose texts queries are compared with; None, the default: the store's; False: none, but
                that an item which was indexed stays so while the texts at the store's paths are the same.
            ttl: minutes to live, or a `timedelta`; None: for ever; left out: the store's `default_ttl`, else for ever.

        Raises:
            InvalidInput: the key is no string, the value no dict, or `ttl` no time.
            InvalidNamespaceError: the namespace isn't valid.
            NotImplementedError: a `ttl` for a store whose items don't expire.
            SerializationError: the value can't be stored.
        """
        self.batch([self._put(namespace, key, value, index, ttl)])

    def delete(self, namespace: Namespace, key: str) -> None:
        """Forget the item under a key. No error if there is none.

        Raises:
            InvalidInput: the key is no string.
            InvalidNamespaceError: the namespace isn't valid.
        """
        self.batch([PutOp(checked(namespace), key, None)])

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """The namespaces that hold items, sorted.

        Args:
            prefix: the labels that they begin with, `"*"` being any; default: all.
            suffix: the labels that they end with, in the same way.
            max_depth: cut them to so many labels, and give each once; default: whole.
            limit: how many at most; default: 100.
            offset: how many of the first to leave out; default: 0.

        Raises:
            InvalidInput: `limit`, `offset` or `max_depth` is no whole number.
        """
        op = self._list(prefix, suffix, max_depth, limit, offset)
        return cast("list[Namespace]", self.batch([op])[0])

    # -- asyncio ----------------------------------------------------------------------------------

    async def aget(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """As `get`."""
        return cast("Item | None", await self._ask(self._get(namespace, key, refresh_ttl)))

    async def asearch(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """As `search`."""
        op = self._search(namespace_prefix, query, filter, limit, offset, refresh_ttl)
        return cast("list[SearchItem]", await self._ask(op))

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Indexed = None,
        *,
        ttl: TTL = NOT_PROVIDED,
    ) -> None:
        """As `put`."""
        await self._ask(self._put(namespace, key, value, index, ttl))

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """As `delete`."""
        await self._ask(PutOp(checked(namespace), key, None))

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """As `list_namespaces`."""
        op = self._list(prefix, suffix, max_depth, limit, offset)
        return cast("list[Namespace]", await self._ask(op))

    async def _ask(self, op: Op) -> Result:
        """What one operation comes to; a store that gathers them says when that is."""
        return (await self.abatch([op]))[0]

    # -- arguments to operations ------------------------------------------------------------------

    def _get(self, namespace: Namespace, key: str, refresh: bool | None) -> GetOp:
        return GetOp(checked(namespace), key, self._refreshes(refresh))

    def _search(
        self,
        prefix: Namespace,
        query: str | None,
        filter: Mapping[str, Any] | None,
        limit: int,
        offset: int,
        refresh: bool | None,
    ) -> SearchOp:
        return SearchOp(checked(prefix), filter, limit, offset, query, self._refreshes(refresh))

    def _put(
        self, namespace: Namespace, key: str, value: Mapping[str, Any], index: Indexed, ttl: TTL
    ) -> PutOp:
        if not self.supports_ttl and not isinstance(ttl, NotProvided) and ttl is not None:
            raise NotImplementedError(
                f"TTL is not supported by {type(self).__name__}. Use a store implementation that supports TTL or "
                "set ttl=None."
            )
        return PutOp(checked_for_put(namespace), key, value, index, self._minutes(ttl))

    @staticmethod
    def _list(
        prefix: NamespacePath | None,
        suffix: NamespacePath | None,
        max_depth: int | None,
        limit: int,
        offset: int,
    ) -> ListNamespacesOp:
        conditions = []
        if prefix:
            conditions.append(MatchCondition("prefix", tuple(prefix)))
        if suffix:
            conditions.append(MatchCondition("suffix", tuple(suffix)))
        return ListNamespacesOp(tuple(conditions) or None, max_depth, limit, offset)

    def _refreshes(self, asked: bool | None) -> bool:
        return asked if asked is not None else (self.ttl_config or {}).get("refresh_on_read", True)

    def _minutes(self, ttl: TTL) -> float | None:
        if isinstance(ttl, NotProvided):
            return (self.ttl_config or {}).get("default_ttl")
        return minutes_of(ttl)


def minutes_of(ttl: float | timedelta | None) -> float | None:
    """A time to live in minutes.

    Raises:
        InvalidInput: it is below zero, or no number.
    """
    if ttl is None:
        return None
    try:
        minutes = ttl.total_seconds() / 60 if isinstance(ttl, timedelta) else ttl + 0.0
        if 0 <= minutes * 60 < float("inf"):
            return minutes
    except (TypeError, OverflowError):  # no number, or one that is too large
        pass
    raise InvalidInput(f"ttl={ttl!r} is no time to live. Pass minutes from 0 on, or None for ever.")
