"""Which host what code of a run goes to."""

from __future__ import annotations

from dataclasses import dataclass

from flowfn.errors import AsyncInBlockingRun
from flowfn.ports import EventLoopHost, Host
from flowfn.python.cached_property import cached_property


@dataclass(frozen=True)
class Hosts:
    """Where a run's code goes: `own` drives the run, sync attempts go to `threads`, async ones to `loop`."""

    own: Host
    loop: EventLoopHost | None = None

    def __post_init__(self) -> None:
        if self.loop is None:
            vars(self)["threads"] = self.own

    @cached_property
    def threads(self) -> Host:
        """What drives the run, where there is no event loop; else what is beside that, once somebody asks."""
        assert self.loop is not None
        return self.loop.threads

    @property
    def on_loop(self) -> bool:
        """Whether the event loop drives the run; a blocking call inside an asyncio run merely has one."""
        return self.own is self.loop


def refused_async(name: str) -> AsyncInBlockingRun:
    """The error of a blocking run that meets an async function."""
    return AsyncInBlockingRun(
        f'No synchronous function provided to "{name}". It is async, and this run is blocking: call the workflow '
        "by ainvoke(), astream() or aresume() (or await it), or make the function a plain def"
    )
