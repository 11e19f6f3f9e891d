"""Who reads the stream of a workflow inside a run: chunks are data there, as a result is, and come again as it does.

Rule: what a call told a reader is recorded with its outcome, and told again where that is handed back. Beside it go the
chunks of its own start and end, which say nothing that isn't recorded. What an earlier attempt told in this very
process isn't repeated. Calls that ran side by side are told in the order in which they are called again, unless the
call that they are part of has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from flowfn.engine.records.record import Told, one_row
from flowfn.errors import SerializationError, Suspended
from flowfn.events import Custom, Event, NodeReused, TaskFinished, TaskReused, TaskStarted
from flowfn.ports import WriteRow
from flowfn.row_channels import TOLD

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.records.journal import Journal
    from flowfn.engine.records.record import Record
    from flowfn.engine.runs.run import Run


class Shapes(Protocol):
    """Makes chunks of events."""

    place: str

    @property
    def shape(self) -> str:
        """Says how they are made: of equal ones, equal events are equal chunks."""

    def chunks(self, event: Event) -> Iterable[Any]:
        """Those of one event."""

    def keeps(self, event: Event) -> bool:
        """Whether nobody else is to be told of it."""


class Shown(NamedTuple):
    """Chunks that were made already; of `event`, unless that was long ago."""

    chunks: Sequence[Any]
    event: Event | None = None


class Reader:
    """One caller that reads the stream of a run inside its own."""

    def __init__(self, shaper: Shapes, post: Callable[[Any], None], leave: Callable[[], None]) -> None:
        self.shape = shaper.shape
        self.post = post
        self.leave = leave
        """Has the run stop, between two supersteps, as nobody reads on."""
        self._shaper = shaper
        self._run: Run | None = None
        self._runs: dict[str, Run] = {}
        """Those that it hears of, by namespace."""
        self._told: dict[tuple[str, str], list[Any]] = {}
        """What it was told by calls that have not ended, and by those under them."""
        self._ended: set[tuple[str, str]] = set()

    def begin(self, run: Run) -> None:
        """There is a run now, which it hears of beside whoever watches the run around."""
        self._run = run
        self._shaper.place = run.namespace
        run.readers = (*run.readers, self)
        run.post = partial(self._hear, run.post)

    def hear_of(self, run: Run) -> None:
        """A run inside the one that it reads begins, or that one itself."""
        self._runs[run.namespace] = run

    def _hear(self, around: Callable[[Event], None] | None, event: Event) -> None:
        if around is not None and not self._shaper.keeps(event):
            around(event)
        if isinstance(event, TaskReused):
            return
        if isinstance(event, TaskFinished) and not isinstance(event.error, Suspended):
            self._ended.add(_key(event.call))
        self._tell(Shown([*self._shaper.chunks(event)], event), self._source(event))

    def _tell(self, shown: Shown, source: Call | None) -> None:
        if not shown.chunks and shown.event is None:
            return
        if shown.chunks:
            for call in self._up_from(source):
                self._told.setdefault(_key(call), []).extend(shown.chunks)
        self.post(shown)

    def _source(self, event: Event) -> Call | None:
        """The call in which something happened, and with whose outcome it is recorded."""
        if isinstance(event, Custom):
            return event.call
        if isinstance(event, TaskStarted | TaskFinished):
            return _around(event.call)
        if isinstance(event, NodeReused):
            return event.caller
        run = self._runs.get(event.namespace)
        return None if run is None or run.frame is None else run.frame.call

    def _up_from(self, call: Call | None) -> Iterator[Call]:
        """The calls of tasks that a call is under, itself among them, up to the one whose stream is read."""
        if self._run is None or self._run.journal is None:
            return
        while call is not None and self in call.run.readers:
            if call.parent is not None:
                yield call
            call = _around(call)
        if call is not None and call.definition.reader is self:
            yield call

    def told_by(self, call: Call) -> list[Any]:
        """What a call that ends told it, itself or by calls of its own."""
        return self._told.pop(_key(call), [])

    def tell_again(self, call: Call, told: Told, at: int, value: Any, error: Exception | None) -> None:
        """Tell what a call told that isn't made again, unless an earlier attempt at its caller did."""
        key = _key(call)
        if key in self._ended:
            return
        self._ended.add(key)
        run, chunks = call.run, self._shaper.chunks
        call.from_cache = told.cached
        started = TaskStarted(run.namespace, run.step, call)
        ended = TaskFinished(run.namespace, run.step, call, value, error)
        again = [*chunks(started), *(told.to(at, self.shape) or ()), *chunks(ended)]
        self._tell(Shown(again), _around(call))


def _key(call: Call) -> tuple[str, str]:
    """Which call it is, in whichever attempt."""
    return call.run.namespace, call.task


def _around(call: Call) -> Call | None:
    """The call that made another, or in which its run is nested."""
    frame = call.parent or call.run.frame
    return None if frame is None else frame.call


def told_rows(journal: Journal, call: Call, *, failed: bool) -> list[WriteRow]:
    """What a call that ends told those who read streams around it, to be committed with its outcome.

    Raises:
        SerializationError: a chunk can't be stored. Of a call that `failed` none is kept then.
    """
    readers, own = call.run.readers, call.definition.reader
    told = [(at, reader.shape, reader.told_by(call)) for at, reader in enumerate(readers)]
    told = [each for each in told if each[-1]]
    if own is not None:
        told.append((len(readers), own.shape, own.told_by(call)))
    if not told and not call.from_cache:
        return []
    try:
        return [one_row(call.task, TOLD, journal.serde.dumps((call.from_cache, told)))]
    except SerializationError:
        if failed:
            return []
        for chunk in chain.from_iterable(chunks for *_, chunks in told):
            journal.encode(chunk, f"a chunk that {call.definition.name!r} told those who read its stream")
        raise


def told_again(call: Call, record: Record, value: Any, error: Exception | None) -> bool:
    """Tell those who read streams around a recorded call what it told then; whether whoever reads its own has that.

    One who reads it in other modes than then, or didn't read it, hears of its run anew, which goes on from its records.
    """
    readers, own, told = call.run.readers, call.definition.reader, record.told
    if own is not None:
        chunks = told.to(len(readers), own.shape)
        if chunks is None:
            return False
        own.post(Shown(chunks))
    for at, reader in enumerate(readers):
        reader.tell_again(call, told, at, value, error)
    return True


def hear_of(run: Run) -> None:
    """Have those who read the stream of a run, or of one around it, know it by its namespace."""
    for reader in run.readers:
        reader.hear_of(run)
