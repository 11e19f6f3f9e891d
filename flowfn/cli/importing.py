"""`flowfn import-langgraph`: threads that LangGraph kept, taken over."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from checkpointers import open_saver
from flowfn.cli.database import Place, with_keys
from flowfn.cli.failures import Usage
from flowfn.cli.program import imported
from graph_compat.importing import Imported, import_threads, serializer


def take_over(source: Place, target: Place, script: Path | None) -> list[Imported]:
    """Import all threads of `source` into `target`, which is made where there is none.

    `script` is imported first, so that its types are there; without one, LangGraph's and standard ones are.
    """
    if isinstance(source, Path):
        if not source.is_file():
            raise Usage(f"there is no file {str(source)!r}: pass the database that LangGraph wrote")
        if isinstance(target, Path) and target.exists() and target.samefile(source):
            raise Usage(f"{source} can't be imported into itself: pass another file with --to")
    serde = serializer() if script is None else serializer(True, imported(script).__name__)
    saver = open_saver(target)
    try:
        return list(import_threads(source, with_keys(saver), serde))
    finally:
        saver.close()


def lines(threads: Iterable[Imported]) -> list[str]:
    """What became of each thread, in a line."""
    return [f"{thread.thread}: {_outcome(thread)}" for thread in threads]


def _outcome(thread: Imported) -> str:
    if thread.problem is not None:
        return f"not imported: {thread.problem}"
    waiting = [f"{_counted(thread.waiting, 'question')} can be answered"] if thread.waiting else []
    again = [
        f"{_counted(count, one)} {what} again"
        for count, one, what in (
            (thread.questions, "question", "will be asked"),
            (thread.tasks, "finished task", "of its last step will run"),
        )
        if count
    ]
    return "; ".join([_counted(thread.checkpoints, "checkpoint"), *waiting, *again])


def _counted(count: int, what: str) -> str:
    return f"{count} {what if count == 1 else what + 's'}"
