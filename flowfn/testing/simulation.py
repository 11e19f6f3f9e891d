"""A world for runs to take place in: hosts whose calls of user code somebody watches, and a saver of their own.

Rule: the engine is the real one. Only its ports are other ones: what calls functions, what tells the
time, what keeps rows.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Token
from typing import TYPE_CHECKING, Any, Self

from flowfn.context import World, current_frame, current_world
from flowfn.hosts.clock import SYSTEM, Clock
from flowfn.hosts.loop import LoopHost
from flowfn.hosts.threads import ThreadHost
from flowfn.policies import TimeoutPolicy, timeout_seconds

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.ports import Saver


class Simulation:
    """A context manager: runs that begin inside it take place in it. Subclasses say what is different there."""

    clock: Clock = SYSTEM

    def __init__(self) -> None:
        self._token: Token[World | None] | None = None

    def __enter__(self) -> Self:
        self._token = current_world.set(self)
        return self

    def __exit__(self, *raised: object) -> None:
        assert self._token is not None
        current_world.reset(self._token)

    # -- what subclasses say ----------------------------------------------------------------------

    def begins(self, frame: Frame, timeout: float | None) -> None:
        """A function is about to be called; what this raises is raised in place of what it does."""

    def left(self, frame: Frame) -> None:
        """A function that was called has ended, in whichever way."""

    def returned(self, frame: Frame, value: Any) -> None:
        """A function has returned."""

    # -- the world --------------------------------------------------------------------------------

    def saver(self, configured: Callable[[], Saver | None]) -> Saver | None:
        return configured()

    def thread_host(self) -> ThreadHost:
        return _Threads(self)

    def loop_host(self) -> LoopHost:
        return _Loop(self)


class _Threads(ThreadHost):
    def __init__(self, simulation: Simulation, loop: LoopHost | None = None) -> None:
        super().__init__(loop=loop, clock=simulation.clock)
        self._simulation = simulation

    async def call(self, function: Any, args: Any, kwargs: Any, timeout: Any) -> Any:
        frame = _frame()
        self._simulation.begins(frame, _whole(timeout))
        try:
            value = await super().call(function, args, kwargs, timeout)
        finally:
            self._simulation.left(frame)
        self._simulation.returned(frame, value)
        return value


class _Loop(LoopHost):
    def __init__(self, simulation: Simulation) -> None:
        super().__init__(clock=simulation.clock)
        self._simulation = simulation
        self.threads = _Threads(simulation, self)

    async def call_async(self, function: Any, args: Any, kwargs: Any, timeout: Any) -> Any:
        frame = _frame()
        self._simulation.begins(frame, _whole(timeout))
        try:
            value = await super().call_async(function, args, kwargs, timeout)
        finally:
            self._simulation.left(frame)
        self._simulation.returned(frame, value)
        return value

    async def sleep(self, seconds: float) -> None:
        if self.clock is SYSTEM:
            await super().sleep(seconds)
        elif seconds > 0:
            self.clock.sleep(seconds)
            await super().sleep(0)


def _whole(timeout: Any) -> float | None:
    """The seconds that an attempt may take in all."""
    return timeout_seconds(timeout.run_timeout if isinstance(timeout, TimeoutPolicy) else timeout)


def _frame() -> Frame:
    frame = current_frame.get()
    assert frame is not None
    return frame
