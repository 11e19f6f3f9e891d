"""Savers written for LangGraph, as flowfn's: those of other packages, and a program's own.

Rule: such a saver is used through LangGraph's methods and nothing else. What they can't promise isn't promised:

- a commit isn't one transaction: its writes come before its checkpoints, so that a crash between them leaves a
  finished task recorded, and its step to be applied again,
- leases are this process's: two processes on one thread must be kept apart by other means,
- what `flowfn.now()` and the like give a coroutine is recorded before the next task begins, and not before it is seen,
  where the saver has asyncio methods,
- the last checkpoint is the one of the greatest id. Those that a run makes grow, whatever the clocks say; but to go on
  from an older one, the clock mustn't have been set back since the last.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

from checkpointers.base import CheckpointSaver, ThreadRows
from checkpointers.foreign import reading
from checkpointers.foreign.errors import SaverRaised
from checkpointers.foreign.methods import Methods
from checkpointers.foreign.rows import (
    CALL,
    Entry,
    Run,
    Stored,
    foreign_config,
    from_foreign,
    from_tuple,
    last_place,
    questions,
    run_of,
    to_checkpoint,
    to_entry,
    to_metadata,
    to_native,
)
from checkpointers.group_commit import Refusals
from checkpointers.leases import Holder, is_alive, label
from checkpointers.rules import concerns_thread, lease_lost, limited, now, strange_item, tell
from flowfn.described import RECORD
from flowfn.errors import SaverError
from flowfn.logs import logger
from flowfn.ports import (
    UNFINISHED,
    Busy,
    CheckpointRow,
    Choice,
    Commit,
    Lease,
    Loaded,
    Place,
    Serializer,
    ThreadRow,
    WriteRow,
    Writes,
    configurable_here,
    with_configurable,
)
from flowfn.python.forking import each_after_fork
from flowfn.row_channels import ANSWER

_DIGITS = 10**16
_BITS = 31
"""What a version has of its place: digits as text, bits as a number, which savers keep in 64 of them."""


@dataclass(slots=True)
class _Thread:
    """What is known of a thread while somebody holds or writes it.

    `heads` are the last checkpoints that were put. `answers` are what questions were answered since it is held: a saver
    that gathers its writes shows them to nobody until it has sent them off. `said` is what its holder's call said in
    `configurable`: a commit may be made where another call is under way, or none.
    """

    owner: str | None = None
    token: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    run: Run | None = None
    heads: dict[str, Stored] = field(default_factory=dict)
    answers: dict[Place, list[WriteRow]] = field(default_factory=dict)
    said: Mapping[str, Any] | None = None

    def with_answers(self, loaded: Loaded) -> Loaded:
        """A checkpoint with the answers that its saver doesn't show yet."""
        shown = {(row.task, row.index) for row in loaded.writes}
        place = loaded.checkpoint.namespace, loaded.checkpoint.id
        late = [row for row in self.answers.get(place, ()) if (row.task, row.index) not in shown]
        return loaded._replace(writes=[*loaded.writes, *late]) if late else loaded

    def forget(self) -> None:
        """Read anew what another process may have changed."""
        self.run = None
        self.heads.clear()


