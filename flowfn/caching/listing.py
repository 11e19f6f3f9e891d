"""What a cache keeps, one result after another; nothing of it is decoded but how it was made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from flowfn.caching.entries import Made, made_of, value_of
from flowfn.caching.sources import is_source
from flowfn.errors import CacheError, FlowError


class Kept(NamedTuple):
    """One result: `size` in bytes, `at` when it was made, in epoch seconds; of an unreadable one `problem` says why."""

    key: str
    size: int
    at: float = 0.0
    made: Made = Made()
    problem: str = ""

    @property
    def task(self) -> str:
        """The qualified name of the task whose result it is."""
        return self.key.rpartition(":")[0]


def kept(cache: Any, prefix: str = "") -> Iterator[Kept]:
    """The results under keys that begin so, in the cache's order.

    Raises:
        CacheError: the cache can't be read, or can't list what it keeps.
    """
    if not hasattr(cache, "keys"):
        raise CacheError(
            f"{cache!r} can't list what it keeps. Give its class keys(prefix), as `flowfn.caching.MemoryCache` has"
        )
    for key in cache.keys(prefix):
        if not is_source(key):
            yield from _entry(cache, key)


def _entry(cache: Any, key: str) -> Iterator[Kept]:
    """The entry of a key; none where it has gone meanwhile."""
    size = 0
    try:
        data = cache.get(key)
        if data is not None:
            size = len(data)
            at, _ = value_of(key, data)
            yield Kept(key, size, at, made_of(data))
    except FlowError as error:
        yield Kept(key, size, problem=str(error))
