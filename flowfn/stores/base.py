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
    """

    supports_ttl: bool = False
    ttl_config: TTLConfig | None = None

    @abstractmethod
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations; their results in the same order.

        All reads see what was there before the batch. Of several puts to one key the last counts.
        """

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, for asyncio."""
        import asyncio

        return await asyncio.to_thread(self.batch, list(ops))

    # -- blocking ---------------------------------------------------------------------------------

    def get(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """The item under a key, or None.

        `refresh_ttl`: whether its time to live begins anew; default: the store's `refresh_on_read`.
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
                that aren't indexed come last, with a score of None.
            filter: pass only values with these fields; see `flowfn.stores.filters`.
            limit: how many at most.
            offset: how many of the first to leave out.
            refresh_ttl: whether the time to live of what is found begins anew; default: `refresh_on_read`.

        Raises:
            InvalidFilter: the filter has an unknown operator.
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
            index: the paths whose texts queries are compared with; None: the store's; False: none, but that an
                item which was indexed stays so while the texts at the store's paths are the same.
            ttl: minutes to live, or a `timedelta`; None: for ever; left out: the store's `default_ttl`.

        Raises:
            InvalidNamespaceError: the namespace isn't valid.
            NotImplementedError: a `ttl` for a store whose items don't expire.
        """
        self.batch([self._put(namespace, key, value, index, ttl)])

    def delete(self, namespace: Namespace, key: str) -> None:
        """Forget the item under a key. No error if there is none."""
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

        `prefix` and `suffix` are the labels that they begin and end with, `"*"` being any. `max_depth` cuts
        them to so many labels, and gives each once.
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
