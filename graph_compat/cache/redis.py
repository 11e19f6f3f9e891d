"""A cache in Redis, which machines may share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flowfn.caching.redis import literal
from graph_compat.cache.base import BaseCache, FullKey, Namespace, ValueT

__all__ = ["RedisCache"]


class RedisCache(BaseCache[ValueT]):
    """Keeps values in Redis, through a client of the `redis` package (`redis.Redis(...)`).

    Every key begins with `prefix`, so that caches may share a server. Errors of Redis are raised; a graph takes
    them as a miss, and logs them.
    """

    def __init__(self, redis: Any, *, serde: Any = None, prefix: str = "langgraph:cache:") -> None:
        super().__init__(serde=serde)
        self.redis = redis
        self.prefix = prefix

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, ValueT]:
        """The values that are there and whose time isn't up, by key."""
        if not keys:
            return {}
        found = self.redis.mget([self._place(key) for key in keys])
        held = ((key, data) for key, data in zip(keys, found, strict=True) if data is not None)
        return {key: self.decoded(*_parted(data)) for key, data in held}

    def set(self, mapping: Mapping[FullKey, tuple[ValueT, int | None]]) -> None:
        """Keep values, each for so many seconds, or, with None, for ever."""
        pipeline = self.redis.pipeline(transaction=False)
        for key, (value, ttl) in mapping.items():
            kind, data = self.encoded(value)
            lasting = None if ttl is None else max(1, round(ttl * 1000))
            pipeline.set(self._place(key), kind.encode() + b":" + data, px=lasting)
        pipeline.execute()

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget what is in these namespaces; for None everything under the prefix."""
        for start in [""] if namespaces is None else map(_namespace, namespaces):
            for batch in _batches(self.redis.scan_iter(match=f"{literal(self.prefix + start)}*", count=1000)):
                self.redis.delete(*batch)

    def _place(self, key: FullKey) -> str:
        return f"{self.prefix}{_namespace(key[0])}{key[1]}"


def _namespace(namespace: Namespace) -> str:
    """A namespace as the start of a key; no other one starts like it."""
    return f"{json.dumps(namespace, separators=(',', ':'))}:"


def _parted(data: bytes) -> tuple[str, bytes]:
    kind, _, value = data.partition(b":")
    return kind.decode(), value


def _batches(keys: Iterator[Any], size: int = 1000) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for key in keys:
        batch.append(key)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
