"""`max_concurrency`: how many calls of a run execute at the same time.

Guarantee: a call that waits for calls of its own gives its place up meanwhile, so that no limit, however small, makes
nested calls wait for each other for ever. One that waits in a way that flowfn doesn't see, such as
`concurrent.futures.wait` or a callback, is found out: where for some time nobody gets a place, and all who hold one
have called something that they, or others for them, wait for, they are taken to wait, and their places go to others.
The price: code that computes for a tenth of a second while somebody else waits for its calls is taken to wait as well,
and then goes on beside one more than the limit.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.engine.runs.slots import Slots
from flowfn.futures import Future

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
        self._holders: dict[Frame, list[Frame]] = {}
        """Who holds a place: whoever takes a frame out gives its place back, and nobody else does."""
        self._entering: dict[Frame, Future[None]] = {}
        """Who queues for one: what tells the other branches of its code that want to go on when that is over."""
        self._taken = 0
        """How many places have been taken, more or less: threads that count at once may lose one."""
        self._seen = 0
        self._looks = 0

    async def enter(self, frame: Frame, host: Host, *, back: bool = False) -> None:
        """Wait for a place for an attempt that wants one; of its branches that do so at once, one queues for all.

        Who wants one `back` goes before those who have yet to begin: it may be that it has an error to raise, and that
        they are not to begin at all. Where it has come to wait or has ended meanwhile, it doesn't keep the place.
        """
        if self._queue or not self._enter_now(frame):
            await self._queue_up(frame, host, first=back)
        if frame.waits or frame.slots is None:
            self.leave(frame)

    def _enter_now(self, frame: Frame) -> bool:
        """Take a place for an attempt, if there is one and it has none: most find one."""
        if frame in self._holders:
            return True
        if not self.take_now():
            return False
        self._hold(frame)
        return True

    def _hold(self, frame: Frame) -> None:
        """The place that was just taken is that of an attempt, unless a branch of it on another thread was faster."""
        self._taken += 1
        mine = [frame]
        if self._holders.setdefault(frame, mine) is not mine:
            self.give_back()

    async def _queue_up(self, frame: Frame, host: Host, *, first: bool) -> None:
        """Have one branch queue for a place, and the others wait for what comes of that."""
        while frame.slots is not None and not frame.waits and frame not in self._holders:
            mine: Future[None] = Future()
            queues = self._entering.setdefault(frame, mine)
            if queues is not mine:
                queues.add_done_callback(partial(_pass_on, mine))
                await host.wait(mine)
                continue
            try:
                if frame not in self._holders:
                    await self.take(host, first=first)
                    self._hold(frame)
            finally:
                del self._entering[frame]
                mine.set_result(None)

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


def _pass_on(waiting: Future[None], _: Any) -> None:
    if waiting.set_running_or_notify_cancel():
        waiting.set_result(None)
