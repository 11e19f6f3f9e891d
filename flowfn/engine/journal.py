"""The journal of a run: turns outcomes and checkpoints into rows, and decides when they are durable.

Rule: recorded before seen. `record` returns when the outcome is committed (`durability="sync"`), and
only then may a future resolve. With "async" it returns at once and commits in the background, in
order; with "exit" the last checkpoint and what is recorded under it are committed when the run ends,
fails or suspends.

Where the backend fails, or a record can't be read, the run ends, whatever user code makes of the error: what it
would go on to do has no record, or comes of another past than the recorded one. `ends` is told why.

That a call has started is noted too. The note rides on the next commit, whosever that is, and costs
none of its own: what runs alone when the process dies leaves no trace, and simply runs again. Where
that isn't to be (`in_doubt=`), `start` commits a mark before the call begins.
"""

from __future__ import annotations

import reprlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from operator import length_hint
from typing import TYPE_CHECKING, Any

from flowfn.config import Durability
from flowfn.described import Body, body_of, metadata_of, to_body, to_metadata
from flowfn.engine.ledger import CALL, REPORT, RUN_TASK, STARTED, SUSPENDED, CallInfo, Ledger
from flowfn.engine.slots import Slots
from flowfn.engine.thinning import Thinning
from flowfn.errors import InvalidInput, NonDeterminismError, SerializationError
from flowfn.futures import Future
from flowfn.ports import (
    Begin,
    CheckpointRow,
    Commit,
    Deserializer,
    Lease,
    Loaded,
    Saver,
    Serializer,
    Status,
    Versioned,
    WriteRow,
    Writes,
)
from flowfn.pregel.channels import Channel
from flowfn.pregel.plan import due_in_sight
from flowfn.pregel.program import Program
from flowfn.report import Report
from flowfn.values import MISSING, Checkpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowfn.ports import Host


_NUMBERS = 1 << 62
"""More than a run has outcomes."""


Encoded = dict[int, tuple[Any, bytes]]
"""Values and their bytes, by the ids of the values, which the dict keeps alive."""


def _nobody(error: Exception) -> None:
    """No run has taken the journal up."""


class Note:
    """That a call was made; `durable` once its row is known to be committed."""

    __slots__ = ("checkpoint", "durable", "namespace", "row")

    def __init__(self, namespace: str, checkpoint: str, row: WriteRow) -> None:
        self.namespace = namespace
        self.checkpoint = checkpoint
        self.row = row
        self.durable = False


