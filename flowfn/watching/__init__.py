"""Those who watch runs: a live tree of the calls, log lines, spans and metrics.

Rule: a watcher is a plain function of events (`flowfn/events.py`), called where they happen, on any thread. One that
raises is heard of in the log and told no more; the run goes on. Where nobody watches, no event is made.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from flowfn.logs import logger
from flowfn.python.lazy import Later

if TYPE_CHECKING:
    from flowfn.events import Event
    from flowfn.watching import telemetry
else:
    telemetry = Later("flowfn.watching.telemetry")

Watcher = Callable[["Event"], None]

_here: ContextVar[tuple[Watcher, ...]] = ContextVar("flowfn.watchers", default=())


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Tell `watcher` of every run that begins in the block."""
    token = _here.set((*_here.get(), watcher))
    try:
        yield
    finally:
        _here.reset(token)


def audience(stream: Any, progress: bool) -> Watcher | None:
    """Who hears the events of a run that begins now; None where nobody does. `stream` is a consumer of its own."""
    watchers = [*_here.get()]
    if progress:
        from flowfn.watching.progress import screen

        watchers += screen()
    if "opentelemetry" in sys.modules:
        watchers += telemetry.telemetry()
    if logger.isEnabledFor(logging.DEBUG):
        from flowfn.watching.lines import log_event

        watchers.append(log_event)
    if watchers:
        return _Audience(watchers, None if stream is None else stream.post)
    return None if stream is None else stream.post


class _Audience:
    """Several watchers as one."""

    def __init__(self, watchers: list[Watcher], post: Watcher | None) -> None:
        self._watchers = watchers
        self._post = post

    def __call__(self, event: Event) -> None:
        for watcher in tuple(self._watchers):
            try:
                watcher(event)
            except Exception:
                with suppress(ValueError):  # it failed on another thread at the same time
                    self._watchers.remove(watcher)
                    logger.log(logging.WARNING, "%r failed, and is told no more", watcher, exc_info=True)
        if self._post is not None:
            self._post(event)
