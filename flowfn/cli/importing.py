"""`flowfn import-langgraph`: threads and memories that LangGraph kept, taken over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checkpointers import open_saver
from flowfn.cli.database import Place, with_keys
from flowfn.cli.failures import Usage
from flowfn.cli.program import imported
from flowfn.cli.showing import counted
from flowfn.stores.opening import open_store
from graph_compat.importing import Imported, import_items, import_threads, serializer
from graph_compat.importing.tables import OF_SAVERS, OF_STORES, tables_of


@dataclass(frozen=True)
class TakenOver:
    """What came of a database: each of its threads, and how many items of its store."""

    threads: Sequence[Imported]
    items: int


def take_over(source: Place, target: Place, script: Path | None) -> TakenOver:
    """Import all of `source` into `target`, which is made where there is none.

    `script` is imported first, so that its types are there; without one, LangGraph's and standard ones are.
    """
    if isinstance(source, Path):
        if not source.is_file():
            raise Usage(f"there is no file {str(source)!r}: pass the database that LangGraph wrote")
        if isinstance(target, Path) and target.exists() and target.samefile(source):
            raise Usage(f"{source} can't be imported into itself: pass another file with --to")
    tables = tables_of(source)
    remembers = tables >= OF_STORES
    threads = _threads(source, target, script) if tables >= OF_SAVERS or not remembers else []
    return TakenOver(threads, _items(source, target) if remembers else 0)


def _threads(source: Place, target: Place, script: Path | None) -> list[Imported]:
    serde = serializer() if script is None else serializer(True, imported(script).__name__)
    saver = open_saver(target)
    try:
        return list(import_threads(source, with_keys(saver), serde))
    finally:
        saver.close()


def _items(source: Place, target: Place) -> int:
    with open_store(target) as store:
        return import_items(source, store)


def lines(taken: TakenOver) -> list[str]:
    """What became of each thread, in a line, and of the store."""
    items = [f"{counted(taken.items, 'item')} of its store"] if taken.items else []
    return [*(f"{thread.thread}: {_outcome(thread)}" for thread in taken.threads), *items]


def _outcome(thread: Imported) -> str:
    if thread.problem is not None:
        return f"not imported: {thread.problem}"
    waiting = [f"{counted(thread.waiting, 'question')} can be answered"] if thread.waiting else []
    again = [
        f"{counted(count, one)} {what} again"
        for count, one, what in (
            (thread.questions, "question", "will be asked"),
            (thread.tasks, "finished task", "of its last step will run"),
        )
        if count
    ]
    return "; ".join([counted(thread.checkpoints, "checkpoint"), *waiting, *again])
