"""Postgres's errors, as flowfn's.

Rule: one fresh exception per caller, with the database and the remedy in it; the original is its cause.
"""

from __future__ import annotations

import re

import psycopg

from flowfn.errors import (
    DatabaseForbidden,
    DatabaseFull,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnreachable,
    NotADatabase,
    SaverError,
)

Remedy = tuple[type[SaverError], str]

_UNREACHABLE: Remedy = (
    DatabaseUnreachable,
    "Check that the server runs, and the URL's host, port, user, password and database.",
)
_LOCKED: Remedy = (
    DatabaseLocked,
    "Another session kept a row locked. Let its transaction end, or pass a longer `timeout=`.",
)
_DAMAGED: Remedy = (
    NotADatabase,
    "Tables of flowfn's are missing or changed. Restore them, or name another database.",
)
_TOO_SLOW: Remedy = (
    SaverError,
    "This process was held up, or the commit is large. Have the server's idle_in_transaction_session_timeout and"
    " transaction_timeout raised for this user.",
)

_KNOWN: dict[str, Remedy] = {
    "42501": (
        DatabaseForbidden,
        "Let its owner GRANT this user CREATE on the database, or USAGE on flowfn's schemas"
        " and ALL on their tables and sequences.",
    ),
    "25006": (
        DatabaseReadOnly,
        "It cannot be written to: name the primary server, not a standby, and have default_transaction_read_only off.",
    ),
    "53100": (DatabaseFull, "The server's disk is full. Free some space, and try again."),
    "40001": _LOCKED,
    "40P01": _LOCKED,
    "55P03": _LOCKED,
    "57014": (
        SaverError,
        "Somebody cancelled the statement, or it took longer than the server's statement_timeout. Try again, or have"
        " that raised for this user.",
    ),
    "25P03": _TOO_SLOW,
    "25P04": _TOO_SLOW,
    "42P01": _DAMAGED,
    "42703": _DAMAGED,
    "3F000": _DAMAGED,
    "53300": (
        DatabaseUnreachable,
        "Let others close some of theirs, have the server's max_connections or the limit of this user or database"
        " raised, or pass a longer `timeout=`.",
    ),
    "54000": (SaverError, "Pass names (thread ids, namespaces) of at most 2,000 bytes."),
}

_REFUSED: Remedy = (SaverError, "A value was refused. Pass strings without lone surrogates, and bytes.")
_ELSE: Remedy = (SaverError, "See the server's log.")

_LOST = ("08", "57P0", "53300")
"""Classes of SQLSTATE that say the connection is gone, or can't be had now."""

_SAID = {
    "53300": r"sorry, too many clients|too many connections for|remaining connection slots|no more connections allowed",
    "57P03": r"the database system is ",
}
"""SQLSTATEs that libpq doesn't tell as a server refuses a connection, by what it then says. One that speaks another
language than English is as one that doesn't answer."""


def typed(error: Exception, name: str) -> SaverError:
    """A new error of flowfn's that says what happened to the database of this name, and what to do."""
    kind, remedy = _remedy(error)
    result = kind(f"{name}: {_said(error)} {remedy}")
    result.__cause__ = error
    return result


def _said(error: Exception) -> str:
    """What went wrong, as one sentence: libpq tells of several addresses and asks a question, the server quotes SQL."""
    said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    words = " ".join((said or str(error)).split())
    return words if words.endswith((".", "?")) else f"{words}."


def _remedy(error: Exception) -> Remedy:
    state = _state(error)
    if state in _KNOWN:
        return _KNOWN[state]
    if is_lost(error):
        return _UNREACHABLE
    if isinstance(error, psycopg.DataError | UnicodeError):
        return _REFUSED
    return _ELSE


def is_lost(error: Exception) -> bool:
    """Whether there is no connection any more, or none yet, so that trying again may help."""
    return is_there(error) or (isinstance(error, psycopg.OperationalError) and not _state(error))


def is_there(error: Exception) -> bool:
    """Whether a server that does answer ended the connection, or has none to give now, as one does that starts."""
    return _state(error).startswith(_LOST) or _ended_session(error)


def _ended_session(error: Exception) -> bool:
    """Whether the server ended the session with this error, for whatever reason: of its timeouts there are four."""
    return isinstance(error, psycopg.Error) and error.diag.severity_nonlocalized in ("FATAL", "PANIC")


def is_beaten(error: Exception) -> bool:
    """Whether the server took a transaction back for another's sake, so that it may be tried again."""
    return _state(error) in ("40001", "40P01")


def is_read_only(error: Exception) -> bool:
    """Whether the server takes no writes, or not by this session: another one may, since a failover."""
    return _state(error) == "25006"


def _state(error: Exception) -> str:
    """The SQLSTATE of an error; empty where there is none."""
    told = getattr(error, "sqlstate", None)
    if told or not isinstance(error, psycopg.OperationalError):
        return told or ""
    return next((state for state, said in _SAID.items() if re.search(f"FATAL: +({said})", str(error))), "")
