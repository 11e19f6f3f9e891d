"""A cache whose entries are encrypted, around any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flowfn.encryption.keys import KeyRing, place
from flowfn.ports import Cache

_SCOPE = "flowfn cache"


class EncryptedCache:
    """Keeps sealed entries in another cache.

    What is plain in it: the qualified names of tasks, which `clear(prefix)` needs, and the times to live. An
    entry that was moved, changed or never sealed is a miss with a warning, as any unreadable one.
    """

    def __init__(self, cache: Cache, keys: KeyRing) -> None:
        self._cache = cache
        self._keys = keys

    def get(self, key: str) -> bytes | None:
        """The bytes kept under `key`, or None. Raises `DecryptionError`, of which the engine makes a miss."""
        for hidden in self._hidden(key):
            data = self._cache.get(hidden)
            if data is not None:
                return self._keys.open(data, _SCOPE, place(key))
        return None

    def set(self, key: str, value: bytes, ttl: float | None = None) -> None:
        """Keep bytes under `key`, for `ttl` seconds or for ever."""
        self._cache.set(next(self._hidden(key)), self._keys.seal(value, _SCOPE, place(key)), ttl)

    @property
    def claim(self) -> Callable[[str, str, float], bool]:
        """Take the right to compute what belongs under a key, where the other cache has such."""
        claim: Callable[[str, str, float], bool] = self._cache.claim  # type: ignore[attr-defined]
        return lambda key, owner, seconds: claim(next(self._hidden(key)), owner, seconds)

    @property
    def release(self) -> Callable[[str, str], None]:
        """Give the right back."""
        release: Callable[[str, str], None] = self._cache.release  # type: ignore[attr-defined]
        return lambda key, owner: release(next(self._hidden(key)), owner)

    @property
    def lease(self) -> float:
        """Seconds after which a killed process no longer holds the right."""
        seconds: float = self._cache.lease  # type: ignore[attr-defined]
        return seconds

    def clear(self, prefix: str = "") -> None:
        """Forget every entry of the tasks whose names begin with `prefix`."""
        self._cache.clear(prefix)

    def _hidden(self, key: str) -> Iterator[str]:
        """The names that an entry may have, by each key of the ring; the digest in it is hidden."""
        name, colon, digest = key.rpartition(":")
        return (f"{name}{colon}{self._keys.hide(digest, _SCOPE, id)}" for id in self._keys.ids)
