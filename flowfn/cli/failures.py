"""How a command ends badly: one line on stderr, and an exit code that says whose turn it is."""

from __future__ import annotations

import os
import traceback as formatting

from flowfn.cli.terminal import errors, in_line, printable
from flowfn.errors import (
    FlowError,
    InvalidAnswer,
    NonDeterminismError,
    NoPendingInterrupt,
    ThreadBusy,
    UnknownThread,
)

FAILED, USAGE, WAITS = 1, 2, 3

RAISED = (Exception, SystemExit)
"""What the code of a script may end with. Its `sys.exit()` is no word on how the command went, which would end with
that code, and without a word."""

_REFUSED = (InvalidAnswer, NoPendingInterrupt, ThreadBusy, UnknownThread)
"""What a run raises because of how it was asked for; the workflow itself didn't fail."""


class Usage(FlowError):
    """The command was asked for something that cannot be; the message says what to write instead."""


class WorkflowFailed(Exception):
    """The workflow, or the import of its script, raised; the error is the cause."""


def report(error: Exception, *, traceback: bool) -> int:
    """Say what went wrong, and return the exit code."""
    shown = error.__cause__ if isinstance(error, WorkflowFailed) and error.__cause__ else error
    if traceback:
        errors().print(printable("".join(formatting.format_exception(shown))), end="")
    else:
        errors().print(in_line(f"flowfn: {sentence(shown)}"), style="red", soft_wrap=True)
    asked_wrongly = _REFUSED if isinstance(error, WorkflowFailed) else FlowError
    return USAGE if isinstance(shown, asked_wrongly) else FAILED


def _is_address(line: str) -> bool:
    """Whether pydantic says where to read more of what its line above has said."""
    return line.lstrip().startswith("For further information visit ")


def sentence(error: BaseException) -> str:
    """An error in one line: flowfn's own speak for themselves, others with type and place."""
    said = str(error)
    if isinstance(error, NonDeterminismError):
        said = said.partition("\n")[0] + " `flowfn diff` shows more."
    text = " ".join(" ".join(line for line in said.splitlines() if not _is_address(line)).split())
    if isinstance(error, InvalidAnswer):
        return f"{text}; an answer is JSON, or text where it isn't JSON; leave it out, and you are asked"
    if isinstance(error, FlowError):
        return text
    # That of code that can't be read is in what it says; where the reading was called from says nothing.
    steps = [] if isinstance(error, SyntaxError) else formatting.extract_tb(error.__traceback__)
    place = f" (at {os.path.basename(steps[-1].filename)}:{steps[-1].lineno})" if steps else ""
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"
