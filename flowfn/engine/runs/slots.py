"""Places of which there are a few, and a queue for them; whose turn it is, where there is one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from flowfn.futures import Future

if TYPE_CHECKING:
    from flowfn.ports import Host


class Slots:
    """Places to do something in; whoever finds none queues, first come, first served, behind those who go `first`."""

    def __init__(self, number: int) -> None:
        self._free = [None] * number
        self._queue: deque[Future[None]] = deque()

    async def take(self, host: Host, *, first: bool = False) -> None:
        """Wait for a place."""
        place: Future[None] = Future()
        if first:
            self._queue.appendleft(place)
        else:
            self._queue.append(place)
        self._hand_out()
        if not place.done():
            self.queued(host)
            try:
                await host.wait(place)
            except BaseException:
                if not place.cancel():
                    self.give_back()
                raise

    def queued(self, host: Host) -> None:
        """Somebody queues."""

    @property
    def is_wanted(self) -> bool:
        """Whether anybody queues."""
        return bool(self._queue)

    def take_now(self) -> bool:
        """Take a place if there is one."""
        try:
            self._free.pop()
        except IndexError:
            return False
        return True

    def give_back(self) -> None:
        """Leave a place to the next in the queue."""
        self._free.append(None)
        self._hand_out()

    def _hand_out(self) -> None:
        """Match free places with those who queue; any thread may do it for any other."""
        while self._free and self._queue:
            try:
                self._free.pop()
            except IndexError:
                return
            try:
                place = self._queue.popleft()
            except IndexError:
                self._free.append(None)
                continue
            if place.set_running_or_notify_cancel():
                place.set_result(None)
            else:
                self._free.append(None)