class Journal:
    """What one root run, and the runs nested in it, write to their thread under one lease."""

    def __init__(self, saver: Saver, lease: Lease, durability: Durability) -> None:
        self.saver = saver
        self.serde = saver.serde
        self.lease = lease
        self.thread = lease.thread
        self.durability = durability
        self.kept: set[str] | None = getattr(saver, "kept", None)
        """The versions of functions whose source is known to be kept; None where the saver keeps none."""
        self._orders = iter(range(1, _NUMBERS))
        self._place = 0
        self._places = count(1)
        self._notes: dict[str, Note] = {}
        self._backlog: deque[CheckpointRow | Writes] = deque()
        self._turn = Slots(1)
        """Whose turn it is to write the backlog: one at a time, so that rows are written in their order."""
        self._flush_error: Exception | None = None
        self._begin: Begin | None = None
        self._thinning = Thinning(lease.thread)
        self.ends: Callable[[Exception], None] = _nobody
        """Told of what ends the run, since the journal can't be relied on any more."""
        self.released = False
        """Whether the lease went back with a commit."""

    # -- reading --------------------------------------------------------------------------------

    async def load(self, host: Host, namespace: str, checkpoint: str | None) -> Loaded | None:
        """The stored checkpoint and its writes: the one of this id, or the last."""
        return await self._read(host, partial(self.saver.load, self.thread, namespace, checkpoint))

    async def load_before(self, host: Host, namespace: str, bound: str) -> Loaded | None:
        """The last checkpoint that was committed before the one of id `bound`, of whichever namespace."""

        def find() -> Loaded | None:
            found = self.saver.history(self.thread, None, before=bound)
            return next((loaded for loaded in found if loaded.checkpoint.namespace == namespace), None)

        return await self._read(host, find)

    async def _read(self, host: Host, find: Callable[[], Loaded | None]) -> Loaded | None:
        """What is stored, and what is to be written later with it."""
        await self._write_backlog(host)
        try:
            loaded: Loaded | None = find() if self.saver.inline else await host.blocking(find)
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

    def ledger(self, loaded: Loaded | None) -> Ledger:
        """The recorded calls among a checkpoint's writes."""
        if loaded is None:
            return Ledger()
        ledger = Ledger(loaded.writes, self)
        if ledger.last_index > self.order:
            self._orders = iter(range(ledger.last_index + 1, _NUMBERS))
        if ledger.last_place > self._place:
            self._place = ledger.last_place
            self._places = count(self._place + 1)
        return ledger

    def checkpoint(self, loaded: Loaded, channels: Mapping[str, Channel]) -> Checkpoint:
        """A stored checkpoint, decoded."""
        return decode_checkpoint(self, self._thinning.opened(loaded.checkpoint), channels)

    # -- writing --------------------------------------------------------------------------------

    def note(self, namespace: str, checkpoint: str, task: str, info: CallInfo) -> Note:
        """Note that a call was made; the row goes with the next commit."""
        note = self.unsent_note(namespace, checkpoint, task, info)
        self._notes[task] = note
        return note

    def unsent_note(self, namespace: str, checkpoint: str, task: str, info: CallInfo) -> Note:
        """The note of a call, which goes with the call's own first commit and no other."""
        return Note(namespace, checkpoint, WriteRow(task, 0, CALL, self.serde.dumps(list(info))))

    async def start(self, host: Host, note: Note, at: float, *, waited: bool) -> None:
        """Commit, under any durability, that a call begins; `waited`: it had stopped for a question."""
        task = note.row.task
        rows = [WriteRow(task, self.next_order(), STARTED, self.serde.dumps(at))]
        if waited:
            rows.append(WriteRow(task, -2, SUSPENDED, self.serde.dumps(False)))
        await self.append(host, note, *rows)
        await self._write_backlog(host)

    async def record(
        self,
        host: Host,
        note: Note,
        channel: str,
        value: Any,
        owner: str,
        future: Future[Any] | None = None,
        more: Sequence[WriteRow] = (),
    ) -> int:
        """Commit what came of a call, with what `more` is said of that, and give the number that it was recorded under.

        Raises:
            SerializationError: the value can't be stored; nothing was written.
        """
        data = self.encode(value, owner)
        order = self.next_order()

        def written() -> None:
            place = self.next_place()
            if future is not None:
                future.recorded(place)

        await self.append(host, note, WriteRow(note.row.task, order, channel, data), *more, written=written)
        return order

    def next_place(self) -> int:
        """The place of an outcome that was just committed, in the order of commits."""
        self._place = place = next(self._places)
        return place

    def next_order(self) -> int:
        """The place of the next outcome among those of the run."""
        return next(self._orders)

    @property
    def order(self) -> int:
        """The last place that was given. It is read off what gives them, so that no thread can set it back."""
        return _NUMBERS - 1 - length_hint(self._orders)

    def report_rows(self, report: Report, checkpoint: str) -> list[Writes]:
        """The divergence report of a resumed run, as a row that replaces the last one."""
        if not report.resumed:
            return []
        return [Writes("", checkpoint, [WriteRow(RUN_TASK, -5, REPORT, self.serde.dumps(report.to_data()))])]

    async def append(
        self, host: Host, note: Note, *rows: WriteRow, written: Callable[[], None] | None = None
    ) -> None:
        """Commit rows of a call, with every note that waits for a ride."""
        self._notes.pop(note.row.task, None)
        riding = self._take_notes()
        rows = rows if note.durable else (note.row, *rows)
        items = [Writes(note.namespace, note.checkpoint, rows), *_grouped(riding)]
        await self.write(host, items, written=written)
        note.durable = True
        for other in riding:
            other.durable = True

    def suspend(self, note: Note, waiting: bool) -> None:
        """Note that a call waits for an answer (or no longer does), so that it isn't taken for one in doubt."""
        row = WriteRow(note.row.task, -2, SUSPENDED, self.serde.dumps(waiting))
        self._notes[f"{note.row.task} waits"] = Note(note.namespace, note.checkpoint, row)

    def ride(self, namespace: str, checkpoint: str, rows: Sequence[WriteRow]) -> None:
        """Have rows go with the next commit; they replace those of the same task, index and channel."""
        for row in rows:
            self._notes[f"{row.task} {row.channel}"] = Note(namespace, checkpoint, row)

    def riders(self) -> list[Writes]:
        """What waits for a ride, to go with the last commit of a run."""
        return _grouped(self._take_notes())

    def _take_notes(self) -> list[Note]:
        """The notes that nobody has committed yet; each is taken by one commit."""
        taken = []
        while self._notes:
            try:
                taken.append(self._notes.popitem()[1])
            except KeyError:
                break
        return taken

    def begin(self, begin: Begin) -> None:
        """Name the run; goes with the next commit."""
        self._begin = begin

    async def write(
        self,
        host: Host,
        items: Sequence[CheckpointRow | Writes],
        *,
        status: Status | None = None,
        release: bool = False,
        written: Callable[[], None] | None = None,
    ) -> None:
        """Commit rows, now or when the durability says.

        Raises:
            LeaseLost: another run has taken the thread over.
            SaverError: the backend could not.
        """
        if self.durability == "sync":
            await self._commit(host, items, status, release, written)
        elif status is None and not release:
            await self._write_later(host, items)
            if written is not None:
                written()
        else:
            await self._write_backlog(host, items, status, release)
            if written is not None:
                written()
        self.released = self.released or release

    async def _write_later(self, host: Host, items: Sequence[CheckpointRow | Writes]) -> None:
        if self.durability == "async":
            self._backlog.extend(items)
            self._flush_soon(host)
            return
        await self._turn.take(host)
        try:
            self._lay_by(items)
        finally:
            self._turn.give_back()

    async def _commit(
        self,
        host: Host,
        items: Iterable[CheckpointRow | Writes],
        status: Status | None = None,
        release: bool = False,
        written: Callable[[], None] | None = None,
    ) -> None:
        begin, self._begin = self._begin, None
        commit = Commit(self.thread, self.lease, self._thinned(items), begin, status, release, written)
        try:
            await host.commit(self.saver, commit)
        except BaseException as error:
            self._thinning.forget()
            if isinstance(error, Exception):
                self.ends(error)
            raise

    def _thinned(self, items: Iterable[CheckpointRow | Writes]) -> list[CheckpointRow | Writes]:
        if not self.saver.keeps_deltas:
            return list(items)
        thinned = self._thinning.thinned
        return [thinned(item) if isinstance(item, CheckpointRow) else item for item in items]

    def _lay_by(self, items: Sequence[CheckpointRow | Writes]) -> None:
        """Keep rows for later; with "exit", of each namespace only the last checkpoint."""
        for item in items:
            if self.durability == "exit" and isinstance(item, CheckpointRow):
                item = self._in_place_of_the_last(item)
            self._backlog.append(item)

    def _in_place_of_the_last(self, row: CheckpointRow) -> CheckpointRow:
        """A checkpoint that stands for the one before it as well, which nobody has stored."""
        before = next(
            (old for old in self._backlog if isinstance(old, CheckpointRow) and old.id == row.parent), None
        )
        if before is None or before.namespace != row.namespace:
            return row
        kept = {name: v for name, v in before.values.items() if row.versions.get(name) == v.version}
        place = (before.namespace, before.id)
        left = [item for item in self._backlog if (item.namespace, _checkpoint_of(item)) != place]
        self._backlog = deque(left)
        return replace(row, parent=before.parent, values={**kept, **row.values})

    def _flush_soon(self, host: Host) -> None:
        """Commit the backlog beside the run; what comes meanwhile goes with the next write."""
        self._raise_flush_error()
        if self._turn.take_now():
            host.background(self._flush)

    def _flush(self) -> None:
        """Write the backlog in the turn that was taken for it."""
        items = self._take_backlog()
        begin, self._begin = self._begin, None
        try:
            commit = Commit(self.thread, self.lease, self._thinned(items), begin)
            self._flush_error = self.saver.commit([commit])[0]
        except Exception as error:
            self._flush_error = error
        if self._flush_error is not None:
            self._thinning.forget()
            self.ends(self._flush_error)
        self._turn.give_back()

    async def _write_backlog(
        self,
        host: Host,
        items: Sequence[CheckpointRow | Writes] = (),
        status: Status | None = None,
        release: bool = False,
    ) -> None:
        """Write now, after what is being written, all that was to be written later, and then these rows."""
        if self.durability == "sync":
            return
        await self._turn.take(host)
        try:
            self._raise_flush_error()
            self._lay_by(items)
            if (due := self._take_backlog()) or status is not None or release:
                await self._commit(host, due, status, release)
        finally:
            self._turn.give_back()

    def _raise_flush_error(self) -> None:
        if self._flush_error is not None:
            error, self._flush_error = self._flush_error, None
            raise error

    def _take_backlog(self) -> list[CheckpointRow | Writes]:
        return [self._backlog.popleft() for _ in range(len(self._backlog))]

    def encode(self, value: Any, owner: str) -> bytes:
        """Bytes of a value; an error names whose value it is and where inside it the trouble lies."""
        return encode(self.serde, value, owner)


