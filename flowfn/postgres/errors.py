"""Postgres's errors, as flowfn's.

Rule: one fresh exception per caller, with the database and the remedy in it; the original is its cause.
"""

from __future__ import annotations

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

_KNOWN: dict[str, Remedy] = {
    "42501": (
        DatabaseForbidden,
        "Let its owner GRANT this user CREATE on the database, or USAGE on flowfn's schemas"
        " and ALL on their tables and sequences.",
    ),
    "25006": (DatabaseReadOnly, "It cannot be written to: name the primary server, not a standby."),
    "53100": (DatabaseFull, "The server's disk is full. Free some space, and try again."),
    "40001": _LOCKED,
    "40P01": _LOCKED,
    "55P03": _LOCKED,
    "57014": (
        SaverError,
        "Somebody cancelled the statement, or it took longer than the server's statement_timeout. Try again, or have"
        " that raised for this user.",
    ),
    "42P01": _DAMAGED,
    "42703": _DAMAGED,
    "3F000": _DAMAGED,
    "54000": (SaverError, "Pass names (thread ids, namespaces) of at most 2,000 bytes."),
}

_REFUSED: Remedy = (SaverError, "A value was refused. Pass strings without lone surrogates, and bytes.")
_ELSE: Remedy = (SaverError, "See the server's log.")

_LOST = ("08", "57P0", "53300")
"""Classes of SQLSTATE that say the connection is gone, or can't be had now."""


def typed(error: Exception, name: str) -> SaverError:
    """A new error of flowfn's that says what happened to the database of this name, and what to do."""
    kind, remedy = _remedy(error)
    result = kind(f"{name}: {str(error).strip().rstrip('.')}. {remedy}")
    result.__cause__ = error
    return result


def _remedy(error: Exception) -> Remedy:
    state = getattr(error, "sqlstate", None) or ""
    if state in _KNOWN:
        return _KNOWN[state]
    if is_lost(error):
        return _UNREACHABLE
    if isinstance(error, psycopg.DataError | UnicodeError):
        return _REFUSED
    return _ELSE


def is_lost(error: Exception) -> bool:
    """Whether there is no connection any more, or none yet, so that trying again may help."""
    state = getattr(error, "sqlstate", None)
    if state:
        return bool(state.startswith(_LOST))
    return isinstance(error, psycopg.OperationalError)


def is_dropped(error: Exception) -> bool:
    """Whether a server that had answered ended the connection, as one does that is started anew."""
    return str(getattr(error, "sqlstate", None)).startswith(_LOST)


def is_beaten(error: Exception) -> bool:
    """Whether the server took a transaction back for another's sake, so that it may be tried again."""
    return getattr(error, "sqlstate", None) in ("40001", "40P01")
