"""Applying: what a superstep's writes change.

Rule: the outcome depends on the tasks' paths, never on the order in which they finished. Input comes
first, then PULL tasks by node name, then PUSH tasks in the order of their Sends; and everything that
changes in one superstep gets the same next version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter, is_
from typing import Any, NamedTuple, Protocol

from flowfn.pregel import ways
from flowfn.pregel.channels import UNCHANGED, Channel
from flowfn.pregel.plan import due
from flowfn.pregel.program import CONTROL, INPUT, INTERRUPT, Program
from flowfn.pregel.selection import MANY
from flowfn.pregel.view import View
from flowfn.values import MISSING, Checkpoint, Write

_NO_VERSIONS: Mapping[str, int] = {}
_ASIDE = (INTERRUPT,)
"""The triggers of what counts as a superstep in which nobody ran."""
_path = attrgetter("path")


class Written(Protocol):
    """What `apply` needs of a task: a `Task`, or a `Batch`."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> tuple[Any, ...]: ...
    @property
    def triggers(self) -> tuple[str, ...]: ...
    @property
    def writes(self) -> Sequence[Write] | None: ...


class Batch(NamedTuple):
    """Writes that no planned task made: a caller's input, a command, an update of the state.

    Triggers make it count as a superstep, which clears and finishes channels.
    """

    name: str
    writes: Sequence[Write] | None = None
    path: tuple[Any, ...] = ()
    triggers: tuple[str, ...] = ()


class Changes(NamedTuple):
    """The difference between two checkpoints: all that has to be stored.

    `cells` holds the new cell of each channel that changed, or `MISSING` where it became empty; each is at
    `version`. `seen` replaces the entries of the nodes that it names, and with `forgets` all of them.
    `updated` is the next checkpoint's. `ignored` lists `(task name, channel)` of the writes to channels that
    the program doesn't have. `refused` says why what had finished of a superstep isn't in it, if it was to be.
    """

    version: int
    cells: Mapping[str, Any]
    seen: Mapping[str, dict[str, int]]
    updated: tuple[str, ...] | None
    ignored: Sequence[tuple[str, str]] = ()
    forgets: bool = False
    refused: Exception | None = None


_changes = partial(tuple.__new__, Changes)
"""Makes them of a tuple of their parts: calling the class costs a Python call more."""


def apply(program: Program, checkpoint: Checkpoint, tasks: Sequence[Written]) -> Changes:
    """What the tasks of one superstep change. Raises `InvalidUpdateError` where writes can't be merged.

    Costs what changes, plus a visit to each channel that clears or finishes and holds something.
    """
    ordered = tasks if len(tasks) == 1 else sorted(tasks, key=_path)
    step = _Superstep(program, checkpoint)
    step.see(ordered)
    if program.consuming:
        step.consume(ordered)
    step.write(ordered)
    if step.ran:
        step.clear()
        if program.finishing and program.subscribers.keys().isdisjoint(step.updated):
            step.finish()
    return step.changes()


def _nothing(path: tuple[Any, ...]) -> None:
    """No task has written anything."""


def begin(
    program: Program,
    checkpoint: Checkpoint,
    writes: Sequence[Write],
    written: Callable[[tuple[Any, ...]], Sequence[Write] | None] = _nothing,
) -> Changes:
    """What a caller's new input changes: the tasks that were due are given up for it.

    What those of them had written that had finished is kept, but for what it would lead to: what runs next, the input
    says. `written` gives the writes of a task by its path. See `beside`.
    """
    left = [
        Batch(name, _values_of(program, written(path)), path, triggers)
        for name, path, triggers in due(program, checkpoint)
    ]
    return beside(program, checkpoint, [Batch(INPUT, writes)], left)


def _values_of(program: Program, writes: Sequence[Write] | None) -> Sequence[Write] | None:
    """Writes without those that say no more than what runs next."""
    if writes is None:
        return None
    return [write for write in writes if write[0] != program.sends and not ways.end(write[0])]


def beside(
    program: Program, checkpoint: Checkpoint, batches: Sequence[Batch], left: Sequence[Batch]
) -> Changes:
    """What writes from outside change, and what finished tasks have `left`, where that can be applied.

    A superstep that can't is dropped: were it kept, the thread would never come to anything else.
    """
    try:
        return apply(program, checkpoint, [*batches, *left])
    except Exception as error:
        if all(batch.writes is None for batch in left):
            raise
        given_up = [batch._replace(writes=None) for batch in left]
        return apply(program, checkpoint, [*batches, *given_up])._replace(refused=error)


