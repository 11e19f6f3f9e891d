"""Where cached results are kept: in this process's memory, in a folder on disk, or in Redis.

`cache=` takes one of these, a path, or a URL (`open_cache`). Importing this is cheap: a backend's library is
imported when its cache is first used.
"""

from typing import TYPE_CHECKING, Any

from flowfn.caching.memory import MemoryCache

if TYPE_CHECKING:
    from flowfn.caching.disk import DiskCache
    from flowfn.caching.explaining import Explanation
    from flowfn.caching.opening import default_cache, open_cache
    from flowfn.caching.redis import RedisCache
    from flowfn.caching.task_cache import TaskCache

__all__ = [
    "DiskCache",
    "Explanation",
    "MemoryCache",
    "RedisCache",
    "TaskCache",
    "default_cache",
    "open_cache",
]

_HOMES = {
    "DiskCache": "disk",
    "Explanation": "explaining",
    "RedisCache": "redis",
    "TaskCache": "task_cache",
    "default_cache": "opening",
    "open_cache": "opening",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(globals().keys() | _HOMES.keys())
