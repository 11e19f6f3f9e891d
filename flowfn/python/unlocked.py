"""A `concurrent.futures.Future` that has no lock while nobody waits for it.

Rule: whoever comes first decides. One who waits, adds a callback or cancels puts the standard library's condition in
the slot, and all goes on under it. One who settles puts a plain lock there, which it holds until the result is
written: whoever comes later waits for that, and finds the future done.

Most futures are settled before anybody waits. Making and taking a condition is half the price of such a one, and a
seventh of a task that keeps nothing.
"""

from __future__ import annotations

import concurrent.futures
import logging
from collections.abc import Callable
from contextlib import nullcontext
from threading import Condition, Lock
from typing import Any, TypeVar

_logger = logging.getLogger("concurrent.futures")
"""Where the base class tells of callbacks that fail."""

R = TypeVar("R")
C = TypeVar("C")

PENDING, FINISHED = "PENDING", "FINISHED"
_CANCELLED = ("CANCELLED", "CANCELLED_AND_NOTIFIED")
_DONE = (FINISHED, *_CANCELLED)
_SETTLED = nullcontext()
"""In the slot of one whose result is written: nobody has to wait for that."""


class _ListOnceAsked:
    """An attribute that is a list from when it is first read: most futures have nobody to tell."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, future: Any, owner: type) -> Any:
        return self if future is None else future.__dict__.setdefault(self._name, [])


class UnlockedFuture(concurrent.futures.Future[R]):
    """A future of the standard library in all but its cost."""

    _waiters: Any = _ListOnceAsked()
    _done_callbacks: Any = _ListOnceAsked()

    # What the base class gives each; a test compares the two.
    _state = PENDING
    _result: Any = None
    _exception: Any = None

    def __init__(self) -> None:
        """Nothing yet: what the base class makes here is made when it is asked for."""

    @property
    def _condition(self) -> Condition:  # type: ignore[override]
        slots = self.__dict__
        first = slots.get("slot") or slots.setdefault("slot", Condition())
        if isinstance(first, Condition):
            return first
        with first:  # the result is being written
            return slots.setdefault("late", Condition())  # type: ignore[no-any-return]

    call_back: Callable[[Any], None] | None = None
    """Sees to it that `call_all` is called, where whoever settles it mustn't wait for that."""

    ends_callback: type[BaseException] | tuple[()] = ()
    """What a callback may raise without a word."""

    def _invoke_callbacks(self) -> None:
        if self.call_back is None:
            self.call_all()
        elif self._done_callbacks:
            self.call_back(self)

    def call_all(self) -> None:
        """Call the callbacks, and forget them: they may lead back to the future.

        Each is called, whatever one before it raised: an error is logged, as by the base class, what `ends_callback`
        is over with it, and the first of anything else is raised once all have been told.
        """
        callbacks: list[Any] = self.__dict__.pop("_done_callbacks", [])
        beyond: BaseException | None = None
        for callback in callbacks:
            try:
                callback(self)
            except self.ends_callback:
                pass
            except Exception:
                _logger.exception("exception calling callback for %r", self)
            except BaseException as error:
                beyond = error if beyond is None else beyond
        if beyond is not None:
            try:
                raise beyond
            finally:
                del beyond  # else the traceback would hold what holds it

    def told_by(self, kind: type[C]) -> list[C]:
        """Its callbacks, where all are of this kind, and it is done; it forgets them then, and they aren't called."""
        callbacks: list[Any] = self.__dict__.get("_done_callbacks", [])
        if not all(type(each) is kind for each in callbacks):
            return []
        self.__dict__.pop("_done_callbacks", None)
        return callbacks

    def set_result(self, result: R) -> None:
        """Settle it with a value.

        Raises:
            concurrent.futures.InvalidStateError: it is done already.
        """
        mine = Lock()
        with mine:
            first = self.__dict__.setdefault("slot", mine) is mine
            if first:
                self._result = result
                self._state = FINISHED
                self.slot = _SETTLED  # who has met the lock waits for it, and nobody else need
        if not first:
            super().set_result(result)
        elif "_done_callbacks" in self.__dict__:
            self._invoke_callbacks()

    def start_done(self, result: R) -> None:
        """`set_result`, for whoever made it, while nobody else knows it: that takes no lock."""
        self.slot = _SETTLED
        self._result = result
        self._state = FINISHED

    def when_done(self, tell: Callable[[Any], object]) -> None:
        """`add_done_callback`, for whoever made it, while nobody else knows it: that takes no condition."""
        if self.done():
            tell(self)
        else:
            self._done_callbacks.append(tell)

    @property
    def watched(self) -> bool:
        """Whether somebody waits for it, or wants to be told; to be asked of one that isn't done."""
        return "slot" in self.__dict__

    def done(self) -> bool:
        return self._state in _DONE

    def cancelled(self) -> bool:
        return self._state in _CANCELLED

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if self._state == FINISHED:
            return self._exception  # type: ignore[no-any-return]
        return super().exception(timeout)
