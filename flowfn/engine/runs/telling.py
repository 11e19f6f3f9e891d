"""What those who watch a run are told of where it stands, from one checkpoint to the next.

Rule: nothing is worked out where nobody watches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowfn.engine.ids import node_scope
from flowfn.events import CheckpointSaved, Due, RunResumed, ValuesChanged
from flowfn.pregel.plan import due
from flowfn.pregel.view import view

if TYPE_CHECKING:
    from flowfn.engine.runs.run import Run
    from flowfn.values import Checkpoint


def tell_checkpoint(run: Run) -> None:
    """Tell where a run stands, and what is due."""
    if run.post is None or run.journal is None:
        return
    at = run.checkpoint
    tasks = tuple(_due(run, name, path) for name, path, _ in due(run.program, at))
    run.post(CheckpointSaved(run.namespace, run.thread, at, run.program, tasks))


def _due(run: Run, name: str, path: tuple[Any, ...]) -> Due:
    scope = node_scope(path)
    task, node = run.task_id(scope), run.ledger.nodes.get(scope)
    here = run.namespace, run.checkpoint.id, scope
    asked = [q.interrupt for q in run.root.questions.before if q.holds_up(*here)]
    if node is None:
        return Due(task, name, None, asked)
    return Due(task, name, None if node.finished else node.error_text, asked, run.ledger.writes_at(path))


def tell_values(run: Run, before: Checkpoint, after: Checkpoint) -> None:
    """Tell what a superstep changed."""
    if run.post is not None:
        changed = {name for name, _ in after.versions.items() ^ before.versions.items()}
        run.post(ValuesChanged(run.namespace, run.program, view(run.program, after), changed))


def tell_where_it_stands(run: Run) -> None:
    """Tell the values that a resumed run goes on from."""
    if run.post is not None:
        run.post(RunResumed(run.namespace, run.checkpoint.id))
        run.post(ValuesChanged(run.namespace, run.program, view(run.program, run.checkpoint)))
