"""Rows that are committed later: beside the run, in order (`durability="async"`), or when it ends ("exit").

Rule: rows are written in their order, by one writer at a time. Once that has failed nothing is written any more, as a
checkpoint has what changed since the one before it: each later write raises what failed. Whoever adds rows waits for
nobody: it may be the thread of the event loop whose coroutine is writing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from flowfn.engine.runs.slots import Slots
from flowfn.ports import CheckpointRow, Status, Writes
from flowfn.python.inbox import Inbox

if TYPE_CHECKING:
    from flowfn.config import Durability
    from flowfn.ports import Host

Item = CheckpointRow | Writes


class Backlog:
    """What one root run has not committed yet.

    `commit` commits for a run, under its host, and raises; `commit_here` commits on the thread that calls it, and
    returns what went wrong.
    """

    def __init__(
        self,
        durability: Durability,
        commit: Callable[[Host, Sequence[Item], Status | None, bool], Awaitable[None]],
        commit_here: Callable[[Sequence[Item]], Exception | None],
    ) -> None:
        self._at_exit = durability == "exit"
        self._commit = commit
        self._commit_here = commit_here
        self._items: Inbox[Item] = Inbox()
        """What came, in its order; any thread may add to it."""
        self._kept: list[Item] = []
        """With "exit" what came before that, for whoever has the turn: of each namespace only the last checkpoint."""
        self._turn = Slots(1)
        """Whose turn it is to write."""
        self._error: Exception | None = None

    async def add(self, host: Host, items: Sequence[Item], added: Callable[[], None] | None = None) -> None:
        """Have rows committed later; of several threads' rows `added` is called in the order that they will have."""
        if added is None:
            self._items.extend(items)
        else:
            self._items.add(items, added)
        if not self._at_exit:
            self._raise_error()
            await self._go_on(host)
        elif self._turn.take_now():
            try:
                self._lay_by()
            finally:
                self._turn.give_back()

    async def write(
        self, host: Host, items: Sequence[Item] = (), status: Status | None = None, release: bool = False
    ) -> None:
        """Commit now, after what is being written, all that was to be committed later, and then these rows."""
        await self._turn.take(host)
        try:
            self._raise_error()
            self._items.extend(items)
            if (due := self._due()) or status is not None or release:
                await self._commit(host, due, status, release)
        except Exception as error:
            self._error = error
            raise
        finally:
            self._turn.give_back()
        await self._go_on(host)

    async def _go_on(self, host: Host) -> None:
        """Have what nobody has begun to write committed beside the run, unless somebody has the turn: he sees to it."""
        if self._at_exit or not self._items or not self._turn.take_now():
            return
        try:
            host.background(self._flush)
        except RuntimeError:  # no thread can be started: whoever has rows writes them
            self._turn.give_back()
            await self.write(host)

    def _flush(self) -> None:
        """Commit in the turn that was taken for it, until nothing is left; what fails is for the run's next write."""
        while True:
            try:
                while self._items and self._error is None:
                    self._error = self._commit_here(self._take())
            finally:
                self._turn.give_back()
            # what came since it was looked at found the turn taken
            if not self._items or self._error is not None or not self._turn.take_now():
                return

    def _due(self) -> list[Item]:
        """All that is to be written."""
        if not self._at_exit:
            return self._take()
        self._lay_by()
        due, self._kept = self._kept, []
        return due

    def _lay_by(self) -> None:
        """Keep what came."""
        for item in self._take():
            if isinstance(item, CheckpointRow):
                item = self._in_place_of_the_last(item)
            self._kept.append(item)

    def _in_place_of_the_last(self, row: CheckpointRow) -> CheckpointRow:
        """A checkpoint that stands for the one before it as well, which nobody has stored."""
        before = next(
            (old for old in self._kept if isinstance(old, CheckpointRow) and old.id == row.parent), None
        )
        if before is None or before.namespace != row.namespace:
            return row
        kept = {name: v for name, v in before.values.items() if row.versions.get(name) == v.version}
        place = (before.namespace, before.id)
        self._kept = [item for item in self._kept if (item.namespace, _checkpoint_of(item)) != place]
        return row._replace(parent=before.parent, values={**kept, **row.values})

    def _take(self) -> list[Item]:
        return [self._items.popleft() for _ in range(len(self._items))]

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error


def _checkpoint_of(item: Item) -> str:
    return item.id if isinstance(item, CheckpointRow) else item.checkpoint
