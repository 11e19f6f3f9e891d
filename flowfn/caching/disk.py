"""A cache in a folder on disk, which threads and processes of one machine share.

Rule: nothing in the folder is ever unpickled, opened by a name that it holds, or taken for whole without
looking. diskcache keeps the rows; `_Bytes` sees to it that they are bytes and stay in its database. By
itself diskcache would unpickle what it reads (CVE-2025-69872), and drop what exceeds a gigabyte.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar

from flowfn.caching.budgets import bytes_budget, seconds_budget
from flowfn.errors import CacheError
from flowfn.python.cached_property import cached_property
from flowfn.python.folder import from_here
from flowfn.python.forking import Stillness, each_around_fork, leave_alone
from flowfn.sqlite.file import identity_of, inherit, refusal

T = TypeVar("T")

_LOCK_SECONDS = 10.0

_CLEARED = 86400.0
"""Seconds after which the claim of a killed process, long over, is cleared away."""


class DiskCache:
    """Keeps encoded results in the folder at `path`, which is made where there is none, for its owner alone.

    Args:
        path: the folder.
        max_bytes: how large the folder may grow; beyond, what was kept first goes first, some entries at each
            `set`. Default: no bound.
        max_age: seconds, or a `timedelta`, that an entry is kept at most. Default: no bound.
        lease: seconds after which somebody else may compute what a killed process was computing.
    """

    inline = frozenset({"get"})

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int | None = None,
        max_age: float | timedelta | None = None,
        lease: float = 10.0,
    ) -> None:
        self.path = os.path.abspath(from_here(os.fspath(path)))
        self.max_bytes = bytes_budget(max_bytes)
        self.max_age = seconds_budget(max_age)
        self.lease = lease
        self._renew_lock()
        _crosses_forks(self)

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()
        self._stillness = Stillness()

    @cached_property
    def _rows(self) -> Any:
        """The database, opened at its first use."""
        return _opened_at(self.path, self.max_bytes)

    @cached_property
    def _claims(self) -> Any:
        """A database of its own for who computes what: neither a budget nor `clear` takes that away."""
        return _opened_at(self._claims_path, None)

    @property
    def _claims_path(self) -> str:
        return os.path.join(self.path, "claims")

    def get(self, key: str) -> bytes | None:
        """The bytes kept under `key`, or None. Raises `CacheError`."""
        found: bytes | None = self._asked(lambda rows: rows.get(key))
        return found

    def set(self, key: str, value: bytes, ttl: float | None = None) -> None:
        """Keep bytes under `key`, for `ttl` seconds or for ever. Raises `CacheError`."""
        lasting = min(filter(None, (ttl, self.max_age)), default=None)
        self._asked(lambda rows: rows.set(key, value, expire=lasting))

    def clear(self, prefix: str = "") -> None:
        """Forget every entry whose key begins with `prefix`. Raises `CacheError`."""

        def clear(rows: Any) -> None:
            if not prefix:
                rows.clear()
                return
            for key in [key for key in rows.iterkeys() if key is not None and key.startswith(prefix)]:
                rows.delete(key)

        self._asked(clear)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """The keys that begin with `prefix`, in their order. Raises `CacheError`."""
        found = self._asked(lambda rows: list(rows.iterkeys()))
        return (key for key in found if key is not None and key.startswith(prefix))

    def claim(self, key: str, owner: str, seconds: float) -> bool:
        """Take, or keep, the right to compute what belongs under `key`; False while another owner has it."""

        def claim(claims: Any) -> bool:
            with claims.transact():
                # Not before: a claim that was made while this one waited would seem to come from the future.
                now = time.monotonic()
                holder, left = _claimed(claims.get(key), now)
                if holder != owner and left > 0:
                    return False
                claims.set(key, f"{owner} {seconds!r} {now + seconds!r}".encode(), expire=_CLEARED)
                return True

        claimed: bool = self._asked(claim, "_claims")
        return claimed

    def release(self, key: str, owner: str) -> None:
        """Give the right back; no error if it was lost."""

        def release(claims: Any) -> None:
            with claims.transact():
                if _claimed(claims.get(key), 0.0)[0] == owner:
                    claims.delete(key)

        self._asked(release, "_claims")

    def close(self) -> None:
        """Close the database; the next use opens it again."""
        with self._lock:
            for name in ("_rows", "_claims"):
                self._leave_if_gone(name)
                database = self.__dict__.pop(name, None)
                if database is not None:
                    database.close()

    def before_fork(self, deadline: float) -> None:
        """Let what is asked end, and close the database: no connection of SQLite's may cross."""
        if self._stillness.take(self._lock, deadline):
            with suppress(sqlite3.Error):
                self.close()

    def after_fork(self) -> None:
        """Go on in the parent."""
        self._stillness.end()

    def cross_fork(self) -> None:
        """Go on in the child. Where the fork couldn't wait for the parent, its database isn't opened here again."""
        if not self._stillness.has(self._lock):
            for path in (self.path, self._claims_path):
                inherit(_file(path))
            for name in ("_rows", "_claims"):
                leave_alone(self.__dict__.pop(name, None))
        self._renew_lock()

    def _asked(self, question: Callable[[Any], T], name: str = "_rows") -> T:
        try:
            with self._lock:
                self._leave_if_gone(name)
                return question(getattr(self, name))
        except _failures() as error:
            raise CacheError(f"the cache in {self.path} can't be used: {error!r}") from error

    def _leave_if_gone(self, name: str) -> None:
        """Go on with the folder that is there now, or with a new one, where somebody deleted it to clear the cache.

        The database that went with it isn't closed: SQLite would delete the log of the one that has its name now.
        """
        database = self.__dict__.get(name)
        if database is None:
            return
        opened = database._local
        if identity_of(opened.file) != opened.identity:
            leave_alone(self.__dict__.pop(name))

    def __del__(self) -> None:
        try:  # noqa: SIM105 - as the interpreter ends, even `suppress` may have gone
            self.close()
        except Exception:
            pass

    def __reduce__(self) -> Any:
        return _opened, (self.path, self.max_bytes, self.max_age, self.lease)

    def __repr__(self) -> str:
        return f"DiskCache({self.path!r})"


