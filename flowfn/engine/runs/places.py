"""`max_concurrency`: how many calls of a run execute at the same time.

Guarantee: a call that waits for calls of its own gives its place up meanwhile, so that no limit, however small, makes
nested calls wait for each other for ever. One that waits in a way that flowfn doesn't see, such as
`concurrent.futures.wait` or a callback, is found out: where for some time nobody gets a place, and all who hold one
have called something that they, or others for them, wait for, they are taken to wait, and their places go to others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.engine.runs.slots import Slots

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.ports import Host

STILL = 20
"""After how many looks at which nobody has got a place those who hold one are taken to wait."""


class Places(Slots):
    """The places of a run's calls: an attempt holds one or none."""

    urgent = False

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._holders: dict[Frame, object] = {}
        """Who holds a place: whoever takes a frame out gives its place back, and nobody else does."""
        self._taken = 0
        """How many places have been taken, more or less: threads that count at once may lose one."""
        self._seen = 0
        self._looks = 0

    async def enter(self, frame: Frame, host: Host) -> None:
        """Wait for a place for an attempt; of its branches that do so at once, one gets it for all."""
        if frame in self._holders:
            return
        await self.take(host)
        self._taken += 1
        mine = object()
        if self._holders.setdefault(frame, mine) is not mine:
            self.give_back()

    def leave(self, frame: Frame) -> None:
        """Give back the place of an attempt, if it holds one."""
        if self._holders.pop(frame, None) is not None:
            self.give_back()

    def queued(self, host: Host) -> None:
        host.look_after(self)

    def wake(self, share: float) -> bool:
        """Let others have the places of those who wait unseen, if nothing else goes on; whether anybody queues."""
        if not self.is_wanted:
            return False
        if self._seen != self._taken:
            self._seen, self._looks = self._taken, 0
        self._looks += 1
        if self._looks % STILL == 0:
            holders = tuple(self._holders.copy())
            if all(frame.waits_unseen for frame in holders):
                for frame in holders:
                    self.leave(frame)
        return True
