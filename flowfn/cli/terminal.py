"""The two streams of a command. Where one is no terminal, it gets plain text that isn't cut to a width.

Guarantee: no text steers the terminal that shows it, wherever it comes from: its control characters are spelled out.
"""

from __future__ import annotations

import io
import json
import logging
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from flowfn.errors import InvalidInput
from flowfn.rendering import in_line as in_line
from flowfn.rendering import printable as printable

_WIDE = 10_000


class _SpellingOut(Console):
    """A console that writes no control character but its own: a table is laid out for the text that is spelled out
    before, and what comes as it is may be longer than its column."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control or text.isprintable() else Segment(printable(text), style)


def output() -> Console:
    """What the command was asked for."""
    return _console(sys.stdout)


def errors() -> Console:
    """What went wrong."""
    return _console(sys.stderr)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """A value as JSON, on the output; without an indent in one line.

    Raises:
        InvalidInput: calls in it call others more deeply than Python's reader of JSON goes, and others' do.
    """
    try:
        text = json.dumps(value, indent=indent, allow_nan=False)
    except ValueError:
        text = json.dumps(_of_json_s_numbers(value), indent=indent)
    except RecursionError as error:
        raise InvalidInput("this is nested too deeply for JSON: leave --json out") from error
    print(text, flush=True)


def _of_json_s_numbers(value: Any) -> Any:
    """The value with what JSON has no number for as Python shows it: most readers refuse a bare `NaN`."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {key: _of_json_s_numbers(each) for key, each in value.items()}
    return [_of_json_s_numbers(each) for each in value] if isinstance(value, list | tuple) else value


@contextmanager
def logged() -> Iterator[None]:
    """Have warnings that no handler of the user's takes printed among what went wrong, each in a line."""
    before, logging.lastResort = logging.lastResort, _Warnings(logging.WARNING)
    try:
        yield
    finally:
        logging.lastResort = before


class _Warnings(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        errors().print(in_line(record.getMessage()), soft_wrap=True)


def _console(stream: Any) -> Console:
    stream = stream or io.StringIO()  # closed by whoever started the command, and so doesn't want it
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")  # what its encoding doesn't have is no reason to fail
    width = None if stream.isatty() else _WIDE
    return _SpellingOut(file=stream, width=width, highlight=False, markup=False, emoji=False)
