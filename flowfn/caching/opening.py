"""From what a user writes as `cache=` to a cache, and where results are kept that nobody names a place for."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from flowfn.caching.memory import PROCESS, MemoryCache
from flowfn.definition import Definition
from flowfn.errors import InvalidInput
from flowfn.opening import Opened, is_place
from flowfn.policies import CachePolicy
from flowfn.python.folder import from_here
from flowfn.values import MISSING

VARIABLE = "FLOWFN_CACHE"

_opened: Opened[Any] = Opened({})

_EXPECTED = (
    'Pass a cache of flowfn.caching, the path of a folder such as ".cache", or a URL such as '
    '"redis://localhost:6379/0" or "memory://".'
)


def open_cache(target: Any) -> Any:
    """The cache that a target names.

    A path, or `disk:///path`, is a folder on disk; `redis://…`, `rediss://…` and `unix://…` are a Redis server;
    `memory://` is a new `MemoryCache`. A folder or server that has been opened here is the same cache again.
    Anything else with `get`, `set` and `clear` is returned as it is.

    Raises:
        InvalidInput: it is no cache, or a URL that names none.
    """
    if not is_place(target):
        return checked(target)
    text = os.fspath(target)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _opened.get(os.path.realpath(from_here(text)), _disk)
    if scheme == "memory" and not rest:
        return MemoryCache()
    if scheme == "disk" and rest.startswith("/") and len(rest) > 1:
        return _opened.get(os.path.realpath(from_here(rest)), _disk)
    if scheme in ("redis", "rediss", "unix"):
        return _opened.get(text, _redis)
    raise InvalidInput(f"{target!r} is not a cache. {_EXPECTED}")


def checked(cache: Any) -> Any:
    """A cache, or what can be opened as one.

    Raises:
        InvalidInput: it is neither.
    """
    named = is_place(cache)
    if named or all(callable(getattr(cache, name, None)) for name in ("get", "set", "clear")):
        return cache
    expected = "Write cache_policy= for it." if isinstance(cache, CachePolicy) else _EXPECTED
    raise InvalidInput(f"cache={cache!r} is not a cache. {expected}")


def default_cache() -> Any:
    """Where results go of a task whose `cache=`, and whose entrypoint's, says nothing.

    That is what FLOWFN_CACHE names, a path or a URL, else this process's memory.
    """
    named = os.environ.get(VARIABLE)
    return _named(named) if named else PROCESS


@lru_cache(maxsize=1)
def _named(name: str) -> Any:
    return open_cache(name)


def place_of(definition: Definition, of_run: Any) -> Any:
    """Where a task's results are kept: in its own cache, the run's, or by default; None for nowhere.

    Raises:
        InvalidInput: what is named is no cache.
    """
    if definition.place is None:
        return default_cache() if of_run is MISSING else of_run
    place = definition.__dict__.get("_opened_place")
    if place is None:
        place = definition.__dict__["_opened_place"] = open_cache(definition.place)
    return place


def _disk(folder: str) -> Any:
    from flowfn.caching.disk import DiskCache

    return DiskCache(folder)


def _redis(url: str) -> Any:
    from flowfn.caching.redis import RedisCache

    return RedisCache(url)