def _opened(path: str, max_bytes: int | None, max_age: float | None, lease: float) -> DiskCache:
    return DiskCache(path, max_bytes=max_bytes, max_age=max_age, lease=lease)


def _opened_at(path: str, max_bytes: int | None) -> Any:
    from diskcache import Cache

    os.makedirs(path, mode=0o700, exist_ok=True)
    with closing(_connected(path)) as connection:
        connection.execute("PRAGMA schema_version")  # raises where the file is no database
        connection.execute("BEGIN IMMEDIATE")  # and where it is locked: diskcache would try for minutes
        connection.execute("ROLLBACK")
    rows = Cache(
        path,
        timeout=_LOCK_SECONDS,
        disk=_bytes_only(),
        sqlite_mmap_size=0,
        size_limit=max_bytes or 2**62,
        eviction_policy="least-recently-stored" if max_bytes else "none",
        disk_min_file_size=2**62,
    )
    rows.close()
    file, connection = _file(path), _connected(path)
    rows._local = SimpleNamespace(pid=os.getpid(), con=connection, file=file, identity=identity_of(file))
    for name in ("sqlite_cache_size", "sqlite_mmap_size", "sqlite_synchronous"):
        rows.reset(name, getattr(rows, name), update=False)
    return rows


def _connected(path: str) -> sqlite3.Connection:
    """The one connection that all threads use, in turn: diskcache's own, one for each, are closed by nobody."""
    file = _file(path)
    if why := refusal(file):
        raise CacheError(f"the cache in {path} can't be used: {why}")
    return sqlite3.connect(file, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False)


def _file(path: str) -> str:
    """The database in a folder."""
    return os.path.join(path, "cache.db")


@cache
def _failures() -> tuple[type[Exception], ...]:
    """What diskcache raises where the folder can't be used; it is imported by then."""
    from diskcache import Timeout

    return sqlite3.Error, OSError, ValueError, TypeError, Timeout


def _claimed(kept: bytes | None, now: float) -> tuple[str, float]:
    """Who has a claim, and the seconds that are left of it: none, if nobody has it.

    It ends by the clock that only goes on and that all processes of a machine share. One that ends later than it can
    was made before the machine was started anew.
    """
    try:
        owner, seconds, end = (kept or b"").decode().split(" ")
        left = float(end) - now
        return owner, left if left <= float(seconds) else 0.0
    except ValueError:
        return "", 0.0


_crosses_forks = each_around_fork(DiskCache.before_fork, DiskCache.after_fork, DiskCache.cross_fork)


@cache
def _bytes_only() -> type:
    from diskcache import Disk
    from diskcache.core import MODE_RAW

    class _Bytes(Disk):  # type: ignore[misc]
        """Text keys and bytes values in the database; no pickles, and no files beside it."""

        def put(self, key: str) -> tuple[str, bool]:
            return key, True

        def get(self, key: Any, raw: Any) -> str | None:
            return key if raw and isinstance(key, str) else None

        def store(self, value: bytes, read: bool, key: Any = None) -> tuple[int, int, None, Any]:
            return 0, MODE_RAW, None, sqlite3.Binary(value)

        def fetch(self, mode: Any, filename: Any, value: Any, read: Any) -> bytes:
            if mode != MODE_RAW or not isinstance(value, bytes):
                raise CacheError("the entry was not written by flowfn")
            return value

        def remove(self, file_path: str) -> None:
            """Nothing: what a row names is none of our files."""

    return _Bytes
