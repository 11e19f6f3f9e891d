"""Callbacks of a graph's life: it stops for a question or at a breakpoint, and goes on.

Handlers go into `config["callbacks"]`, beside LangChain's, of which they are a kind where it is installed.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from flowfn.events import Event, RunResumed
from flowfn.logs import logger
from flowfn.streams import path_of
from flowfn.values import Interrupt
from graph_compat.langchain import is_installed, run_id_here

if TYPE_CHECKING:
    from flowfn.invocation import Ending, Run

if TYPE_CHECKING or is_installed():
    from langchain_core.callbacks import BaseCallbackHandler
else:

    class BaseCallbackHandler:
        """The base of handlers without LangChain."""

        raise_error = False


__all__ = [
    "GraphCallbackHandler",
    "GraphInterruptEvent",
    "GraphLifecycleEvent",
    "GraphLifecycleStatus",
    "GraphResumeEvent",
    "get_async_graph_callback_manager_for_config",
    "get_sync_graph_callback_manager_for_config",
]

GraphLifecycleStatus = Literal[
    "input", "pending", "done", "interrupt_before", "interrupt_after", "out_of_steps"
]
"""Where a graph is in its life; "pending" where it stopped for a question, or has work left."""


@dataclass(frozen=True)
class GraphInterruptEvent:
    """A root graph stopped at a checkpoint: for questions, or at a breakpoint (`status`), with none."""

    run_id: UUID | None
    status: GraphLifecycleStatus
    checkpoint_id: str
    checkpoint_ns: tuple[str, ...]
    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True)
class GraphResumeEvent:
    """A graph, or one nested in it, goes on from a checkpoint."""

    run_id: UUID | None
    status: GraphLifecycleStatus
    checkpoint_id: str
    checkpoint_ns: tuple[str, ...]


GraphLifecycleEvent = GraphInterruptEvent | GraphResumeEvent


class GraphCallbackHandler(BaseCallbackHandler):
    """Base of handlers; either method may be async. What they raise is logged, or raised where `raise_error`."""

    def on_interrupt(self, event: GraphInterruptEvent) -> Any:
        """The graph stops."""

    def on_resume(self, event: GraphResumeEvent) -> Any:
        """The graph goes on."""


class _Manager:
    """Tells the handlers of a run, blocking."""

    def __init__(self, handlers: Sequence[GraphCallbackHandler], run_id: UUID | None = None) -> None:
        self.handlers = handlers
        self.run_id = run_id

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """The graph stops."""
        for handler in self.handlers:
            _told(handler, handler.on_interrupt, event)

    def on_resume(self, event: GraphResumeEvent) -> None:
        """The graph goes on."""
        for handler in self.handlers:
            _told(handler, handler.on_resume, event)


class _AsyncManager(_Manager):
    """Tells the handlers of a run, for asyncio."""

    async def on_interrupt(self, event: GraphInterruptEvent) -> None:  # type: ignore[override]
        """The graph stops."""
        for handler in self.handlers:
            await _told_on_loop(handler, handler.on_interrupt, event)

    async def on_resume(self, event: GraphResumeEvent) -> None:  # type: ignore[override]
        """The graph goes on."""
        for handler in self.handlers:
            await _told_on_loop(handler, handler.on_resume, event)


def _told(handler: GraphCallbackHandler, method: Callable[[Any], Any], event: GraphLifecycleEvent) -> None:
    try:
        answer = method(event)
        if inspect.iscoroutine(answer):
            asyncio.run(answer)
    except Exception as error:
        _failed(handler, method, error)


async def _told_on_loop(
    handler: GraphCallbackHandler, method: Callable[[Any], Any], event: GraphLifecycleEvent
) -> None:
    try:
        answer = method(event)
        if inspect.isawaitable(answer):
            await answer
    except Exception as error:
        _failed(handler, method, error)


def _failed(handler: GraphCallbackHandler, method: Callable[[Any], Any], error: Exception) -> None:
    logger.warning("Error in %s.%s callback: %r", type(handler).__name__, method.__name__, error)
    if handler.raise_error:
        raise error


def get_sync_graph_callback_manager_for_config(
    config: Mapping[str, Any], *, run_id: UUID | None = None
) -> _Manager:
    """What tells the graph handlers among a configuration's callbacks."""
    return _Manager(_handlers(config.get("callbacks")), run_id)


def get_async_graph_callback_manager_for_config(
    config: Mapping[str, Any], *, run_id: UUID | None = None
) -> _AsyncManager:
    """`get_sync_graph_callback_manager_for_config` for asyncio."""
    return _AsyncManager(_handlers(config.get("callbacks")), run_id)


def _handlers(callbacks: Any) -> list[GraphCallbackHandler]:
    given = getattr(callbacks, "handlers", callbacks) or ()
    return [handler for handler in given if isinstance(handler, GraphCallbackHandler)]


# -- a run ----------------------------------------------------------------------------------------


@asynccontextmanager
async def life_of(run: Run) -> AsyncIterator[Callable[[Ending], Coroutine[Any, Any, None]]]:
    """Tell the handlers of a root run when it goes on; what comes back tells them how it ended."""
    handlers = _handlers(run.config.rest.get("callbacks"))
    on_loop = run.hosts.on_loop
    if handlers:
        listener = _Resumes(handlers, run.post, on_loop)
        run.post = listener
    root = run_id_here()

    async def ended(ending: Ending) -> None:
        if not (handlers and ending.suspended):
            return
        await listener.settled()  # that it went on is told before that it stops
        at = run.breakpoint
        status: GraphLifecycleStatus = "pending" if at is None or ending.interrupts else at
        event = GraphInterruptEvent(root, status, run.checkpoint.id, (), ending.interrupts)
        if on_loop:
            await _AsyncManager(handlers, root).on_interrupt(event)
        else:
            _Manager(handlers, root).on_interrupt(event)

    yield ended
    if handlers:
        await listener.settled()


class _Resumes:
    """Hears a run's events for its handlers, and hands them on."""

    def __init__(
        self, handlers: Sequence[GraphCallbackHandler], post: Callable[[Event], None] | None, on_loop: bool
    ) -> None:
        self._handlers = handlers
        self._post = post
        self._on_loop = on_loop
        self._telling: list[asyncio.Task[None]] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunResumed):
            self._resumed(event)
        if self._post is not None:
            self._post(event)

    def _resumed(self, event: RunResumed) -> None:
        told = GraphResumeEvent(run_id_here(), "pending", event.checkpoint, path_of(event.namespace))
        if self._on_loop:
            telling = _AsyncManager(self._handlers).on_resume(told)
            self._telling.append(asyncio.get_running_loop().create_task(telling))
        else:
            _Manager(self._handlers).on_resume(told)

    async def settled(self) -> None:
        """Wait for handlers that are async."""
        while self._telling:
            await self._telling.pop(0)
