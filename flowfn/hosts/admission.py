"""When what is called together on one event loop begins, runs and the jobs of one: a few at a time, in order.

Rule: one begins while only few wait for the database. What is called deeper goes first, so that what has begun ends
before others begin. Where of those that are equally deep none could begin in several turns of the loop, though waits
ended in each, a few do anyhow. Nothing but the database counts: what waits for its own code, or for an answer, holds up
nobody, so that no two can wait for each other here.

Of a thousand that are gathered, each would else take its first step before any takes its second. What all of them hold
would be alive at once, for the garbage collector to go through again and again, which took half of their time.
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


class _Line:
    """Those of one depth that may not begin yet, in the order in which they came."""

    def __init__(self) -> None:
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.in_vain = 0
        """In how many turns waits have ended since one could begin."""


class Admission:
    """Who may begin with one saver on one event loop, neither of which it keeps alive.

    As a context manager it is a wait for the saver's database: for a commit, a lease or a look.
    """

    def __init__(self, most: int = INLINE) -> None:
        self._most = most
        """How many may wait for the database, and others begin beside them."""
        self._lines: dict[int, _Line] = {}
        """By depth. None is empty."""
        self._waits = 0
        self._begun = 0
        """How many began in this turn of the loop; they may have had no time to wait for anything."""
        self._looks = False
        """Whether it is looked soon who may begin."""

    def turn(self, depth: int = 0) -> asyncio.Future[None] | None:
        """What is done when somebody may begin who was called at that depth; None where that is at once."""
        if self._waits < self._most > self._begun and (not self._lines or max(self._lines) < depth):
            self._begun += 1
            self._look_soon()
            return None
        begins: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._lines.get(depth) or self._lines.setdefault(depth, _Line())
        line.waiting.append(begins)
        return begins

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
        if self._lines:
            self._look_soon()

    def _look_soon(self) -> None:
        if not self._looks:
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                asyncio.get_running_loop().call_soon(self._look)
                self._looks = True

    def _look(self) -> None:
        """Let those begin for whom there is room by now."""
        self._looks, self._begun = False, 0
        for depth in sorted(self._lines, reverse=True):
            self._let_begin(self._lines[depth])
            if not self._lines[depth].waiting:
                del self._lines[depth]
        if self._begun:
            self._look_soon()

    def _let_begin(self, line: _Line) -> None:
        """Let those of one depth begin, after those of others."""
        line.in_vain += 1
        others = self._begun
        while line.waiting:
            overdue = line.in_vain >= PATIENCE and self._begun - others <= self._most // 8
            if self._waits + self._begun >= self._most and not overdue:
                break
            begins = line.waiting.popleft()
            if not begins.done():  # else it was cancelled
                begins.set_result(None)
                self._begun += 1
        if self._begun > others:
            line.in_vain = 0