class ForeignSaver(CheckpointSaver):
    """Keeps threads in a saver that was written for LangGraph.

    `saver` has `put`, `put_writes`, `get_tuple`, `list` and `delete_thread`, or their `a…` twins, or both. On an event
    loop the twins are preferred, and run on it. `serde` turns into bytes what isn't plain data. Closing leaves `saver`
    open: it is its owner's. `checkpointer=` makes one of whatever such saver it is given.
    """

    lists_quickly = False
    """Whether threads are told without a look at all checkpoints."""

    def __init__(self, saver: Any, *, serde: Serializer | None = None) -> None:
        super().__init__(serde=serde)
        self.saver = saver
        self._threads: dict[str, _Thread] = {}
        self._tokens = count(1)
        self._holder = Holder()
        self._lock = threading.Lock()
        self._last_place = 0
        self._shows_questions = True
        self._methods = Methods(saver)
        _crosses_forks(self)

    def cross_fork(self) -> None:
        """Go on in a forked child. The parent's threads stay its own."""
        self._lock = threading.Lock()
        for known in self._threads.values():
            known.lock = threading.RLock()
            known.forget()

    @property
    def inline(self) -> bool:
        return False

    @property
    def needs_loop(self) -> bool:
        """Whether commits are coroutines of the running event loop, for which that loop's own thread can't wait.

        Told by `put`: the first checkpoint of a run is put before its code begins.
        """
        return self._methods.has_twin("put")

    @property
    def keeps_deltas(self) -> bool:
        return False

    def note_loop(self) -> None:
        """Have the asyncio methods run on the loop that runs here, if one does."""
        self._methods.note_loop()

    # -- leases -------------------------------------------------------------------------------------

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        with self._lock:
            known = self._threads.setdefault(thread, _Thread())
            if not force and (owner := self._live_owner(thread, known)) is not None:
                return Busy(label(owner))
            known.owner, known.token = self._holder.owner, next(self._tokens)
            known.said = configurable_here.get()
            lease = Lease(thread, known.token)
            self._holder.take(lease)
            _holding.add(self)
        with known.lock:
            known.forget()
        return lease

    def _live_owner(self, thread: str, known: _Thread) -> str | None:
        owner = known.owner
        return owner if owner is not None and is_alive(owner, thread, known.token, expired=False) else None

    def _owner_of(self, thread: str) -> str | None:
        """Who holds a thread and is alive."""
        known = self._threads.get(thread)
        return None if known is None else self._live_owner(thread, known)

    def adopt(self, workflow: str, call: str) -> Lease | None:
        found = self._methods.call("list", None, filter={CALL: call})
        for thread in reading.threads_of(found):
            row = self.thread(thread)
            same = row is not None and (row.workflow, row.call) == (workflow, call)
            if row is not None and same and row.status in UNFINISHED and row.owner is None:
                lease = self.claim(thread)
                if isinstance(lease, Lease):
                    return lease
        return None

    def release(self, lease: Lease) -> None:
        with self._lock:
            known = self._threads.get(lease.thread)
            if known is not None and known.token == lease.token:
                del self._threads[lease.thread]
            self._holder.drop(lease)
            if not self._holder.leases():
                _holding.discard(self)

    def close(self) -> None:
        for lease in self._holder.leases():
            self.release(lease)
        self._holder.close()

    # -- writing ------------------------------------------------------------------------------------

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> Refusals:
        return [self._commit(commit) for commit in commits]

    def _commit(self, commit: Commit) -> Exception | None:
        lease = commit.lease
        with self._lock:
            known = self._threads.get(commit.thread) or _Thread()
            if lease is None and known.owner is None:
                known = _Thread()
        try:
            with known.lock:  # whoever takes the thread by force waits for it after that
                if lease is not None and not self._still_holds(lease, known):
                    return lease_lost(commit.thread, inherited=self._holder.refuses(lease))
                with with_configurable(configurable_here.get() if known.said is None else known.said):
                    self._write(known, commit)
        except Exception as error:
            known.forget()
            return error
        tell(commit)
        if commit.release and lease is not None:
            self.release(lease)
        return None

    def _still_holds(self, lease: Lease, known: _Thread) -> bool:
        with self._lock:
            current = self._threads.get(lease.thread) is known and known.token == lease.token
            return current and not self._holder.refuses(lease)

    def _write(self, known: _Thread, commit: Commit) -> None:
        """Writes first; what the commit says of the run goes with the last item of the root's."""
        for item in commit.items:
            if not isinstance(item, CheckpointRow | Writes):
                raise strange_item(item)
        run = self._run_after(known, commit) if concerns_thread(commit) else None
        items = sorted(commit.items, key=lambda item: isinstance(item, CheckpointRow))
        carrier = None if run is None else self._carrier(known, commit.thread, items)
        if carrier is not None and not any(item is carrier for item in items):
            items.append(carrier)
        for item in items:
            if isinstance(item, CheckpointRow):
                self._put(known, commit.thread, item, run or self._known_run(known, commit.thread))
            else:
                self._add_writes(commit.thread, item, run if item is carrier else None)
                if answers := [row for row in item.rows if row.channel == ANSWER]:
                    known.answers.setdefault((item.namespace, item.checkpoint), []).extend(answers)
        known.run = run or known.run

    def _carrier(
        self, known: _Thread, thread: str, items: Sequence[CheckpointRow | Writes]
    ) -> CheckpointRow | Writes | None:
        """The item that reaches the checkpoint which will be the root's last: where none of `items` does, one that says
        nothing else; None where the root has no checkpoint."""
        put = [item for item in items if isinstance(item, CheckpointRow) and not item.namespace]
        if put:
            return put[-1]
        head = self._head(known, thread, "")
        if head is None:
            return None
        place = ("", head.row.id)
        writes = (item for item in items if isinstance(item, Writes))
        return next(
            (item for item in writes if (item.namespace, item.checkpoint) == place), Writes(*place, ())
        )

    def _run_after(self, known: _Thread, commit: Commit) -> Run:
        run = self._known_run(known, commit.thread)
        time = now()
        if commit.begin is not None:
            run = run._replace(workflow=commit.begin.workflow, call=commit.begin.call, status="running")
        status = commit.status or run.status
        return run._replace(status=status, created_at=run.created_at or time, updated_at=time)

    def _known_run(self, known: _Thread, thread: str) -> Run:
        if known.run is None:
            found = reading.tuple_of(self._methods, thread, "", None)
            known.run = Run() if found is None else run_of(found, self.serde)
        return known.run

    def _head(self, known: _Thread, thread: str, namespace: str, id: str | None = None) -> Stored | None:
        """The last checkpoint of a namespace, or the one of an id."""
        head = known.heads.get(namespace)
        if head is not None and id in (None, head.row.id):
            return head
        found = reading.tuple_of(self._methods, thread, namespace, id)
        stored = None if found is None else from_tuple(found, self.serde)
        if stored is not None and id is None:
            known.heads[namespace] = stored
        return stored

    def _put(self, known: _Thread, thread: str, row: CheckpointRow, run: Run) -> None:
        base = self._head(known, thread, row.namespace, row.parent)
        place = self._next_place()
        values: dict[str, Any] = {}
        versions: dict[str, Any] = {}
        changed: dict[str, Any] = {RECORD: self._version(place >> _BITS, place)}
        for channel, number in row.versions.items():
            held = row.values.get(channel)
            if held is None and base is not None and base.row.versions.get(channel) == number:
                versions[channel] = base.versions[channel]
                if channel in base.values:
                    values[channel] = base.values[channel]
                continue
            versions[channel] = changed[channel] = self._version(number, place)
            if held is not None and held.value is not None:
                values[channel] = to_native(held.value, self.serde)
        stored = Stored(row._replace(versions=dict(row.versions)), run, versions, values)
        checkpoint = to_checkpoint(stored, place, changed[RECORD])
        metadata = to_metadata(row, run, self.serde)
        self._methods.call(
            "put", foreign_config(thread, row.namespace, row.parent), checkpoint, metadata, changed
        )
        head = known.heads.get(row.namespace)
        if head is None or row.id >= head.row.id:
            known.heads[row.namespace] = stored

    def _add_writes(self, thread: str, item: Writes, run: Run | None) -> None:
        entry = Entry(self._next_place(), item.rows, run)
        where = foreign_config(thread, item.namespace, item.checkpoint)
        self._methods.call("put_writes", where, [(RECORD, to_entry(entry))], str(uuid.uuid4()))
        if self._shows_questions:
            self._show_questions(thread, item, where)

    def _show_questions(self, thread: str, item: Writes, where: Mapping[str, Any]) -> None:
        """Put what is asked beside its record, for programs that look for it; nobody here reads it back."""
        for task, write in questions(thread, item, self.serde):
            try:
                self._methods.call("put_writes", where, [write], task)
            except SaverRaised as error:
                self._shows_questions = False
                logger.warning(
                    "%s keeps no question as LangGraph would, so that who looks for questions among a checkpoint's "
                    "pending_writes finds none; runs wait and go on as ever (%s)",
                    type(self.saver).__name__,
                    error,
                )
                return

    def _next_place(self) -> int:
        """Grows with every write: the order of commits."""
        with self._lock:
            self._last_place = max(self._last_place + 1, time.time_ns())
            return self._last_place

    def _follow(self, place: int) -> None:
        """Have what is written from now on come after a place, which a clock ahead of this one may have given."""
        with self._lock:
            self._last_place = max(self._last_place, place)

    def _version(self, number: int, place: int) -> Any:
        """A channel's version in the saver's own type.

        It grows with the number, and tells apart the branches of a thread: savers keep one value for one version.
        """
        make: Callable[..., Any] | None = getattr(self.saver, "get_next_version", None)
        kind = int if make is None else type(make(None, None))
        if kind is str:
            return f"{number:032}.{place % _DIGITS:016}"
        return kind(number << _BITS | place % (1 << _BITS))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        if strategy == "delete":
            super().prune(thread_ids, strategy=strategy)  # by the lease, which the saver knows nothing of
        else:
            self._methods.call("prune", thread_ids, strategy=strategy)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._methods.call("delete_for_runs", run_ids)

    def forget(self, thread: str, places: Collection[Place]) -> None:
        raise SaverError(
            f"{type(self.saver).__name__} can't forget single checkpoints: LangGraph's savers have no method for it"
        )

    def delete_thread(self, thread_id: str) -> None:
        with self._lock:
            self._threads.pop(thread_id, None)
        self._methods.call("delete_thread", thread_id)

    # -- reading ------------------------------------------------------------------------------------

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        found = reading.tuple_of(self._methods, thread, namespace, checkpoint)
        if found is None:
            return None
        loaded, known = from_foreign(found, self.serde), self._threads.get(thread)
        if known is not None:
            self._follow(last_place(found))
        return loaded if known is None or not known.answers else known.with_answers(loaded)

    def history(
        self,
        thread: str | None,
        namespace: str | None = "",
        *,
        before: str | None = None,
        limit: int | None = None,
        chosen: Choice | None = None,
    ) -> Iterator[Loaded]:
        most = limited(limit)
        found = reading.history(self._methods, thread, namespace, before, most if chosen is None else None)
        rows = (from_foreign(one, self.serde) for one in found)
        return rows if chosen is None else islice(filter(chosen, rows), most)

    def places(self, thread: str) -> list[Place]:
        return reading.places(self._methods, thread)

    def threads(self, *, limit: int | None = None) -> ThreadRows:
        known = dict.fromkeys([*reading.threads_of(self._methods.call("list", None)), *self._threads])
        rows = [row for row in map(self.thread, known) if row is not None]
        return sorted(rows, key=lambda row: row.updated_at, reverse=True)[: limited(limit)]

    def thread(self, thread: str) -> ThreadRow | None:
        found = reading.tuple_of(self._methods, thread, "", None)
        owner = self._owner_of(thread)
        if found is None and owner is None:
            return None
        run = Run(created_at=now(), updated_at=now()) if found is None else run_of(found, self.serde)
        return ThreadRow(
            thread,
            run.workflow,
            run.call,
            run.status,
            owner and label(owner),
            run.created_at,
            run.updated_at,
        )


_holding: set[ForeignSaver] = set()
"""Those that hold leases, which would be lost with them."""

_crosses_forks = each_after_fork(ForeignSaver.cross_fork)
