"""From the name of a place to what keeps things there: what savers, stores, caches and executors open alike.

Rule: what was opened by a name in this process is the same again by that name while it is open, so that all who
name a place share its connections.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Generic, TypeGuard, TypeVar

from flowfn.errors import InvalidInput
from flowfn.python.folder import from_here
from flowfn.python.forking import after_fork

T = TypeVar("T")

_SCHEMES = ("memory", "sqlite", "postgresql", "postgres")
"""Of URLs. Without `://` one is a slip, and no file of that name."""


def is_open(opened: object) -> bool:
    """Whether what was opened can still be used: it isn't `closed`, nor is its file `gone`."""
    return not (getattr(opened, "closed", False) or getattr(opened, "gone", False))


def is_place(target: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether it is a path or a URL, to be opened. What can be called as well is a mock, which has every method."""
    return isinstance(target, str) or (isinstance(target, os.PathLike) and not callable(target))


def is_relative(target: str | os.PathLike[str]) -> bool:
    """Whether a path, a URL or an SQLite URI names another file in another folder of the process."""
    text = os.fspath(target).removeprefix("sqlite:///")
    path, _, query = text.removeprefix("file:").partition("?")
    return not ("://" in text or os.path.isabs(path) or path == ":memory:" or "mode=memory" in query)


class Opened(Generic[T]):
    """What was opened in this process, by name. `kept` holds it: weakly, or for as long as the process lives."""

    def __init__(self, kept: MutableMapping[str, Any]) -> None:
        self._kept = kept
        self._renew_lock()
        after_fork(self._renew_lock)

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    def get(self, name: str, make: Callable[[str], T]) -> T:
        """What has this name and is open; else what `make` makes of the name."""
        with self._lock:
            found: T | None = self._kept.get(name)
            if found is None or not is_open(found):
                found = self._kept[name] = make(name)
            return found

    def forget(self) -> None:
        """Have everything opened anew."""
        self._kept.clear()


@dataclass(frozen=True, slots=True)
class Databases(Generic[T]):
    """The kinds of database that something may be kept in; each function makes its `noun`, of a path or a URL."""

    noun: str
    expected: str
    opened: Opened[T]
    memory: Callable[[], T]
    sqlite: Callable[[str], T]
    postgres: Callable[[str], T]

    def open(self, target: str | os.PathLike[str]) -> T:
        """What a path or a URL names.

        Raises:
            InvalidInput: a URL that names none.
            ImportError: it is in Postgres, and the driver isn't installed.
        """
        text = os.fspath(target)
        scheme, separator, rest = text.partition("://")
        if not separator:
            if isinstance(target, str) and text.partition(":")[0] in _SCHEMES:
                raise self.refusal(target)
            return self._file(text)
        if scheme == "memory" and not rest:
            return self.memory()
        if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
            return self._file(rest[1:])
        if scheme in ("postgresql", "postgres"):
            return self.opened.get(text, self._server)
        raise self.refusal(target)

    def refusal(self, target: Any) -> InvalidInput:
        """The error for what names none."""
        return InvalidInput(f"{target!r} is not a {self.noun}. {self.expected}")

    def _file(self, path: str) -> T:
        if path == ":memory:" or path.startswith("file:"):
            return self.sqlite(path)
        return self.opened.get(os.path.realpath(from_here(path)), self.sqlite)

    def _server(self, url: str) -> T:
        try:
            return self.postgres(url)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"a Postgres {self.noun} needs {error.name}: pip install 'flowfn-durable[postgres]'"
            ) from error
