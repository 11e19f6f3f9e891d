"""SQLite's errors, as flowfn's.

Rule: one fresh exception per caller, with the file and the remedy in it; the original is its cause.
"""

from __future__ import annotations

import sqlite3

from flowfn.errors import (
    CorruptDataError,
    DatabaseFull,
    DatabaseLocked,
    DatabaseReadOnly,
    NotADatabase,
    SaverError,
)

_KNOWN: dict[int, tuple[type[SaverError], str]] = {
    sqlite3.SQLITE_BUSY: (
        DatabaseLocked,
        "Another connection kept it locked. Let its transaction end, or pass a longer `timeout=`.",
    ),
    sqlite3.SQLITE_LOCKED: (
        DatabaseLocked,
        "Another connection kept it locked. Let its transaction end, or pass a longer `timeout=`.",
    ),
    sqlite3.SQLITE_READONLY: (
        DatabaseReadOnly,
        "It cannot be written to. Make the file and its folder writable for this user.",
    ),
    sqlite3.SQLITE_FULL: (
        DatabaseFull,
        "The disk, or the database's size limit, is full. Free some space, and try again.",
    ),
    sqlite3.SQLITE_TOOBIG: (
        SaverError,
        "A value is larger than SQLite keeps, 1 GB. Write it to a file, and let the task return where that is.",
    ),
    sqlite3.SQLITE_NOTADB: (
        NotADatabase,
        "The file is not a SQLite database. Name another file.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        NotADatabase,
        "The file is damaged. Restore a copy, or salvage it with `sqlite3 FILE .recover`.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        SaverError,
        "It cannot be opened. Check that it is a file in a folder where this user may create files, and that this "
        "process may open more files than it has open (`ulimit -n`).",
    ),
    sqlite3.SQLITE_IOERR: (
        SaverError,
        "The disk failed to read or write. Check the disk, that it isn't a network folder, that the file isn't "
        "open under another name, a hard link, and that it hasn't reached this process's limit, `ulimit -f`.",
    ),
}

_REFUSED = (SaverError, "SQLite's module refused a value. Pass strings without lone surrogates, and bytes.")
"""For what has no result code, because the database never saw it."""

_ELSE = (SaverError, "Check the file with `sqlite3 FILE 'PRAGMA integrity_check'`.")


class Damaged(ValueError):
    """Rows aren't what was written; says which. `Database` makes an error for users of it."""


REFUSED = (sqlite3.Error, UnicodeEncodeError)
"""What a statement raises that can't be done; the second where a text has lone surrogates."""


def typed(error: sqlite3.Error | UnicodeEncodeError, path: str) -> SaverError:
    """A new error of flowfn's that says what happened to the database at `path`, and what to do."""
    code = _code(error)
    kind, remedy = _KNOWN.get(code, _ELSE) if code else _REFUSED
    result = kind(f"{path}: {error}. {remedy}")
    result.__cause__ = error
    return result


def damaged(error: Exception, path: str) -> CorruptDataError:
    """A new error that says of rows which can't be made sense of that the database at `path` is damaged."""
    result = CorruptDataError(
        f"{path}: a row is not what flowfn writes ({error}). Check the file with "
        "`sqlite3 FILE 'PRAGMA integrity_check'`, and restore a copy."
    )
    result.__cause__ = error
    return result


def cut_off(path: str, size: int, page: int) -> NotADatabase:
    """A new error that says of the file at `path` that its end is gone."""
    return NotADatabase(
        f"{path}: the file ends within a page ({size:,} bytes, in pages of {page:,}), so a part of it is gone: it was "
        "copied incompletely, or the disk was full. Restore a copy, or salvage it with `sqlite3 FILE .recover`."
    )


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else has the database, so that trying again may help."""
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _code(error: Exception) -> int:
    """The primary result code; 0 for what the module raised itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
