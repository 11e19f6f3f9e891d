"""The two streams of a command. Where one is no terminal, it gets plain text that isn't cut to a width."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

from flowfn.rendering import printable as printable

_WIDE = 10_000


def output() -> Console:
    """What the command was asked for."""
    return _console(sys.stdout)


def errors() -> Console:
    """What went wrong."""
    return _console(sys.stderr)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """A value as JSON, on the output; without an indent in one line."""
    print(json.dumps(value, indent=indent), flush=True)


def _console(stream: Any) -> Console:
    width = None if stream.isatty() else _WIDE
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)