def amend(program: Program, checkpoint: Checkpoint, writes: Sequence[Write]) -> Changes:
    """What a command's writes change beside a superstep: what was due stays due, nothing is cleared.

    A way that has waited for the others to finish, and is open since, isn't gone once more: it would wait again.
    """
    writes = [write for write in writes if not _is_open_at_last(program, checkpoint, write[0])]
    changes = apply(program, checkpoint, [Batch(INPUT, writes)])
    if checkpoint.updated is None:
        return changes._replace(updated=None)
    return changes._replace(updated=tuple(sorted({*checkpoint.updated, *changes.cells})))


def _is_open_at_last(program: Program, checkpoint: Checkpoint, channel: str) -> bool:
    if channel not in program.finishing or not ways.end(channel):
        return False
    return program.channels[channel].get(checkpoint.values.get(channel, MISSING)) is not MISSING


def peek(
    program: Program,
    checkpoint: Checkpoint,
    writes: Sequence[Write],
    managed: Mapping[str, Any] = _NO_VERSIONS,
    name: str = INPUT,
    path: tuple[Any, ...] = (),
) -> View:
    """The values as a task sees them after its own writes and before everybody else's: as if it ran alone.

    What lasts for one superstep is gone, but for what the task wrote itself. `name` and `path` are the task's. A list
    that it only adds to isn't merged again for the next checkpoint; who looks is shown a copy, and may change it.
    """
    changed = apply(program, checkpoint, [Batch(name, writes, path, _ASIDE)]).cells
    cells, merged = {**checkpoint.values, **changed}, {}
    for channel, cell in changed.items():
        if cell is MISSING:
            del cells[channel]
        elif type(cell) is list and channel not in program.replaced:
            given = [value for key, value in writes if key == channel]
            if _only_grew(cell, checkpoint.values.get(channel), given):
                merged[channel] = given, cell
                cells[channel] = cell.copy()
    checkpoint.peeked = program, (name, path), merged
    return View(program.channels, cells, managed, program.direct)


def _only_grew(cell: list[Any], before: Any, given: Sequence[Any]) -> bool:
    """Whether a list has what it had and then what was given, itself: nothing that its reducer made of it, which who
    looks could change in the state."""
    parts = [part if isinstance(part, list) else [part] for part in given]
    items = [*(before if isinstance(before, list) else ()), *chain.from_iterable(parts)]
    return len(items) == len(cell) and all(map(is_, items, cell))


_Merged = Mapping[str, tuple[Sequence[Any], Any]]
"""By channel: writes, and the cell that they were merged into."""

_NOTHING: _Merged = {}

_NOT_MERGED: tuple[Sequence[Any], Any] = (), None


def _peeked(program: Program, peeked: Any, tasks: Sequence[Written]) -> _Merged:
    """What a superstep's only task has looked at."""
    of, who, merged = peeked
    return merged if of is program and [(task.name, task.path) for task in tasks] == [who] else _NOTHING


def advance(checkpoint: Checkpoint, changes: Changes) -> Checkpoint:
    """The checkpoint with the changes made; `id`, `parent`, `step` and the like are the caller's to set.

    Copies what it changes, so neither checkpoint sees the other's later changes.
    """
    cells, version = changes.cells, changes.version
    values, versions = (
        checkpoint.values.copy(),
        checkpoint.versions.copy(),
    )  # faster than `{**…}` after deletions
    for name, cell in cells.items():
        if cell is MISSING:
            values.pop(name, None)
            versions.pop(name, None)
        else:
            values[name], versions[name] = cell, version
    return Checkpoint(
        checkpoint.id,
        checkpoint.parent,
        checkpoint.step,
        checkpoint.source,
        checkpoint.created_at,
        values,
        versions,
        _seen(checkpoint, changes),
        changes.updated,
        checkpoint.metadata,
        version if cells else checkpoint.latest,
        checkpoint.touched.union(cells),
    )


def _writers(tasks: Sequence[Written], channel: str) -> list[str]:
    """Whose each write to a channel is, in their order."""
    return [
        f"{task.name}:{task.path}" for task in tasks for write in task.writes or () if write[0] == channel
    ]


def _seen(checkpoint: Checkpoint, changes: Changes) -> dict[str, dict[str, int]]:
    if not changes.forgets or not changes.seen:
        return {**checkpoint.seen, **changes.seen}
    kept = checkpoint.seen.get(INTERRUPT)
    return {**changes.seen} if kept is None else {INTERRUPT: kept, **changes.seen}


