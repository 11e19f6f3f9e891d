"""The file that a database is in: which one a name means, and whether this process may open it.

Rule: nothing of flowfn's but SQLite opens the file, but to create it. POSIX drops all locks that a process has on a
file as it closes any descriptor of it, and the next process to close the file would delete the log that this one writes
to. A user's code may do it all the same, as one does that copies all files of a folder: see `Connections`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import suppress
from urllib.parse import quote, unquote, urlsplit

from flowfn.errors import InvalidInput, SaverError
from flowfn.python.folder import from_here
from flowfn.python.forking import after_fork

Identity = tuple[int, int]
"""A file, by whatever name: its device and its number there."""


def named(path: str | os.PathLike[str], example: str) -> str:
    """The path of a database, as text.

    Raises:
        InvalidInput: it is none; says to pass such as `example`.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    if not text:
        raise InvalidInput(f'path={path!r} names no file. Pass one, such as "{example}", or ":memory:".')
    return text


def absolute(path: str) -> tuple[str, str]:
    """The file that a path or an SQLite URI names, "" if it is in memory; and what SQLite is to open.

    They stay the same as the process changes its folder, as a daemon does after its fork.
    """
    if path == ":memory:":
        return "", path
    if not path.startswith("file:"):
        file = from_here(path)
        return file, file
    uri = urlsplit(path)
    if uri.path == ":memory:" or "mode=memory" in uri.query:
        return "", path
    if uri.path.startswith("/"):
        return unquote(uri.path), path
    file = from_here(unquote(uri.path))
    return file, f"file:{quote(file)}{'?' + uri.query if uri.query else ''}"


def file_of(connection: sqlite3.Connection) -> str:
    """The file that a connection is to, as an absolute path; "" where it is in memory.

    It is asked for as bytes: a name needn't be text that SQLite's module could decode. And by a pragma: a query reads
    the file, and has a log begun beside it.
    """
    cursor, texts_as = connection.cursor(), connection.text_factory
    cursor.row_factory = None
    connection.text_factory = bytes
    try:
        return os.fsdecode(cursor.execute("PRAGMA database_list").fetchone()[2])
    finally:
        connection.text_factory = texts_as


def identity_of(file: str) -> Identity | None:
    """Which file it is, by whatever name; None if there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def prepare(path: str, file: str) -> None:
    """See to it that there is a folder, and in it a file that only its owner can read.

    Raises:
        InvalidInput: the path is a URL.
        SaverError: there is none, or the file can't be opened in this process.
    """
    if file and (why := refusal(file)):
        raise SaverError(f"{path}: {why}")
    if not file or path.startswith("file:"):
        return
    folder = os.path.dirname(file)
    if not os.path.isdir(folder):
        if "://" in path:
            raise InvalidInput(
                f"{path!r} is a URL, and this takes a path, such as 'runs.db'. `checkpointer=`, `store=` and"
                " `open_saver()` take URLs."
            )
        raise SaverError(f"{path}: there is no folder {folder}. Create it, or name a file elsewhere.")
    with _creating, suppress(OSError):  # there is a file already, or SQLite will say why there can't be
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


_INHERITED = (
    "this process was forked while its parent was in the middle of a transaction on the file, so that SQLite can't "
    "tell its locks from the parent's. Fork before the first run, or start processes with `spawn`."
)


def refusal(file: str) -> str | None:
    """Why a file can't be opened in this process, if it can't."""
    found = identity_of(file) if _refused else None
    return None if found is None else _refused.get(found)


def refuse(file: str, why: str) -> None:
    """Have a file refused from now on: SQLite here would take what it remembers of it for true."""
    if (found := identity_of(file)) is not None:
        _refused[found] = why


def inherit(file: str) -> None:
    """Have a file refused to which this process has a connection of its parent's, which can't be closed here."""
    refuse(file, _INHERITED)


_refused: dict[Identity, str] = {}
"""Files that this process can't open, with the reason."""


def _renew_creating() -> None:
    global _creating
    _creating = threading.Lock()


_creating = threading.Lock()
"""Held while this process has a new file open itself: SQLite here has no locks on it until that is closed."""

after_fork(_renew_creating)
