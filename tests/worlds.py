"""Every world that a workflow can live in, so that each behaviour is written once and run in all of them.

A world is a caller (blocking or asyncio), a saver (memory, SQLite or Postgres) and, for the asyncio caller, the
colour of the functions: sync functions run under both callers, async ones under asyncio only (G7).
A test writes its functions as `async def`, waits in them with `await world.value(future)`, and lets
`world.task` and `world.entrypoint` give them the world's colour. A plain `def` stays one everywhere.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flowfn import Command, Entrypoint, Interrupt, StateSnapshot, Task, entrypoint, task
from flowfn.ports import Saver


class Kind(NamedTuple):
    """Which world: `caller` is "blocking" or "asyncio", `colour` of the functions "sync" or "async"."""

    caller: str
    colour: str
    saver: str

    def __str__(self) -> str:
        return f"{self.caller}-{self.colour}-{self.saver}"


COLOURS = (("blocking", "sync"), ("asyncio", "sync"), ("asyncio", "async"))
SAVERS = ("memory", "sqlite", "postgres")
KINDS = tuple(Kind(caller, colour, saver) for caller, colour in COLOURS for saver in SAVERS)


@dataclass
class World:
    """One caller, one saver, one colour of functions; `ran` is where tasks note that they ran."""

    kind: Kind
    saver: Saver
    ran: list[Any] = field(default_factory=list)
    _runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    @property
    def asyncio(self) -> bool:
        """Whether the caller is an asyncio program."""
        return self.kind.caller == "asyncio"

    @property
    def is_async(self) -> bool:
        """Whether the functions are async."""
        return self.kind.colour == "async"

    # -- functions of the world's colour --------------------------------------------------------

    def colour(self, function: Any) -> Any:
        """An `async def` as this world's functions are: itself, or a plain function of the same body."""
        if self.is_async or not inspect.iscoroutinefunction(function):
            return function

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            return _finished(function(*args, **kwargs))

        plain.__annotations__ = function.__annotations__  # which a test may have changed
        return plain

    def task(self, function: Any = None, **options: Any) -> Any:
        """`@task` on a function of the world's colour."""
        if function is None:
            return lambda function: self.task(function, **options)
        made = task(**options)(self.colour(function))
        assert isinstance(made, Task)
        return made

    def entrypoint(self, function: Any = None, **options: Any) -> Any:
        """`@entrypoint` on a function of the world's colour, on the world's saver."""
        if function is None:
            return lambda function: self.entrypoint(function, **options)
        made = entrypoint(**{"checkpointer": self.saver, **options})(self.colour(function))
        assert isinstance(made, Entrypoint)
        return made

    async def value(self, future: Any) -> Any:
        """A future's value, waited for as code of this colour does: `await`, or `.result()`."""
        return await future if self.is_async else future.result()

    async def error(self, future: Any) -> Any:
        """A future's error, or None, waited for as code of this colour does."""
        if self.is_async:
            await asyncio.gather(future, return_exceptions=True)
        return future.exception()

    async def ended(self, future: Any) -> None:
        """Wait until a future is done, without looking at what came of it."""
        if self.is_async:
            await asyncio.wait({future})
        else:
            futures.wait([future])

    # -- the caller -----------------------------------------------------------------------------

    def do(self, target: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method in the caller's colour (`ainvoke` for "invoke" in asyncio); what it streams as a list."""
        if not self.asyncio:
            found = getattr(target, method)(*args, **kwargs)
            return list(found) if isinstance(found, Iterator) else found
        return self._runner.run(_collected(lambda: getattr(target, f"a{method}")(*args, **kwargs)))

    def invoke(self, workflow: Any, *args: Any, **kwargs: Any) -> Any:
        """`invoke`, or `ainvoke`."""
        return self.do(workflow, "invoke", *args, **kwargs)

    def resume(self, workflow: Any, answer: Any, thread_id: str) -> Any:
        """Answer the thread's question, and go on."""
        return self.invoke(workflow, Command(resume=answer), thread_id=thread_id)

    def stream(self, workflow: Any, *args: Any, **kwargs: Any) -> list[Any]:
        """All chunks of `stream`, or `astream`."""
        chunks: list[Any] = self.do(workflow, "stream", *args, **kwargs)
        return chunks

    def first(self, workflow: Any, *args: Any, **kwargs: Any) -> Any:
        """The first chunk of a stream that is left early."""
        if not self.asyncio:
            stream = workflow.stream(*args, **kwargs)
            try:
                return next(stream)
            finally:
                stream.close()
        return self._runner.run(_first(workflow.astream(*args, **kwargs)))

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A direct call; of an async function, awaited."""
        if not self.asyncio:
            return function(*args, **kwargs)
        return self._runner.run(_collected(lambda: function(*args, **kwargs)))

    def together(
        self, calls: Iterable[Callable[[], Awaitable[Any]]], blocking: Iterable[Callable[[], Any]]
    ) -> list[Any]:
        """What each of several calls returns when all run at the same time."""
        if self.asyncio:
            return self._runner.run(_gathered(calls))
        calls_made = tuple(blocking)
        with futures.ThreadPoolExecutor(len(calls_made)) as pool:
            return [future.result() for future in [pool.submit(call) for call in calls_made]]

    def state(self, workflow: Any, thread_id: str) -> StateSnapshot:
        """The thread's state at its head."""
        found: StateSnapshot = self.do(workflow, "get_state", thread_id=thread_id)
        return found

    def history(self, workflow: Any, thread_id: str, **kwargs: Any) -> list[StateSnapshot]:
        """The thread's checkpoints, newest first."""
        found: list[StateSnapshot] = self.do(workflow, "get_state_history", thread_id=thread_id, **kwargs)
        return found

    def close(self) -> None:
        """End the event loop. The saver is its owner's."""
        self._runner.close()


class Rendezvous:
    """Ends only when `parties` tasks are inside at the same time."""

    def __init__(self, world: World, parties: int) -> None:
        self._barrier = asyncio.Barrier(parties) if world.is_async else threading.Barrier(parties, timeout=10)
        self._async = world.is_async

    async def meet(self) -> None:
        if self._async:
            await self._barrier.wait()  # type: ignore[misc]
        else:
            self._barrier.wait()


def questions(result: Any) -> list[Interrupt]:
    """The open questions that `invoke` returned."""
    assert list(result) == ["__interrupt__"]
    found: list[Interrupt] = result["__interrupt__"]
    return found


def asked(result: Any) -> list[Any]:
    """What the open questions that `invoke` returned ask."""
    return [question.value for question in questions(result)]


def _finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise AssertionError("a function of the sync colour suspended: wait for futures by world.value(future)")


async def _gathered(calls: Iterable[Callable[[], Awaitable[Any]]]) -> list[Any]:
    return list(await asyncio.gather(*(call() for call in calls)))


async def _collected(make: Callable[[], Any]) -> Any:
    made = make()
    if isinstance(made, AsyncIterator):
        return [item async for item in made]
    return await made if inspect.isawaitable(made) and not getattr(made, "done", lambda: False)() else made


async def _first(stream: Any) -> Any:
    try:
        return await anext(stream)
    finally:
        await stream.aclose()
