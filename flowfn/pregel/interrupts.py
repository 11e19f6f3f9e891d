"""Static interrupts: whether a run stops before or after some nodes.

Rule: a run stops only where something has changed since it was last resumed, so that the same
breakpoint is passed once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from flowfn.pregel.apply import Changes
from flowfn.pregel.program import HIDDEN, INTERRUPT, Task
from flowfn.values import Checkpoint

_NO_VERSIONS: Mapping[str, int] = {}


def stops(checkpoint: Checkpoint, tasks: Iterable[Task], names: Collection[str] | Literal["*"]) -> list[Task]:
    """Those of `tasks`, about to run or just run, at which the run stops; empty where it goes on.

    `"*"` names every node that isn't tagged `HIDDEN`.
    """
    if names == "*":
        matching = [task for task in tasks if HIDDEN not in task.node.tags]
    else:
        matching = [task for task in tasks if task.name in names]
    return matching if matching and _has_news(checkpoint) else []


def resumed(checkpoint: Checkpoint) -> Changes:
    """What resuming changes: everything up to now counts as seen by whoever interrupted."""
    seen = {INTERRUPT: checkpoint.versions.copy()}
    return Changes(checkpoint.latest, {}, seen, checkpoint.updated)


def _has_news(checkpoint: Checkpoint) -> bool:
    """Whether a channel was written since the run was resumed, or used up: that has no version any more."""
    seen, versions = checkpoint.seen.get(INTERRUPT, _NO_VERSIONS), checkpoint.versions
    return not seen.keys() <= versions.keys() or any(
        version > seen.get(channel, 0) for channel, version in versions.items()
    )