def _checkpoint_of(item: CheckpointRow | Writes) -> str:
    return item.id if isinstance(item, CheckpointRow) else item.checkpoint


def encode(serde: Serializer, value: Any, owner: str) -> bytes:
    """Bytes of a value.

    Raises:
        SerializationError: it can't be stored; says whose it is and where inside it the trouble lies.
    """
    try:
        return serde.dumps(value)
    except SerializationError as error:
        if isinstance(value, Future):
            raise SerializationError(
                f"{owner} is a Future: return its value, with .result() or await"
            ) from None
        raise SerializationError(f"{owner}: {error}", error.path) from None


def checkpoint_row(
    serde: Serializer,
    checkpoint: Checkpoint,
    namespace: str,
    program: Program,
    *,
    whole: bool = False,
    encoded: Encoded | None = None,
) -> CheckpointRow:
    """A checkpoint as a row, with the values that changed since the stored one that it was made of; or `whole`.

    `encoded` has what was encoded for the same commit.
    """
    versions = checkpoint.versions
    names = versions if whole else sorted(checkpoint.touched)  # a result comes before what else is made of it
    changed = {name: versions[name] for name in names if name in versions}
    found = None if program.opaque else due_in_sight(program, checkpoint)
    body = Body(checkpoint.seen, checkpoint.updated, checkpoint.latest, found)
    metadata = to_metadata(checkpoint.metadata)
    return CheckpointRow(
        namespace,
        checkpoint.id,
        checkpoint.parent,
        checkpoint.step,
        checkpoint.source,
        checkpoint.created_at,
        serde.dumps(to_body(body, versions)),
        b"" if metadata is None else encode(serde, metadata, "metadata"),
        checkpoint.versions,
        _stored(serde, checkpoint, changed, program, {} if encoded is None else encoded),
    )


