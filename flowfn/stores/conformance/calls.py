"""How the contract's tests get their stores, and call them in both worlds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flowfn.stores.items import SearchItem

HERE = ("users", "ada")


class FakeClock:
    """Time that a test moves; `wait` moves it once, and after that blocks until the event is set."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0
        self.waits: list[float] = []
        self.swept = threading.Event()
        """Set when the time has come to wait for the second time."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return self.time

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Whether the event was set: not at the first call, which takes `seconds`."""
        self.waits.append(seconds)
        if len(self.waits) == 1:
            self.time += seconds
            return False
        self.swept.set()
        return event.wait()

    def pass_minutes(self, minutes: float) -> None:
        """Move the time on."""
        self.time += minutes * 60


class Contract:
    """Where the parts of the contract get their stores from."""

    asyncio = False
    """Whether the tests call the `a…` methods, in an event loop."""

    def make(self, **options: Any) -> Any:
        """A new, empty store."""
        raise NotImplementedError("Derive from StoreContract, and return a new store from make().")

    def reopen(self, store: Any) -> Any:
        """The same data, as a process that opens it next sees it."""
        return store

    @contextmanager
    def store(self, **options: Any) -> Iterator[Calls]:
        """A new store, closed afterwards."""
        with self.make(**options) as made:
            yield Calls(made, self.asyncio)


class Calls:
    """A store whose methods are called in the test's world."""

    def __init__(self, store: Any, in_loop: bool) -> None:
        self.kept = store
        self._in_loop = in_loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not self._in_loop:
            return getattr(self.kept, name)  # type: ignore[no-any-return]
        return lambda *args, **kwargs: asyncio.run(_awaited(getattr(self.kept, f"a{name}"), args, kwargs))


async def _awaited(method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return await method(*args, **kwargs)


def keys(found: Sequence[SearchItem]) -> list[str]:
    """The keys of what was found, in its order."""
    return [item.key for item in found]


def refused(call: Callable[[], object], kind: type[Exception]) -> str:
    """The message with which a call is refused."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"the call raised no {kind.__name__}")
