"""`flowfn run`: a workflow of a script, called with arguments that were typed."""

from __future__ import annotations

import asyncio
import inspect
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer

from checkpointers import open_saver
from flowfn.cli import program, typed
from flowfn.cli.database import place, with_keys
from flowfn.cli.failures import RAISED, Usage, WorkflowFailed
from flowfn.cli.options import Db, Json, Script
from flowfn.cli.outcome import progress, tell
from flowfn.cli.terminal import errors, in_line
from flowfn.cli.workflows import AnyWorkflow
from flowfn.errors import Interrupted
from flowfn.events import Event, RunStarted
from flowfn.functional.entrypoint import Entrypoint
from flowfn.hosts.ids import new_id
from flowfn.watching import watched_by


def command(
    script: Script,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ARG | NAME=ARG]...", help="The arguments: JSON, or text where it isn't JSON."
        ),
    ] = None,
    thread: Annotated[str | None, typer.Option(help="The thread to run on. Default: a new one.")] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Run a workflow of a script. It shows its progress; an unfinished run of the same call is resumed."""
    workflow = program.only(script)
    saver = None if db is None else with_keys(open_saver(place(db)))
    workflow = program.going_on(script, workflow, saver)
    if saver is not None:
        workflow = program.keeping(workflow, saver)
    call = _call(workflow, words or (), thread)
    told = _Told()
    with watched_by(told), progress():
        try:
            result = call()
        except Interrupted as waits:
            if waits.thread_id:
                _advise("answer it", db, "answer", waits.thread_id, "ANSWER", script)
            tell(waits.thread_id, None, waits.interrupts, as_json=as_json)
            return
        except RAISED as error:
            if not told.began:
                raise Usage(
                    f"{script}: {error}; arguments are JSON or text, and follow the script"
                ) from error
            if told.thread:
                _advise("go on with it", db, "resume", told.thread, script)
            raise WorkflowFailed(f"{script} failed") from error
    tell(told.thread, result, (), as_json=as_json)


@dataclass
class _Told:
    """What a run said of itself."""

    began: bool = False
    thread: str = ""

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.began, self.thread = True, event.thread


def _call(workflow: AnyWorkflow, words: Sequence[str], thread: str | None) -> Callable[[], Any]:
    """What calls the workflow: an entrypoint as its function is called, a graph with its input."""
    if not isinstance(workflow, Entrypoint):
        return partial(_invoked, workflow, _input(words), thread)
    args, kwargs = typed.arguments(words, workflow._self_definition)
    return partial(_called, workflow if thread is None else workflow.thread(thread), args, kwargs)


def _called(call: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    result = call(*args, **kwargs)
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


async def _awaited(result: Any) -> Any:
    return await result


def _invoked(graph: AnyWorkflow, given: Any, thread: str | None) -> Any:
    """What a graph returns.

    Raises:
        Interrupted: it waits for answers.
    """
    keeps = graph._self_setup.checkpointer is not None
    name = new_id() if thread is None and keeps else thread
    result = asyncio.run(graph.ainvoke(given, thread_id=name))
    asked = result.get("__interrupt__") if isinstance(result, dict) else None
    if asked:
        raise Interrupted("the graph waits for answers", tuple(asked), name or "")
    return result


def _input(words: Sequence[str]) -> Any:
    if len(words) != 1:
        raise Usage(
            f"a graph takes one argument, its input, such as '{{\"messages\": []}}': {len(words)} were given"
        )
    return typed.value(words[0])


def _advise(what: str, db: str | None, *words: str) -> None:
    """Say what to do next, by a command that can be pasted."""
    command = shlex.join(["flowfn", *words, *(() if db is None else ("--db", db))])
    errors().print(in_line(f"flowfn: {what}: {command}"), soft_wrap=True)