def _stored(
    serde: Serializer, checkpoint: Checkpoint, changed: Mapping[str, int], program: Program, encoded: Encoded
) -> dict[str, Versioned]:
    """The values of channels, as bytes; what two of them hold is encoded once."""
    values = {}
    for name, version in changed.items():
        cell = checkpoint.values.get(name, MISSING)
        stored = MISSING if cell is MISSING else program.channels[name].stored(cell)
        if stored is not MISSING and id(stored) not in encoded:
            owner = program.labels.get(name, f"the value of {name!r}")
            encoded[id(stored)] = stored, encode(serde, stored, owner)
        values[name] = Versioned(version, None if stored is MISSING else encoded[id(stored)][1])
    return values


def decode_checkpoint(serde: Deserializer, row: CheckpointRow, channels: Mapping[str, Channel]) -> Checkpoint:
    """A checkpoint from its row; channels that the program no longer has are left out.

    Raises:
        InvalidInput: somebody put it by hand, with versions of another saver's.
        NonDeterminismError: a channel was of another kind when it was stored.
    """
    for version in row.versions.values():
        if not isinstance(version, int):
            raise InvalidInput(
                f"checkpoint {row.id!r} was put with versions such as {version!r}, and a run goes on from ints: put "
                "it with the versions 1, 2, …"
            )
    body = body_of(row, serde)
    values = {
        name: _cell(channels[name], name, serde.loads(data))
        for name, versioned in row.values.items()
        if name in channels and (data := versioned.whole()) is not None
    }
    return Checkpoint(
        row.id,
        row.parent,
        row.step,
        row.source,  # type: ignore[arg-type]
        row.created_at,
        values,
        dict(row.versions),
        body.seen,
        None if body.updated is None else tuple(body.updated),
        metadata_of(row, serde),
        body.clock,
    )


def _cell(channel: Channel, name: str, data: Any) -> Any:
    try:
        return channel.restored(data)
    except (TypeError, ValueError) as error:
        raise NonDeterminismError(
            f"{name!r} was stored as {reprlib.repr(data)}, which is nothing that a {type(channel).__name__} holds: its "
            "kind was changed under the thread. Give it its kind back, or another name"
        ) from error


def _grouped(notes: Sequence[Note]) -> list[Writes]:
    """Notes as rows, by the checkpoint that they belong to."""
    places: dict[tuple[str, str], list[WriteRow]] = {}
    for note in notes:
        places.setdefault((note.namespace, note.checkpoint), []).append(note.row)
    return [Writes(namespace, checkpoint, rows) for (namespace, checkpoint), rows in places.items()]
