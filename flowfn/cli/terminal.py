"""The two streams of a command. Where one is no terminal, it gets plain text that isn't cut to a width."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console

_WIDE = 10_000


def output() -> Console:
    """What the command was asked for."""
    return _console(sys.stdout)


def errors() -> Console:
    """What went wrong."""
    return _console(sys.stderr)


def _console(stream: Any) -> Console:
    width = None if stream.isatty() else _WIDE
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def printable(text: str) -> str:
    """The text with control characters spelled out: a record can't steer the terminal that shows it."""
    return "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in text)
