"""`StreamTransformer`: what a program makes of a run's events, shown beside the built-in projections.

Rule: a transformer belongs to one graph of the run, its scope; each nested graph that somebody looks at has its own.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ClassVar, Literal

from graph_compat.stream.protocol import ProtocolEvent

__all__ = ["ProtocolEvent", "StreamTransformer", "TransformerFactory", "transformer_requires_async"]

_logger = logging.getLogger(__name__)
_ASYNC = ("aprocess", "afinalize", "afail")


class StreamTransformer(ABC):
    """Sees every event of a run, and shows something of its own.

    Override `init`, and `process` or `aprocess`. `required_stream_modes` are those whose events it wants;
    `before_builtins` has it see them before the built-in projections do, so that it may change them.

    Args:
        scope: the namespace of the graph that it is made for; () is the outermost.
    """

    requires_async: ClassVar[bool] = False
    """Whether it works for asyncio callers only; it does as well if it overrides an async method."""

    supports_sync: ClassVar[bool] = False
    """Whether it works for blocking callers all the same."""

    required_stream_modes: ClassVar[tuple[str, ...]] = ()
    before_builtins: ClassVar[bool] = False

    _native: ClassVar[bool] = False
    """Whether its projections are attributes of the run; those of a program are in `run.extensions`."""

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        self.scope = scope

    @abstractmethod
    def init(self) -> dict[str, Any]:
        """Its projections by name: a `StreamChannel` each, or any value."""

    def _on_register(self, mux: Any) -> None:  # noqa: B027 (may be overridden)
        """Told what it is a part of."""

    def process(self, event: ProtocolEvent) -> bool:
        """See an event; a false answer keeps it out of the raw events of the run.

        Raises:
            NotImplementedError: the class overrides neither this nor `aprocess`.
        """
        raise NotImplementedError(f"{type(self).__name__} must override process() or aprocess()")

    async def aprocess(self, event: ProtocolEvent) -> bool:
        """`process` for asyncio."""
        return self.process(event)

    def finalize(self) -> None:  # noqa: B027 (may be overridden)
        """The run has ended; its channels are closed after this."""

    async def afinalize(self) -> None:
        """`finalize` for asyncio."""
        self.finalize()

    def fail(self, err: BaseException) -> None:  # noqa: B027 (may be overridden)
        """The run has failed; its channels fail after this."""

    async def afail(self, err: BaseException) -> None:
        """`fail` for asyncio."""
        self.fail(err)

    def schedule(
        self, coro: Coroutine[Any, Any, Any], *, on_error: Literal["log", "raise"] = "log"
    ) -> asyncio.Task[Any]:
        """Run a coroutine beside the run, which waits for it before its channels are closed.

        An error is logged; with `on_error="raise"` the run fails with it.

        Raises:
            RuntimeError: a blocking caller drives the run.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            coro.close()
            raise RuntimeError(
                f"{type(self).__name__}.schedule() requires a running event loop; this transformer must run under"
                " astream_events(). Set requires_async=True on the class, so that this fails before the run begins"
            ) from None
        task = asyncio.ensure_future(coro if on_error == "raise" else _logged(coro))
        self._scheduled_task_set().add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        """Keep of what has ended only what the run has to fail with."""
        if task.cancelled() or task.exception() is None:
            self._scheduled_task_set().discard(task)

    def _scheduled_task_set(self) -> set[asyncio.Task[Any]]:
        """What it has scheduled; made when first asked for, as a subclass need not call `__init__`."""
        scheduled: set[asyncio.Task[Any]] = vars(self).setdefault("_scheduled", set())
        return scheduled


class TransformerOfStreams(StreamTransformer):
    """One whose projection has streams in it, as a message has its text: to read one drives the run on."""

    _native: ClassVar[bool] = True

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._is_async = False
        self._pump: Callable[[], bool] | None = None
        self._apump: Callable[[], Awaitable[bool]] | None = None

    def _on_register(self, mux: Any) -> None:
        self._is_async = mux.is_async

    def _bind_pump(self, fn: Callable[[], bool]) -> None:
        self._pump = fn

    def _bind_apump(self, fn: Callable[[], Awaitable[bool]]) -> None:
        self._apump = fn


TransformerFactory = Callable[[tuple[str, ...]], StreamTransformer]
"""Makes a transformer for a scope: the class, or a function."""


def transformer_requires_async(transformer: StreamTransformer) -> bool:
    """Whether no blocking caller can use it."""
    if transformer.requires_async:
        return True
    kind = type(transformer)
    overrides = any(getattr(kind, name) is not getattr(StreamTransformer, name) for name in _ASYNC)
    return overrides and not transformer.supports_sync


async def _logged(coro: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await coro
    except Exception:
        _logger.exception("what a StreamTransformer scheduled has failed")
