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

_METHODS = ("get", "set", "clear")

_SCHEMES = ("memory", "disk", "redis", "rediss", "unix")
"""Of URLs. Without `://` one is a slip, and no folder of that name."""

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
    if not is_place(checked(target)):
        return target
    scheme, name = _named_by(target)
    if scheme == "memory":
        return MemoryCache()
    if scheme == "disk":
        return _opened.get(os.path.realpath(from_here(name)), _disk)
    return _opened.get(name, _redis)


def checked(cache: Any) -> Any:
    """A cache, or what can be opened as one.

    Raises:
        InvalidInput: it is neither.
    """
    if is_place(cache):
        known = _named_by(cache)[0] in _SCHEMES
    else:
        known = not isinstance(cache, type) and all(callable(getattr(cache, name, None)) for name in _METHODS)
    if not known:
        expected = "Write cache_policy= for it." if isinstance(cache, CachePolicy) else _EXPECTED
        raise InvalidInput(f"cache={cache!r} is not a cache. {expected}")
    return cache


def _named_by(target: str | os.PathLike[str]) -> tuple[str, str]:
    """What a path or a URL names: the scheme, and the folder or server; no scheme, where it is a slip."""
    text = os.fspath(target)
    scheme, separator, rest = text.partition("://")
    if not separator:
        slip = isinstance(target, str) and text.partition(":")[0] in ("", *_SCHEMES)
        return "" if slip else "disk", text
    if scheme == "disk":
        return scheme if len(rest) > 1 and rest.startswith("/") else "", rest
    return "" if scheme == "memory" and rest else scheme, text


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