class _Superstep:
    """The changes of one superstep while they are collected; the methods run in the order written here."""

    __slots__ = ("before", "cells", "channels", "ignored", "program", "ran", "seen", "updated")

    def __init__(self, program: Program, checkpoint: Checkpoint) -> None:
        self.program = program
        self.channels = program.channels
        self.before = checkpoint
        self.cells: dict[str, Any] = {}
        self.seen: dict[str, dict[str, int]] = {}
        self.updated: set[str] = set()
        self.ignored: list[tuple[str, str]] = []
        self.ran = False
        """Whether any task was triggered; else nothing is cleared."""

    def see(self, tasks: Sequence[Written]) -> None:
        """Note which versions the tasks ran on."""
        versions = self.before.versions
        for task in tasks:
            if not task.triggers:
                continue
            self.ran = True
            if task.triggers == _ASIDE:
                continue
            if (seen := self.seen.get(task.name)) is None:
                old = _NO_VERSIONS if self.program.forgets else self.before.seen.get(task.name, _NO_VERSIONS)
                seen = self.seen[task.name] = {**old}
            for channel in task.triggers:
                if channel in versions:
                    seen[channel] = versions[channel]

    def consume(self, tasks: Sequence[Written]) -> None:
        """Tell each trigger, once, that it has done its work."""
        consuming = self.program.consuming
        for name in sorted({name for task in tasks for name in task.triggers if name in consuming}):
            self._put(name, self.channels[name].consume(self._cell(name)))

    def write(self, tasks: Sequence[Written]) -> None:
        """Merge the writes of all tasks, channel by channel."""
        if len(tasks) == 1 and len(writes := tasks[0].writes or ()) >= MANY and self._replace(writes):
            return
        replaced, cells = self.program.replaced, self.cells
        placed = self.program.placed if self.before.id else ()
        peeked = self.before.peeked
        merged = _NOTHING if peeked is None else _peeked(self.program, peeked, tasks)
        for name, writes in self._grouped(tasks).items():
            if name in replaced and len(writes) == 1:  # as almost always
                (cells[name],) = writes
                if cells[name] is not MISSING:
                    self.updated.add(name)
                continue
            channel = self.channels[name]
            known, cell = merged.get(name, _NOT_MERGED)
            if len(known) == len(writes) and all(map(is_, known, writes)):
                self._put_and_note(name, channel, cell)
                continue
            if name in placed:
                channel = channel.at(f"{self.before.id}:{name}", _writers(tasks, name))
            self._put_and_note(name, channel, channel.update(name, self._cell(name), writes))

    def _replace(self, writes: Sequence[Write]) -> bool:
        """Take many writes at once, each of which is what becomes of its channel; whether they are like that."""
        cells = dict(writes)
        if len(cells) < len(writes) or not cells.keys() <= self.program.replaced:
            return False
        self.cells.update(cells)
        self.updated.update([name for name, cell in cells.items() if cell is not MISSING])
        return True

    def clear(self) -> None:
        """Tell each available channel that was not updated that a superstep went by."""
        fleeting, updated = self.program.fleeting, self.updated
        for name in sorted(self.before.values.keys() & self.program.clearing):
            if name in updated:
                continue
            if name in fleeting:
                self.cells[name] = MISSING
                continue
            channel, cell = self.channels[name], self._cell(name)
            if channel.get(cell) is not MISSING:
                self._put(name, channel.clear(cell))

    def finish(self) -> None:
        """Tell each channel that holds something that no node is left to run."""
        finishing = self.program.finishing
        for name in sorted((self.before.values.keys() & finishing) | (self.cells.keys() & finishing)):
            channel = self.channels[name]
            self._put_and_note(name, channel, channel.finish(self._cell(name)))

    def changes(self) -> Changes:
        version, updated = self.before.latest + 1, tuple(sorted(self.updated))
        return _changes((version, self.cells, self.seen, updated, self.ignored, self.program.forgets, None))

    def _grouped(self, tasks: Sequence[Written]) -> dict[str, list[Any]]:
        grouped: dict[str, list[Any]] = {}
        for task in tasks:
            for name, value in task.writes or ():
                if name in grouped:
                    grouped[name].append(value)
                elif name in self.channels:
                    grouped[name] = [value]
                elif name not in CONTROL:
                    self.ignored.append((task.name, name))
        return grouped

    def _cell(self, name: str) -> Any:
        cell = (self.cells if name in self.cells else self.before.values).get(name, MISSING)
        if cell is MISSING and name not in self.program.direct:
            return self.channels[name].initial()
        return cell

    def _put(self, name: str, cell: Any) -> None:
        """Take a channel's answer."""
        if cell is not UNCHANGED:
            self.cells[name] = cell

    def _put_and_note(self, name: str, channel: Channel, cell: Any) -> None:
        """Take a channel's answer; where that makes a value available, it is an update."""
        if cell is not UNCHANGED:
            self.cells[name] = cell
            if (cell if name in self.program.direct else channel.get(cell)) is not MISSING:
                self.updated.add(name)
