"""Streams whose reader calls the very thread that they are on: the call would wait for itself.

Rule: the reader is the code that opened a stream, on the thread or in the asyncio task that asked for what came last.
Who else got the stream, such as a web server, may read on while that code waits.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from threading import get_ident
from typing import TYPE_CHECKING
from weakref import ref

from flowfn.python.event_loop import running_loop

if TYPE_CHECKING:
    from flowfn.invocation.order import Order, Started
    from flowfn.ports import Saver

_opened: ContextVar[tuple[ref[Started], ...]] = ContextVar("opened", default=())
"""The streams that the code which is current has opened."""


def opened(stream: Started) -> None:
    """Note that the code which is current reads a stream."""
    known = (each for each in _opened.get() if each() is not None)
    _opened.set((*known, ref(stream)))


def waits_for_itself(order: Order, saver: Saver, thread: str) -> bool:
    """Whether a call waits for a run that only goes on when the call's own caller reads its stream."""
    streams = (stream for each in _opened.get() if (stream := each()) is not None)
    return any(
        stream is not order.started
        and stream.is_on(saver, thread)
        and stream.watch.waits_for_reader
        and stream.watch.reader in _callers(order)
        for stream in streams
    )


def _callers(order: Order) -> tuple[object, ...]:
    """The thread and the asyncio task that a call was made on; of a streamed call, whichever reads it."""
    if order.started is not None:
        return (order.started.watch.reader,)
    loop = running_loop()
    if loop is None:
        return (get_ident(),)
    return (get_ident(), sys.modules["asyncio"].current_task(loop))
