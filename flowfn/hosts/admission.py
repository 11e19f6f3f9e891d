"""When the runs that are called together on one event loop begin: a few at a time, in the order of their calls.

Rule: a run begins while only few others wait for the database. Where none could begin in several turns of the loop,
though waits ended in each, a few do anyhow. Nothing but the database counts: what waits for its own code, or for an
answer, holds up nobody, so that no two runs can wait for each other here.

Of a thousand runs that are gathered, each would else take its first step before any takes its second. What all of them
hold would be alive at once, for the garbage collector to go through again and again, which took half of their time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from types import TracebackType

INLINE = 24
"""How many may wait for a saver that commits on the loop's own thread, where more in a group save little."""

ELSEWHERE = 256
"""How many may wait for another one, whose groups cost a way to a thread, and to a disk or a server."""


PATIENCE = 4
"""After so many turns in which waits ended an eighth of those that may wait begins, however many there are: else runs
that do nothing but commit would keep out all others."""


class Admission:
    """Who may begin with one saver on one event loop, neither of which it keeps alive.

    As a context manager it is a wait for the saver's database: for a commit, a lease or a look.
    """

    def __init__(self) -> None:
        self._gate: deque[tuple[asyncio.Future[None], int]] = deque()
        """Those that may not begin yet, each with how many may wait meanwhile."""
        self._waits = 0
        self._begun = 0
        """How many began in this turn of the loop; they may have had no time to wait for anything."""
        self._in_vain = 0
        """In how many turns waits have ended since one could begin."""
        self._looks = False
        """Whether it is looked soon who may begin."""

    async def turn(self, most: int) -> None:
        """Suspend until a run may begin that is to have fewer than `most` waits for the database beside it."""
        if self._gate or self._waits >= most or self._begun >= most:
            begins: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._gate.append((begins, most))
            await begins
        else:
            self._begun += 1
            self._look_soon()

    @property
    def crowded(self) -> bool:
        """Whether several begin in this turn of the loop."""
        return self._begun > 1

    def __enter__(self) -> None:
        self._waits += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waits -= 1
        if self._gate:
            self._look_soon()

    def _look_soon(self) -> None:
        if not self._looks:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                asyncio.get_running_loop().call_soon(self._look)
                self._looks = True

    def _look(self) -> None:
        """Let those begin for whom there is room by now."""
        self._looks, self._begun = False, 0
        self._in_vain += 1
        while self._gate:
            begins, most = self._gate[0]
            overdue = self._in_vain >= PATIENCE and self._begun <= most // 8
            if self._waits + self._begun >= most and not overdue:
                break
            self._gate.popleft()
            if not begins.done():  # else it was cancelled
                begins.set_result(None)
                self._begun += 1
        if self._begun:
            self._in_vain = 0
            self._look_soon()
