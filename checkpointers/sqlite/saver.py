"""The saver that keeps threads in one SQLite file, shared by threads and processes.

Rule: all that waits for the writing lock is one transaction (`group_commit`). What transactions do is in the files
beside this one, how they begin and end in `flowfn.sqlite`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from checkpointers.base import CheckpointSaver
from checkpointers.group_commit import GroupCommit, Refusals
from checkpointers.housekeeping import check_retention
from checkpointers.leases import Held, Holder, Listed, give_back_later, label, listed
from checkpointers.rules import END, busy, chosen_of, lease_lost, limited, paged, tell, unknown_before
from checkpointers.sqlite import commits as sqlite_commits
from checkpointers.sqlite import pruning as sqlite_pruning
from checkpointers.sqlite import reading as sqlite_reading
from checkpointers.sqlite import sources as sqlite_sources
from checkpointers.sqlite import threads as sqlite_threads
from checkpointers.sqlite.heads import Heads
from checkpointers.sqlite.schema import IS_UNFINISHED, SCHEMA
from checkpointers.sqlite.values import Values
from flowfn.errors import SaverError
from flowfn.ports import Busy, Choice, Commit, Lease, Loaded, Place, Serializer, ThreadRow
from flowfn.python.sifting import sifted
from flowfn.sqlite.database import Database, Fsync
from flowfn.sqlite.errors import REFUSED, Damaged, damaged, typed
from flowfn.sqlite.file import named


class SqliteSaver(CheckpointSaver):
    """Keeps threads in one SQLite file, which is created where there is none.

    Args:
        path: a file, `":memory:"`, or an SQLite URI such as `"file:runs.db?mode=ro"`.
        fsync: with "process" a commit survives the death of the process, with "power" that of the machine.
        serde: turns values to bytes and back; default: `flowfn.serde.DEFAULT`.
        timeout: seconds to wait while another process writes, before `DatabaseLocked`.
        retention: how many checkpoints of each namespace are kept when a run ends, the newest; default: None, all.

    Raises:
        InvalidInput: `fsync` is another word, or a number is none of seconds or of checkpoints.
        SaverError: the file can't be opened: there is no such folder, say, or it is no database (`NotADatabase`).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        fsync: Fsync = "process",
        serde: Serializer | None = None,
        timeout: float = 5.0,
        retention: int | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self.retention = check_retention(retention)
        self._inline = fsync == "process"
        self._heads = Heads()
        self._values = Values()
        self._database = Database(named(path, "runs.db"), fsync, timeout, schema=SCHEMA, owner="SqliteSaver")
        self._group = GroupCommit()
        self._holder = Holder(self._renew)

    @property
    def inline(self) -> bool:
        return self._inline

    @property
    def path(self) -> str:
        """As given when it was opened."""
        return self._database.path

    @property
    def closed(self) -> bool:
        return self._database.closed

    @property
    def gone(self) -> bool:
        """Whether the file was deleted or replaced since it was opened."""
        return self._database.gone

    # -- leases -----------------------------------------------------------------------------------
    # None is flushed: a power cut that undoes one ends its owner as well, and the disk takes as long as for a task.

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        lent: list[Lease] = []
        try:
            with self._database.writing(flush=False) as db:
                found = sqlite_threads.lease_of(db, thread)
                owner = None if found is None else found.live_owner()
                if owner is not None and not force:
                    return Busy(label(owner))
                return self._lend(db, found, thread, lent)
        except BaseException:
            self._holder.drop_all(lent)
            raise

    def claim_free(self, threads: Sequence[str]) -> list[Lease | None]:
        """Take the leases of those threads that are new, or that nobody has, in one transaction."""
        lent: list[Lease] = []
        try:
            with self._database.writing(flush=False) as db:
                for thread in dict.fromkeys(threads):
                    found = sqlite_threads.lease_of(db, thread)
                    if found is None or found.live_owner() is None:
                        self._lend(db, found, thread, lent)
            leases = {lease.thread: lease for lease in lent}
            return [leases.pop(thread, None) for thread in threads]
        except BaseException:
            self._holder.drop_all(lent)
            raise

    def adopt(self, workflow: str, call: str) -> Lease | None:
        with self._database.reading() as db:
            if self._left_over(db, workflow, call) is None:
                return None
        lent: list[Lease] = []
        try:
            with self._database.writing(flush=False) as db:
                found = self._left_over(db, workflow, call)
                return None if found is None else self._lend(db, found, found.thread, lent)
        except BaseException:
            self._holder.drop_all(lent)
            raise

    def next_call(self, workflow: str, after: str = "") -> str | None:
        with self._database.reading() as db:
            return sqlite_threads.next_call(db, workflow, after)

    def release(self, lease: Lease) -> None:
        if self._holder.refuses(lease):
            return
        try:
            with self._database.writing(flush=False) as db:
                self._heads.leave(lease.thread)
                sqlite_threads.take_back(db, lease)
        except BaseException:
            self._holder.owe(lease)
            raise
        self._holder.drop(lease)

    def _left_over(self, db: sqlite3.Cursor, workflow: str, call: str) -> Held | None:
        """The newest thread that waits to be continued and that nobody holds."""
        waiting = sqlite_threads.unfinished(db, workflow, call)
        return next((held for held in waiting if held.live_owner() is None), None)

    def _lend(self, db: sqlite3.Cursor, held: Held | None, thread: str, lent: list[Lease]) -> Lease:
        """Lend a thread, `held` before or new; `lent` is for the caller, who drops it if it can't be told of."""
        self._heads.leave(thread)
        owner, expires = self._holder.owner, self._holder.expiry()
        if held is None:
            lease = sqlite_threads.lend_new(db, thread, owner, expires, self._heads)
        else:
            lease = sqlite_threads.lend(db, held.key, thread, owner, expires)
        lent.append(lease)
        self._holder.take(lease)  # before the row can be seen, or it would look abandoned
        return lease

    def _renew(self) -> None:
        """Push on the leases that are held, and give back those that are owed; the heartbeat calls it, and tries again
        if it fails."""
        with suppress(SaverError):
            with self._database.writing(flush=False) as db:
                for lease in self._holder.leases():
                    sqlite_threads.renew(db, lease, self._holder.expiry())
                self._look(db)
                owed = self._holder.owed()
                for lease in owed:
                    sqlite_threads.take_back(db, lease)
            self._holder.settle(owed)

    def _look(self, db: sqlite3.Cursor) -> None:
        """Find out which threads claims took that nobody was told of."""
        doubted = self._holder.doubted()
        found = [sqlite_threads.lease_of(db, thread) for thread in {doubt.thread for doubt in doubted}]
        self._holder.looked_at(doubted, [held for held in found if held is not None])

    # -- writing ----------------------------------------------------------------------------------

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> Refusals:
        refusals = self._group.commit(self._database.lock, self._write, commits, wait=wait)
        self._retain(commits)
        return refusals

    def _write(self, commits: Sequence[Commit], *, wait: bool, trusting: bool = True) -> Refusals:
        """Write commits in one transaction.

        Where a checkpoint isn't as new as was trusted, they are tried again, with a look at what there is. Where that
        fails too, each is tried by itself: a commit that can't be stored fails alone, and each gets an exception of
        its own. The caller holds the lock.
        """
        database = self._database
        try:
            look = not commits or commits[-1].release
            db = database.begin(wait=wait, look=look)
        except sqlite3.Error as error:
            return [typed(error, self.path) for _ in commits]
        try:
            self._heads.begin(db, trusting=trusting)
            refusals = [self._apply(db, commit) for commit in commits]
            database.end(look=look)
        except Exception as error:
            database.undo()
            self._heads.forget()
            if trusting and isinstance(error, sqlite3.IntegrityError):
                return self._write(commits, wait=True, trusting=False)
            if len(commits) == 1:
                return [_told(error, self.path)]
            return [refusal for one in commits for refusal in self._write([one], wait=True)]
        except BaseException:
            database.undo()
            self._heads.forget()
            raise
        for commit, refusal in zip(commits, refusals, strict=True):
            if refusal is None:
                self._tell(commit)
        return refusals

    def _apply(self, db: sqlite3.Cursor, commit: Commit) -> Exception | None:
        if commit.lease is not None and self._holder.refuses(commit.lease):
            return lease_lost(commit.thread, inherited=True)
        return sqlite_commits.apply(db, commit, self._heads)

    def _tell(self, commit: Commit) -> None:
        """A commit is durable; nobody who waits for one goes on before the lock is given back."""
        if commit.release and commit.lease is not None:
            self._holder.drop(commit.lease)
        tell(commit)

    def forget(self, thread: str, places: Collection[Place]) -> None:
        with self._database.writing() as db:
            held = sqlite_threads.lease_of(db, thread)
            if held is not None and (owner := held.live_owner()) is not None:
                raise busy(thread, label(owner))
            if held is not None:
                self._heads.forget()
                if held.owner is not None:
                    sqlite_threads.take_away(db, held.key)
                sqlite_pruning.forget(db, held.key, places)

    def keep_sources(self, sources: Mapping[str, bytes]) -> None:
        with self._database.writing() as db:
            sqlite_sources.keep_sources(db, sources)

    def delete_thread(self, thread_id: str) -> None:
        with self._database.writing() as db:
            self._heads.forget()
            sqlite_threads.delete_thread(db, thread_id)

    def close(self) -> None:
        database, owner, threads = self._database, self._holder.owner, self._holder.close()
        if self.closed:
            return

        def end() -> None:
            if threads and not database.gone:
                with database.writing() as db:
                    sqlite_threads.give_up(db, owner, threads)
            database.close()

        try:
            end()
        except SaverError:
            self._database = database.as_closed()
            give_back_later(end, self._holder.ttl / 3)

    def abandon(self) -> None:
        """Leave off as a killed process does: the leases that it held stay written, and their owner is dead."""
        self._holder.close()
        self._database.close()

    # -- reading ----------------------------------------------------------------------------------

    def source(self, digest: str) -> bytes | None:
        with self._database.reading() as db:
            return sqlite_sources.source(db, digest)

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        with self._database.reading() as db:
            return sqlite_reading.load(db, thread, namespace, checkpoint, self._values)

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
        with self._database.reading() as db:
            key = None if thread is None else sqlite_threads.thread_key(db, thread)
            end = END if before is None else sqlite_reading.key_named(db, before, key, namespace)
        if end is None:
            raise unknown_before(str(before))
        if thread is not None and key is None:
            return iter(())

        def read(before: int, size: int) -> tuple[list[Loaded], int]:
            with self._database.reading() as db:
                return sqlite_reading.page(db, before, size, key, namespace, self._values)

        def heads(before: int, size: int) -> list[tuple[int, Loaded]]:
            with self._database.reading() as db:
                return sqlite_reading.heads(db, before, size, key, namespace)

        def those(keys: Sequence[int]) -> list[Loaded]:
            with self._database.reading() as db:
                return sqlite_reading.those(db, keys, self._values)

        return paged(read, end, most) if chosen is None else chosen_of(heads, those, chosen, end, most)

    def places(self, thread: str) -> list[Place]:
        with self._database.reading() as db:
            return sqlite_pruning.places(db, thread)

    def threads(self, *, limit: int | None = None) -> list[ThreadRow]:
        return self._threads(limit)

    def unfinished(self, workflow: str, *, limit: int | None = None) -> list[ThreadRow]:
        return self._threads(limit, f"WHERE workflow = ? AND {IS_UNFINISHED}", workflow)

    def _threads(self, limit: int | None, *where: str) -> list[ThreadRow]:
        def read(most: int | None) -> list[Listed]:
            with self._database.reading() as db:
                return sqlite_threads.listing(db, most, *where)

        return sifted(read, listed, limited(limit))

    def thread(self, thread: str) -> ThreadRow | None:
        with self._database.reading() as db:
            rows = sqlite_threads.listing(db, 1, "WHERE id = ?", thread)
        return listed(rows[0]) if rows else None


def _told(error: Exception, path: str) -> Exception:
    """What went wrong with a commit: an error that the database or its rows gave, as one of flowfn's."""
    if isinstance(error, Damaged):
        return damaged(error, path)
    return typed(error, path) if isinstance(error, REFUSED) else error
