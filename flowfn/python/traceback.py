"""Tracebacks of user code, without the frames of flowfn between them."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TypeVar

from flowfn.errors import FlowError

E = TypeVar("E", bound=BaseException)

_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep
_EXAMPLES = (os.path.join(_OURS, "demo") + os.sep, os.path.join(_OURS, "cli") + os.sep)
_CONCURRENT = os.path.join("concurrent", "futures") + os.sep


def trimmed(error: E) -> E:
    """The error with the frames of user code alone."""
    return error.with_traceback(of_user_code(error))


def of_user_code(error: BaseException) -> TracebackType | None:
    """The traceback of an error, with the frames of user code alone.

    One that no user code took part in says all in its message, where it is ours; else it is a bug of ours
    or of a library, and keeps its frames.
    """
    kept = _entries(error.__traceback__)
    if not kept and not isinstance(error, FlowError):
        return error.__traceback__
    following: TracebackType | None = None
    for entry in reversed(kept):
        following = TracebackType(following, entry.tb_frame, entry.tb_lasti, entry.tb_lineno or 0)
    return following


def _entries(entry: TracebackType | None) -> list[TracebackType]:
    """The entries of a traceback that stand in user code."""
    found = []
    while entry is not None:
        if not _is_ours(entry.tb_frame.f_code.co_filename):
            found.append(entry)
        entry = entry.tb_next
    return found


def _is_ours(filename: str) -> bool:
    return (filename.startswith(_OURS) and not filename.startswith(_EXAMPLES)) or _CONCURRENT in filename
