"""A call that is held: it has a future, and what it is, is found out once somebody waits for that.

Rule: so is what only its author could place (`matching.Ambiguous`), or what its position or its day alone would, and
with it what is given its future. By the time of the wait the other calls of its scope have claimed their records, so
that most doubts have gone; what is left is refused before anything new runs. So is what comes upon the record of
another branch (`belonging`), but no longer than that may come for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from gc import get_referents, is_tracked
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from flowfn.engine.calls.attempt import attempt
from flowfn.engine.calls.identifying import identify_anew
from flowfn.engine.calls.placing import judged, place, waits_for
from flowfn.engine.calls.reusing import reuse
from flowfn.engine.replay import refusing
from flowfn.engine.replay.matching import Ambiguous, New, Same
from flowfn.futures import Before, Future

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame


def hold(call: Call, host: Any, before: Before) -> Future[Any]:
    """The future of a call that is placed later, after what comes before."""
    frame = call.parent
    assert frame is not None
    future: Future[Any] = host.future(None)
    future.call = call.task
    future.hold(partial(_place_in_turn, call, frame), lambda: waits_for(judged(call, frame), call, frame))
    future.when_done(partial(_let_go, call, frame))
    call.future = future
    frame.calls.unplaced.append(call)
    frame.calls.open[future] = call
    if frame.branches is not None and not before.in_doubt:
        frame.branches.hold(call)
        host.place_when_decided(frame, future)
    return future


def _let_go(call: Call, frame: Frame, future: Future[Any]) -> None:
    """A call has ended that was held, be it that whoever waited for it has given it up."""
    frame.calls.open.pop(future, None)
    if frame.branches is not None:
        frame.branches.let_go(call)
    with suppress(ValueError):
        frame.calls.unplaced.remove(call)


def _place_in_turn(call: Call, frame: Frame) -> None:
    """Place a call that was held, now that somebody waits: by itself, or, where it is in doubt, with all others.

    Raises:
        NonDeterminismError: one of them can't be placed. Nothing new has run.
    """
    before = waits_for(judged(call, frame), call, frame)
    if before is not None and before.in_doubt:
        _place_held(frame)
        return
    with suppress(ValueError):  # another thread places it
        frame.calls.unplaced.remove(call)
        assert call.future is not None
        if not call.future.done():
            _go_on_with(call, frame)


def _place_held(frame: Frame) -> None:
    """Place all calls that were held.

    Raises:
        NonDeterminismError: one of them can't be placed. Nothing new has run.
    """
    held = [
        call for call in _taken(frame.calls.unplaced) if call.future is not None and not call.future.done()
    ]
    for call in held:
        if call.behind is None:
            _refuse_ambiguous(call, frame, held)
    for call in held:
        if call.behind is not None:
            identify_anew(call, frame)
            _refuse_ambiguous(call, frame, held)
        _go_on_with(call, frame)


def _refuse_ambiguous(call: Call, frame: Frame, held: Sequence[Call]) -> None:
    verdict = judged(call, frame)
    if not isinstance(verdict, Ambiguous):
        return
    frame.run.root.fatal = refusal = refusing.ambiguous(call, verdict)
    for each in held:  # whoever waits for one of them would else wait for ever
        assert each.future is not None
        if not each.future.done():
            each.future.become(Future.failed(refusal))
    raise refusal


def _go_on_with(call: Call, frame: Frame) -> None:
    """Give a call that was held its recorded outcome, or have it run."""
    assert call.future is not None
    if frame.branches is not None:
        frame.branches.let_go(call)
    verdict = place(call, frame, waited=True)
    reused = reuse(call, *verdict) if isinstance(verdict, Same) else None
    call.future.call = call.task
    if reused is not None:
        call.future.become(reused)
    else:
        if isinstance(verdict, New):
            frame.run.newcomers.append(call)
        call.future.release(partial(attempt, call))
        assert call.future.runner is not None
        call.future.runner.start(call.future)


def _taken(calls: list[Call]) -> Iterator[Call]:
    """All calls of a list, each taken by one thread; another one may be adding to it."""
    with suppress(IndexError):
        while True:
            yield calls.pop(0)


def to_be_placed_first(frame: Frame, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Call]:
    """The held calls whose futures arguments hold, without those that can be placed already."""
    return [
        held for held in _given_on(frame.calls.unplaced, args, kwargs) if not _is_placed_early(held, frame)
    ]


def _is_placed_early(call: Call, frame: Frame) -> bool:
    """Place a held call whose future is given on: what is given it counts by the call that it is. One that only its
    author could place may be in no doubt later, and until then what is given it is held as well."""
    verdict = judged(call, frame)
    before = waits_for(verdict, call, frame)
    is_anothers = before is not None and before.branch is not None
    if call.behind is not None or isinstance(verdict, Ambiguous) or is_anothers:
        return False
    try:
        frame.calls.unplaced.remove(call)
    except ValueError:  # another thread places it
        return True
    _go_on_with(call, frame)
    return True


def _given_on(calls: Sequence[Call], args: Sequence[Any], kwargs: dict[str, Any]) -> list[Call]:
    """Those of these calls whose futures arguments hold, in a list or an object."""
    held = {id(call.future): call for call in calls}
    found: list[Call] = []
    waiting, seen = deque(filter(is_tracked, (*args, *kwargs.values()))), dict[int, Any]()
    while waiting and len(seen) < _MOST_HELD:
        each = waiting.popleft()
        if id(each) in seen or isinstance(each, type | ModuleType | FunctionType):
            continue
        seen[id(each)] = each
        if id(each) in held:
            found.append(held[id(each)])
        else:
            waiting += filter(is_tracked, get_referents(each))
    return found


_MOST_HELD = 10_000
"""Values of a call's arguments that are looked through for futures, the outer ones first: what holds more holds
data."""
