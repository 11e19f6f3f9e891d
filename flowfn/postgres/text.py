"""Names as Postgres can keep them: its text holds any character but NUL.

Rule: a NUL becomes backslash zero, and a backslash two, so that no two names become one. In a text of one name a line,
a newline becomes backslash n.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\([\\0n])")
_MEANT = {"0": "\0", "n": "\n", "\\": "\\"}


def to_text(name: str) -> str:
    """A name as it is stored: itself, unless there is a NUL or a backslash in it."""
    if "\\" in name or "\0" in name:
        return name.replace("\\", "\\\\").replace("\0", "\\0")
    return name


def to_line(name: str) -> str:
    """A name as one line of a text."""
    return to_text(name).replace("\n", "\\n")


def from_text(stored: str) -> str:
    """The name that `to_text` or `to_line` stored."""
    if "\\" in stored:
        return _ESCAPE.sub(lambda found: _MEANT[found[1]], stored)
    return stored
