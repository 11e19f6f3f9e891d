"""What a run that a command started came to: its result, or what it asks next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import typer

from flowfn.cli.as_json import outcome
from flowfn.cli.failures import RAISED, WAITS, WorkflowFailed
from flowfn.cli.showing import question_lines, shown
from flowfn.cli.terminal import output, print_json, printable
from flowfn.cli.workflows import AnyWorkflow
from flowfn.values import Command, Interrupt
from flowfn.watching import watched_by
from flowfn.watching.progress import screen


def go_on(workflow: AnyWorkflow, thread: str, command: Command[Any] | None, *, as_json: bool) -> None:
    """Resume a thread, and print its result or what it asks next.

    Raises:
        Exit: it waits for an answer.
    """
    result = finished(lambda: workflow.ainvoke(command, thread_id=thread, on_busy="reject"), thread)
    asked = result.get("__interrupt__") if isinstance(result, dict) else None
    tell(thread, result, asked or (), as_json=as_json)


@contextmanager
def progress() -> Iterator[None]:
    """Show the runs of the block on stderr, where that is a terminal."""
    with ExitStack() as stack:
        for watcher in screen():
            stack.enter_context(watched_by(watcher))
        yield


def finished(start: Callable[[], Coroutine[Any, Any, Any]], thread: str) -> Any:
    """What a run returns.

    Raises:
        WorkflowFailed: it raised.
    """
    try:
        with progress():
            return asyncio.run(start())
    except RAISED as error:
        raise WorkflowFailed(f"thread {thread!r} failed") from error


def tell(thread: str, result: Any, questions: Sequence[Interrupt], *, as_json: bool) -> None:
    """Print what a run came to.

    Raises:
        Exit: it waits for an answer.
    """
    if as_json:
        print_json(outcome(thread, result, questions))
    elif questions:
        for line in question_lines(questions):
            output().print(line)
    else:
        output().print(printable(shown(result)))
    if questions:
        raise typer.Exit(WAITS)
