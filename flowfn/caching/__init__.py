"""Where cached results are kept: in this process's memory, in a folder on disk, or in Redis.

`cache=` takes one of these, a path, or a URL (`open_cache`). Importing this is cheap: a backend's library is
imported when its cache is first used.
"""

from typing import TYPE_CHECKING

from flowfn.caching.memory import MemoryCache
from flowfn.python.lazy import lend

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
    "DiskCache": ".disk",
    "Explanation": ".explaining",
    "RedisCache": ".redis",
    "TaskCache": ".task_cache",
    "default_cache": ".opening",
    "open_cache": ".opening",
}

lend(__name__, _HOMES)
