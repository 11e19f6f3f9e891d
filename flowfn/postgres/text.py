"""Names as Postgres can keep them: its text holds any character but NUL.

Rule: a NUL becomes backslash zero, and a backslash two, so that no two names become one.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\([\\0])")
_MEANT = {"0": "\0", "\\": "\\"}


def to_text(name: str) -> str:
    """A name as it is stored: itself, unless there is a NUL or a backslash in it."""
    if "\\" in name or "\0" in name:
        return name.replace("\\", "\\\\").replace("\0", "\\0")
    return name


def from_text(stored: str) -> str:
    """The name that `to_text` stored."""
    if "\\" in stored:
        return _ESCAPE.sub(lambda found: _MEANT[found[1]], stored)
    return stored
