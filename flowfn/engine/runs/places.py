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
        self._holders: dict[Seat, list[Seat]] = {}
        """Who holds a place: whoever takes one out gives its place back, and nobody else does."""
        self._entering: dict[Seat, Future[None]] = {}
        """Who queues for one: what tells the other branches of its code that want to go on when that is over."""
        self._taken = 0
        """How many places have been taken, more or less: threads that count at once may lose one."""
        self._seen = 0
        self._looks = 0

    async def enter(self, seat: Seat, host: Host, *, back: bool = False) -> None:
        """Wait for a place for an attempt that wants one; of its branches that do so at once, one queues for all.

        Who wants one `back` goes before those who have yet to begin: it may be that it has an error to raise, and that
        they are not to begin at all. Where it has come to wait or has ended meanwhile, it doesn't keep the place.
        """
        if self._queue or not self._enter_now(seat):
            await self._queue_up(seat, host, first=back)
        if seat.waits or seat.over:
            self.leave(seat)

    def _enter_now(self, seat: Seat) -> bool:
        """Take a place for an attempt, if there is one and it has none: most find one."""
        if seat in self._holders:
            return True
        if not self.take_now():
            return False
        self._hold(seat)
        return True

    def _hold(self, seat: Seat) -> None:
        """The place that was just taken is that of an attempt, unless a branch of it on another thread was faster."""
        self._taken += 1
        mine = [seat]
        if self._holders.setdefault(seat, mine) is not mine:
            self.give_back()

    async def _queue_up(self, seat: Seat, host: Host, *, first: bool) -> None:
        """Have one branch queue for a place, and the others wait for what comes of that."""
        while not (seat.over or seat.waits) and seat not in self._holders:
            mine: Future[None] = Future()
            queues = self._entering.setdefault(seat, mine)
            if queues is not mine:
                queues.add_done_callback(partial(_pass_on, mine))
                await host.wait(mine)
                continue
            try:
                if seat not in self._holders:
                    await self.take(host, first=first)
                    self._hold(seat)
            finally:
                del self._entering[seat]
                mine.set_result(None)

    def leave(self, seat: Seat) -> None:
        """Give back the place of an attempt, if it holds one."""
        if self._holders.pop(seat, None) is not None:
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
            if all(seat.waits_unseen for seat in holders):
                for seat in holders:
                    self.leave(seat)
        return True


class Seat:
    """What an attempt has its place by: it gives that up while its code waits for calls of its own."""

    __slots__ = ("_frame", "_places", "over", "waits")

    def __init__(self, places: Places, frame: Frame) -> None:
        self._places = places
        self._frame = frame
        self.waits = 0
        """In how many ways the code waits for calls of its own at this moment."""
        self.over = False
        """Whether the code has ended, and wants no place any more."""

    async def enter(self, host: Host) -> None:
        """Take a place to execute in."""
        await self._places.enter(self, host)

    def leave(self) -> None:
        """Give the place back: the code has ended."""
        self.over = True
        self._places.leave(self)

    def step_aside(self) -> None:
        """Give the place up while the code waits."""
        if not self.over:
            self.waits += 1
            if self.waits == 1:
                self._places.leave(self)

    async def step_back(self, host: Host) -> None:
        """Take a place again: a wait is over."""
        if not self.over:
            self.waits -= 1
            if self.waits == 0:
                await self._places.enter(self, host, back=True)

    @property
    def waits_unseen(self) -> bool:
        """Whether somebody waits for a call of the code's: that does, in a way that isn't seen, if it does nothing
        else. Somebody does also where a thread has taken the call to run it in place."""
        calls = self._frame.open_calls()
        return any((call.watched or call.taker is not None) and not call.done() for call in calls)


def _pass_on(waiting: Future[None], _: Any) -> None:
    if waiting.set_running_or_notify_cancel():
        waiting.set_result(None)
