"""The methods of a saver that was written for LangGraph, called from wherever flowfn is.

Rule: a method may be there, or its asyncio twin, or both. From a thread beside a running event loop the twin is
preferred, and runs on that loop, whose connections it uses; unless blocking code holds the loop up, which may wait for
this very call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from checkpointers.foreign.errors import MethodMissing, SaverRaised
from flowfn.errors import FlowError
from flowfn.python.event_loop import is_held_up, running_loop

if TYPE_CHECKING:
    import asyncio

TWIN: Final = "a"
"""What the name of a method's asyncio twin begins with."""


class Methods:
    """Calls the methods of a saver, be they blocking or asyncio's."""

    def __init__(self, saver: Any) -> None:
        self._saver = saver
        self._loop: asyncio.AbstractEventLoop | None = None
        self._without: set[str] = set()
        """Of which methods the asyncio twin is there in name alone."""
        self.note_loop()

    def note_loop(self) -> None:
        """Have the asyncio methods run on the loop that runs here, if one does."""
        self._loop = running_loop() or self._loop

    def has_twin(self, name: str) -> bool:
        """Whether a method has an asyncio twin, as far as is known before it is called."""
        return name not in self._without and hasattr(self._saver, TWIN + name)

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """What a method returns; of one that yields, a list.

        Raises:
            SaverRaised: it raised.
            MethodMissing: there is none that can be called here.
        """
        kind = type(self._saver).__name__
        try:
            return self._called(name, args, kwargs)
        except NotImplementedError as error:
            raise MethodMissing(
                f"{kind} has no {name}() that can be called here. A saver whose methods are asyncio's needs "
                "ainvoke() or astream(); write the method, or use another saver"
            ) from error
        except FlowError:
            raise
        except Exception as error:
            raise SaverRaised(f"{kind}.{name}() failed: {type(error).__name__}: {error}") from error

    def _called(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What the method's asyncio twin gives on the loop that runs elsewhere, or the method itself."""
        twin = getattr(self._saver, TWIN + name, None)
        if twin is not None and (loop := self._loop_elsewhere()) is not None:
            from asyncio import run_coroutine_threadsafe

            try:
                return run_coroutine_threadsafe(_awaited(twin, args, kwargs), loop).result()
            except NotImplementedError:
                self._without.add(name)
        method = getattr(self._saver, name, None)
        if method is None:
            raise NotImplementedError(name)
        found = method(*args, **kwargs)
        return list(found) if name == "list" else found

    def _loop_elsewhere(self) -> asyncio.AbstractEventLoop | None:
        """The loop that the asyncio methods run on, if it runs on another thread, and goes on meanwhile."""
        loop = self._loop
        if loop is None or not loop.is_running() or loop is running_loop() or is_held_up(loop):
            return None
        return loop


async def _awaited(method: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    found = method(*args, **kwargs)
    return [one async for one in found] if hasattr(found, "__aiter__") else await found
