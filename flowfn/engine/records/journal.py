"""The journal of a run: turns outcomes and checkpoints into rows, and decides when they are durable.

Rule: recorded before seen. `record` returns when the outcome is committed (`durability="sync"`), and
only then may a future resolve. With "async" it returns at once and commits in the background, in
order; with "exit" the last checkpoint and what is recorded under it are committed when the run ends,
fails or suspends.

Where the backend fails, or a record can't be read, the run ends, whatever user code makes of the error: what it
would go on to do has no record, or comes of another past than the recorded one. `ends` is told why.

That a call has started is noted too, and rides on the next commit: what runs alone when the process dies leaves no
trace, and simply runs again. Where that isn't to be (`in_doubt=`), `start` commits a mark before the call begins.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.config import Durability
from flowfn.described import body_of, metadata_of
from flowfn.engine.records.backlog import Backlog, Item
from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.notes import Note, Notes, grouped
from flowfn.engine.records.record import CallInfo, one_row, stored
from flowfn.engine.records.rows import decode_checkpoint, decode_plain, encode
from flowfn.engine.records.thinning import Thinning
from flowfn.errors import SerializationError
from flowfn.ports import Begin, CheckpointRow, Commit, Lease, Loaded, Saver, Status, WriteRow, Writes, row_of
from flowfn.python.tally import Tally
from flowfn.row_channels import CALL, STARTED, SUSPENDED
from flowfn.values import Checkpoint

if TYPE_CHECKING:
    from flowfn.futures import Future
    from flowfn.ports import Host
    from flowfn.pregel.channels import Channel


_NEXT = " "
"""Of what is held until the next commit; no namespace is called so."""


def _nobody(error: BaseException) -> None:
    """No run has taken the journal up."""


class Journal:
    """What one root run, and the runs nested in it, write to their thread under one lease."""

    def __init__(self, saver: Saver, lease: Lease, durability: Durability) -> None:
        self.saver = saver
        self.serde = saver.serde
        self._dumps_plain = getattr(saver.serde, "dumps_plain", saver.serde.dumps)
        self.lease = lease
        self.thread = lease.thread
        self.durability = durability
        self.kept: set[str] | None = getattr(saver, "kept", None)
        """The versions of functions whose source is known to be kept; None where the saver keeps none."""
        self._orders = Tally()
        self._places = Tally()
        self._notes = Notes()
        self._backlog = None if durability == "sync" else Backlog(durability, self._commit, self._commit_here)
        self.owed: dict[str, Writes] = {}
        """What coroutines were given before it was recorded, by its call; goes with each commit until one is made."""
        self._held: dict[str, list[Item]] = {}
        """By namespace what goes with the next commit there, with that of the call that it closes, or with the end of
        the run: nobody's work is lost without it."""
        self._opening: tuple[Begin | None, Status | None] | None = None
        """What the next commit says of the thread: which run it carries, or that the one that had stopped goes on."""
        self._goes_on = False
        self._thinning = Thinning(lease.thread)
        self._keeps_deltas = saver.keeps_deltas
        self.ends: Callable[[BaseException], None] = _nobody
        """Told of what ends the run, since the journal can't be relied on any more."""
        self.unhandled: set[tuple[str, str]] = set()
        """The failed calls, by namespace and id, on whose errors no code has acted."""
        self.released = False
        """Whether the lease went back with a commit."""
        self.known_questions: frozenset[str] | None = None
        """Where the lease was waited for: the questions that there were when the caller came."""

    # -- reading --------------------------------------------------------------------------------

    async def load(self, host: Host, namespace: str, checkpoint: str | None) -> Loaded | None:
        """The stored checkpoint and its writes: the one of this id, or the last."""
        await self._write_held(host, [namespace])
        return await self._read(host, partial(self.saver.load, self.thread, namespace, checkpoint))

    async def load_before(self, host: Host, namespace: str, bound: str) -> Loaded | None:
        """The last checkpoint that was committed before the one of id `bound`, of whichever namespace."""
        await self._write_held(host, [*self._held])

        def find() -> Loaded | None:
            found = self.saver.history(self.thread, None, before=bound)
            return next((loaded for loaded in found if loaded.checkpoint.namespace == namespace), None)

        return await self._read(host, find)

    async def load_of_call(
        self, host: Host, namespace: str, call: str, parents: Mapping[str, str]
    ) -> Loaded | None:
        """The last checkpoint that a call made there, under the checkpoints of the runs around it."""
        await self._write_held(host, [*self._held])

        def find() -> Loaded | None:
            for loaded in self.saver.history(self.thread, namespace):
                around = metadata_of(loaded.checkpoint, self.serde)["parents"]
                if around.get("") != parents[""]:
                    return None
                if around == parents and body_of(loaded.checkpoint, self.serde).call == call:
                    return loaded
            return None

        return await self._read(host, find)

    async def _read(self, host: Host, find: Callable[[], Loaded | None]) -> Loaded | None:
        """What is stored, and what is to be written later with it."""
        await self.catch_up(host)
        try:
            loaded: Loaded | None = find() if self.saver.inline else await host.on_saver(self.saver, find)
        except Exception as error:
            self.ends(error)
            raise
        return loaded

    def loads(self, data: bytes) -> Any:
        """A recorded value."""
        try:
            return self.serde.loads(data)
        except SerializationError as error:
            self.ends(error)
            raise

    def loads_plain(self, many: Sequence[bytes]) -> Sequence[Any]:
        """`loads` of each of what says what a call was."""
        try:
            return decode_plain(self.serde, many)
        except SerializationError as error:
            self.ends(error)
            raise

    def ledger(self, loaded: Loaded | None) -> Ledger:
        """The recorded calls among a checkpoint's writes."""
        if loaded is None:
            return Ledger()
        ledger = Ledger(loaded.writes, self)
        self._go_on_from(ledger)
        return ledger

    def add(self, ledger: Ledger, rows: Iterable[WriteRow]) -> None:
        """Add to recorded calls what has been committed since they were read."""
        ledger.add(rows, self, self._places.last + 1)
        self._go_on_from(ledger)

    def _go_on_from(self, ledger: Ledger) -> None:
        """Count on from what is recorded."""
        if ledger.last_index > self.order:
            self._orders = Tally(ledger.last_index + 1)
        if ledger.last_place > self._places.last:
            self._places = Tally(ledger.last_place + 1)

    def checkpoint(self, loaded: Loaded, channels: Mapping[str, Channel]) -> Checkpoint:
        """A stored checkpoint, decoded."""
        return decode_checkpoint(self, self._thinning.opened(loaded.checkpoint), channels)

    # -- writing --------------------------------------------------------------------------------

    def note(self, namespace: str, checkpoint: str, task: str, info: CallInfo) -> Note:
        """Note that a call was made; the row goes with the next commit."""
        note = self.unsent_note(namespace, checkpoint, task, info)
        self._notes[namespace, checkpoint, task] = note
        return note

    def unsent_note(self, namespace: str, checkpoint: str, task: str, info: CallInfo) -> Note:
        """The note of a call, which goes with the call's own first commit and no other."""
        return Note(namespace, checkpoint, row_of((task, 0, CALL, self._dumps_plain(stored(info)), "")))

    async def start(self, host: Host, note: Note, at: float, *, waited: bool) -> None:
        """Commit, under any durability, that a call begins; `waited`: it had stopped for a question."""
        task = note.row.task
        rows = [WriteRow(task, self.next_order(), STARTED, self.serde.dumps(at))]
        if waited:
            rows.append(one_row(task, SUSPENDED, self.serde.dumps(False)))
        await self.append(host, note, *rows)
        await self.catch_up(host)

    def record(
        self,
        host: Host,
        note: Note,
        channel: str,
        data: bytes,
        future: Future[Any] | None = None,
        more: Sequence[WriteRow] = (),
        settles: Future[Any] | None = None,
        told: Callable[[bytes], object] | None = None,
    ) -> Coroutine[Any, Any, None]:
        """Commit what came of a call, with what `more` is said of that, under the number that its note has then; and
        let somebody be `told` what that is before anybody sees it."""
        if told is not None:
            told(data)
        note.order = self._orders.count()
        row = row_of((note.row.task, note.order, channel, data, ""))
        return self.append(host, note, row, *more, durable=partial(self.recorded, future), settles=settles)

    def recorded(self, future: Future[Any] | None, notes: Iterable[Note]) -> None:
        """What came of a call is durable, with these notes; its future is told where it is in the order of commits."""
        _are_durable(notes)
        place = self._places.count()
        if future is not None:
            future.recorded(place)

    @property
    def commits_elsewhere(self) -> bool:
        """Whether the event loop's own thread can't commit in place: the saver needs the loop for that."""
        return self._backlog is None and getattr(self.saver, "needs_loop", False)

    def owe(self, note: Note, channel: str, value: Any, owner: str) -> None:
        """Have what came of a call recorded with the next commit, and before another call begins.

        Raises:
            SerializationError: the value can't be stored; nothing was written.
        """
        row = WriteRow(note.row.task, self.next_order(), channel, self.encode(value, owner))
        self._notes.pop((note.namespace, note.checkpoint, note.row.task), None)
        self.owed[row.task] = Writes(note.namespace, note.checkpoint, (note.row, row))

    def next_order(self) -> int:
        """The place of the next outcome among those of the run."""
        return self._orders.count()

    @property
    def order(self) -> int:
        """The last place that was given."""
        return self._orders.last

    def append(
        self,
        host: Host,
        note: Note,
        *rows: WriteRow,
        durable: Callable[[Iterable[Note]], None] | None = None,
        settles: Future[Any] | None = None,
    ) -> Coroutine[Any, Any, None]:
        """Commit rows of a call, with every note that waits for a ride; `durable` is told of all of these."""
        self._notes.pop((note.namespace, note.checkpoint, note.row.task), None)
        riding = self._notes.take() if self._notes else ()
        rows = rows if note.durable else (note.row, *rows)
        items = [Writes(note.namespace, note.checkpoint, rows)]
        if riding:
            items += grouped(riding)
        written = partial(durable or _are_durable, (note, *riding))
        return self.write(host, items, written=written, settles=settles)

    def suspend(self, note: Note, waiting: bool) -> None:
        """Note that a call waits for an answer (or no longer does), so that it isn't taken for one in doubt."""
        row = one_row(note.row.task, SUSPENDED, self.serde.dumps(waiting))
        self.ride(note.namespace, note.checkpoint, [row])

    def ride(self, namespace: str, checkpoint: str, rows: Sequence[WriteRow]) -> None:
        """Have rows go with the next commit; they replace those of the same task and channel there."""
        for row in rows:
            self._notes[namespace, checkpoint, row.task, row.channel] = Note(namespace, checkpoint, row)

    def riders(self) -> list[Writes]:
        """What waits for a ride, to go with the last commit of a run."""
        return grouped(self._notes.take()) if self._notes else []

    def hold(self, namespace: str, items: Sequence[Item], closed: Iterable[str] = ()) -> None:
        """Have a checkpoint, and what goes with it, committed with what follows it there, or in the call that the run
        is; and what is held of nested runs that are `closed` by it with that.
        """
        self._held[namespace] = [*self._released([*closed, namespace]), *items]

    def hold_until_next(self, items: Sequence[Item]) -> None:
        """Have what is half of something committed with the next commit, wherever that is."""
        self._held[_NEXT] = [*self._released([_NEXT]), *items]

    def begin(self, begin: Begin) -> None:
        """Name the run; goes with the next commit."""
        self._opening = begin, None

    def go_on(self) -> None:
        """Have the next commit say that the run that had stopped is under way: its process may die, and not say so."""
        self._opening = None, "running"
        self._goes_on = True

    @property
    def owes_status(self) -> bool:
        """Whether the thread was said to be under way, and so has to be told what became of it."""
        return self._goes_on and self._opening is None

    def write(
        self,
        host: Host,
        items: Sequence[Item],
        *,
        status: Status | None = None,
        release: bool = False,
        written: Callable[[], None] | None = None,
        closed: Iterable[str] = (),
        settles: Future[Any] | None = None,
    ) -> Coroutine[Any, Any, None]:
        """Commit rows, now or when the durability says; with what is held of nested runs that are `closed` by them.

        `settles`: see `Host.commit`.

        Raises:
            LeaseLost: another run has taken the thread over.
            SaverError: the backend could not.
        """
        if self._held:
            some = [_NEXT, *closed, *(item.namespace for item in items)]
            items = [*self._released([*self._held] if status is not None else some), *items]
        if self._backlog is not None:
            if status is None and not release:
                return self._backlog.add(host, items, written)
            return _and_then(self._backlog.write(host, items, status, release), written)
        if self.owed:
            owed = self.owed.copy()
            writing = self._commit(host, [*owed.values(), *items], status, release, written)
            return _and_then(writing, partial(self._are_paid, owed))
        return self._commit(host, items, status, release, written, settles)

    def _are_paid(self, owed: Iterable[str]) -> None:
        for task in owed:
            self.owed.pop(task, None)

    def _released(self, namespaces: Iterable[str]) -> list[Item]:
        """What was held for these, and is no more."""
        return [item for name in namespaces for item in self._held.pop(name, ())]

    async def _commit(
        self,
        host: Host,
        items: Iterable[Item],
        status: Status | None = None,
        release: bool = False,
        written: Callable[[], None] | None = None,
        settles: Future[Any] | None = None,
    ) -> None:
        try:
            await host.commit(self.saver, self._as_commit(items, status, release, written), settles)
        except BaseException as error:
            self._failed(error)
            raise
        self.released = self.released or release

    def _commit_here(self, items: Iterable[Item]) -> Exception | None:
        """Commit on this thread, which is no caller's; the error is for the run's next write."""
        try:
            error = self.saver.commit([self._as_commit(items)])[0]
        except Exception as raised:
            error = raised
        if error is not None:
            self._failed(error)
        return error

    def _as_commit(
        self,
        items: Iterable[Item],
        status: Status | None = None,
        release: bool = False,
        written: Callable[[], None] | None = None,
    ) -> Commit:
        begin = None
        if self._opening is not None:
            (begin, opened), self._opening = self._opening, None
            status = status or opened
        thinned = self._thinning.thinned if self._keeps_deltas else None
        kept = [thinned(item) if thinned and isinstance(item, CheckpointRow) else item for item in items]
        if release:
            self._thinning.remember()
        return Commit(self.thread, self.lease, kept, begin, status, release, written)

    def _failed(self, error: BaseException) -> None:
        self._thinning.forget()
        if isinstance(error, Exception):
            self.ends(error)

    async def write_the_rest(self, host: Host) -> None:
        """Write all that waits for another commit: there will be none."""
        await self._write_held(host, [*self._held])
        await self.catch_up(host)

    async def _write_held(self, host: Host, namespaces: Iterable[str]) -> None:
        if self._held and (items := self._released(namespaces)):
            await self.write(host, items)

    async def catch_up(self, host: Host) -> None:
        """Write all that was to be written later."""
        if self._backlog is not None:
            await self._backlog.write(host)

    def encode(self, value: Any, owner: str) -> bytes:
        """Bytes of a value; an error names whose value it is and where inside it the trouble lies."""
        return encode(self.serde, value, owner)


def _are_durable(notes: Iterable[Note]) -> None:
    for note in notes:
        note.durable = True


async def _and_then(writing: Coroutine[Any, Any, None], then: Callable[[], None] | None) -> None:
    await writing
    if then is not None:
        then()
