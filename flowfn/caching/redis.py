"""A cache in Redis, or Valkey, which machines may share.

How much it keeps is the server's to say (`maxmemory`, `maxmemory-policy`); claims expire by its clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice
from typing import Any, TypeVar

from flowfn.caching.budgets import seconds_budget
from flowfn.errors import CacheError
from flowfn.python.cached_property import cached_property

T = TypeVar("T")

_CLAIM = """
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""

_RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
"""


class RedisCache:
    """Keeps encoded results in the Redis server at `url`, such as `redis://host:6379/0` (extra `redis`).

    Args:
        url: what `redis.Redis.from_url` takes: `redis://`, `rediss://` (TLS) or `unix://`. Its own options come first:
            `redis://host:6379/0?socket_timeout=30`.
        prefix: how every key begins, so that others may use the server.
        max_age: seconds, or a `timedelta`, that an entry is kept at most. Default: no bound.
        lease: seconds after which somebody else may compute what a killed process was computing.
        timeout: seconds to wait for a connection, and for each answer; a call whose lookup gets none is computed.
    """

    inline: frozenset[str] = frozenset()

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "flowfn:",
        max_age: float | timedelta | None = None,
        lease: float = 10.0,
        timeout: float = 5.0,
    ) -> None:
        self.url = url
        self.prefix = prefix
        self.max_age = seconds_budget(max_age)
        self.lease = lease
        self.timeout = timeout

    @cached_property
    def _client(self) -> Any:
        """A pool of connections, opened at its first use."""
        try:
            from redis import Redis
        except ModuleNotFoundError as error:
            raise ImportError("a Redis cache needs redis: pip install 'flowfn-durable[redis]'") from error
        # Before version 8 it would wait for ever by itself.
        return Redis.from_url(self.url, socket_timeout=self.timeout, socket_connect_timeout=self.timeout)

    def get(self, key: str) -> bytes | None:
        """The bytes kept under `key`, or None. Raises `CacheError`."""
        found: bytes | None = self._asked(lambda client: client.get(self._entry(key)))
        return found

    def set(self, key: str, value: bytes, ttl: float | None = None) -> None:
        """Keep bytes under `key`, for `ttl` seconds or for ever. Raises `CacheError`."""
        lasting = min(filter(None, (ttl, self.max_age)), default=None)
        px = None if lasting is None else _milliseconds(lasting)
        self._asked(lambda client: client.set(self._entry(key), value, px=px))

    def clear(self, prefix: str = "") -> None:
        """Forget every entry whose key begins with `prefix`. Raises `CacheError`."""

        def clear(client: Any) -> None:
            found = client.scan_iter(match=f"{literal(self._entry(prefix))}*", count=1000)
            while batch := list(islice(found, 1000)):
                client.delete(*batch)

        self._asked(clear)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """The keys that begin with `prefix`, in no order. Raises `CacheError`."""
        match, skipped = f"{literal(self._entry(prefix))}*", len(self._entry(""))
        found = self._asked(lambda client: list(client.scan_iter(match=match, count=1000)))
        return (key.decode("utf-8", "replace")[skipped:] for key in found)

    def claim(self, key: str, owner: str, seconds: float) -> bool:
        """Take, or keep, the right to compute what belongs under `key`; False while another owner has it."""
        name = self._claim(key)
        return bool(self._asked(lambda client: client.eval(_CLAIM, 1, name, owner, _milliseconds(seconds))))

    def release(self, key: str, owner: str) -> None:
        """Give the right back; no error if it was lost."""
        self._asked(lambda client: client.eval(_RELEASE, 1, self._claim(key), owner))

    def close(self) -> None:
        """Close the connections; the next use opens new ones."""
        client = self.__dict__.pop("_client", None)
        if client is not None:
            client.close()

    def _entry(self, key: str) -> str:
        return f"{self.prefix}entry:{key}"

    def _claim(self, key: str) -> str:
        return f"{self.prefix}claim:{key}"

    def _asked(self, question: Callable[[Any], T]) -> T:
        client = self._client
        from redis.exceptions import RedisError

        try:
            return question(client)
        except (RedisError, OSError) as error:
            raise CacheError(f"the Redis cache {self.prefix!r} can't be used: {error!r}") from error

    def __reduce__(self) -> Any:
        return _opened, (self.url, self.prefix, self.max_age, self.lease, self.timeout)

    def __repr__(self) -> str:
        return f"RedisCache({self.prefix!r})"


def _opened(url: str, prefix: str, max_age: float | None, lease: float, timeout: float) -> RedisCache:
    return RedisCache(url, prefix=prefix, max_age=max_age, lease=lease, timeout=timeout)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def literal(text: str) -> str:
    """Text as a pattern that matches it alone."""
    return "".join(f"\\{letter}" if letter in "\\*?[]^-" else letter for letter in text)
