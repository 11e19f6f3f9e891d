"""The saver that keeps threads in a Postgres database, shared by machines.

Rule: a commit is one statement where it can be, those of one kind and several threads are one together, and a group of
commits is one pipeline, and so one round trip, in one transaction. Each finds its thread by the lease's token and keeps
its row locked until the end, so that whoever takes a thread over waits for a commit that is under way, and none of its
former holder comes after.

A lease counts while its process lives, if that is on this machine, and elsewhere until it expires by the
server's clock, which a heartbeat pushes on: no session has to last, as it wouldn't behind a pooler.

A run waits once for a server that is away: where a commit has done so in vain, what is left to do under its lease is
tried, and not waited for, so that the run's caller is told in time.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace

from checkpointers.base import CheckpointSaver
from checkpointers.group_commit import GroupCommit, Refusals
from checkpointers.housekeeping import check_retention
from checkpointers.leases import TTL, Held, Holder, give_back_later, label, listed
from checkpointers.postgres import leases as postgres_leases
from checkpointers.postgres import pruning as postgres_pruning
from checkpointers.postgres import reading as postgres_reading
from checkpointers.postgres import sending as postgres_sending
from checkpointers.postgres.maps import Heads, Last
from checkpointers.postgres.schema import SCHEMA
from checkpointers.rules import END, PAGE, chosen_of, lease_lost, limited, paged, tell, unknown_before
from flowfn.errors import DatabaseLocked, DatabaseUnreachable, InvalidInput, SaverError
from flowfn.ports import Busy, Choice, Commit, Lease, Loaded, Place, Serializer, ThreadRow
from flowfn.postgres.database import Database
from flowfn.postgres.schema import Connection
from flowfn.python.recent import Recent
from flowfn.python.sifting import sifted

_PAGE_OF_ALL = 16 * PAGE
"""Of a listing of all threads: no index has their common order, and so each page looks at all that there is."""


class PostgresSaver(CheckpointSaver):
    """Keeps threads in the schema `flowfn` of a Postgres database (14 or newer), which it creates.

    Args:
        url: what libpq takes: `"postgresql://user:password@host:5432/database"`, with options of libpq's after a `?`.
        serde: turns values to bytes and back; default: `flowfn.serde.DEFAULT`.
        timeout: seconds to wait for a connection while none comes free or the server restarts, and for locks.
        pool_size: how many connections there are at most for all but commits, which have one of their own.
        lease: seconds after which other machines may go on with a thread whose process doesn't answer any more;
            it answers three times in them.
        create: False leaves a database that has no such schema, or an older flowfn's, as it is, and raises.
        retention: how many checkpoints of each namespace are kept when a run ends, the newest; default: None, all.

    Raises:
        InvalidInput: the URL isn't valid, or a number is none of seconds, of connections or of checkpoints.
        DatabaseUnreachable: nobody answers, or not to this user, or there is no such database.
        DatabaseVersion, NotADatabase, DatabaseForbidden: it answers, and can't be used.
    """

    def __init__(
        self,
        url: str,
        *,
        serde: Serializer | None = None,
        timeout: float = 5.0,
        pool_size: int = 4,
        lease: float = TTL,
        create: bool = True,
        retention: int | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self.retention = check_retention(retention)
        if not (isinstance(lease, int | float) and 0 < lease < math.inf):
            raise InvalidInput(
                f"lease={lease!r} is no number of seconds above 0. Pass one such as lease=30.0."
            )
        schema = replace(SCHEMA, create=create)
        self._heads = Heads()
        self._values: postgres_reading.Values = Recent(most=64, size=1 << 24)
        remembered = (self._heads.last, self._values)
        self._database = Database(
            url, timeout, pool_size, schema=schema, owner="PostgresSaver", remembered=remembered
        )
        self._group = GroupCommit()
        self._holder = Holder(self._renew, ttl=lease)
        self._in_vain: set[int] = set()
        """The tokens of leases under which a commit has waited in vain for the server, until one is made again."""

    @property
    def inline(self) -> bool:
        return False

    @property
    def closed(self) -> bool:
        return self._database.closed

    # -- leases -----------------------------------------------------------------------------------

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        lent: list[Lease] = []
        try:  # and no context manager: Ctrl-C may come as one is left
            return self._database.run(lambda db: self._claim(db, thread, force, lent))
        except BaseException:
            self._holder.drop_all(lent)
            raise

    def _claim(self, db: Connection, thread: str, force: bool, lent: list[Lease]) -> Lease | Busy:
        owner, ttl = self._holder.owner, self._holder.ttl
        while True:
            with self._holder.taking(thread, lent):
                if (lease := postgres_leases.take_free(db, thread, owner, ttl, force)) is not None:
                    lent.append(lease)
                    self._holder.take(lease)
                    return lease
            seen = postgres_leases.lease_of(db, thread)
            if seen is None or seen.owner is None:
                continue  # it was given back, or deleted, since
            if (alive := seen.live_owner()) is not None:
                return Busy(label(alive))
            if (lease := self._take(db, seen, lent)) is not None:
                return lease

    def claim_free(self, threads: Sequence[str]) -> list[Lease | None]:
        """Take the leases of those threads that are new, or that nobody has, by one statement."""
        lent: list[Lease] = []
        try:
            return self._database.run(lambda db: self._claim_free(db, threads, lent))
        except BaseException:
            self._holder.drop_all(lent)
            raise

    def _claim_free(self, db: Connection, threads: Sequence[str], lent: list[Lease]) -> list[Lease | None]:
        wanted = dict.fromkeys(threads)
        with ExitStack() as taking:
            for thread in wanted:
                taking.enter_context(self._holder.taking(thread, lent))
            leases = postgres_leases.take_all_free(db, wanted, self._holder.owner, self._holder.ttl)
            lent.extend(leases.values())
            for lease in lent:
                self._holder.take(lease)
        return [leases.pop(thread, None) for thread in threads]

    def _take(self, db: Connection, seen: Held, lent: list[Lease], *run: str) -> Lease | None:
        """Take a thread of somebody dead, unless somebody was faster."""
        with self._holder.taking(seen.thread, lent):
            lease = postgres_leases.take(db, seen, self._holder.owner, self._holder.ttl, *run)
            if lease is not None:
                lent.append(lease)
                self._holder.take(lease)
            return lease

    def adopt(self, workflow: str, call: str) -> Lease | None:
        lent: list[Lease] = []
        try:
            return self._database.run(lambda db: self._adopt(db, workflow, call, lent))
        except BaseException:
            self._holder.drop_all(lent)
            raise

    def _adopt(self, db: Connection, workflow: str, call: str, lent: list[Lease]) -> Lease | None:
        for seen in postgres_leases.unfinished(db, workflow, call):
            if (
                seen.live_owner() is None
                and (lease := self._take(db, seen, lent, workflow, call)) is not None
            ):
                return lease
        return None

    def next_call(self, workflow: str, after: str = "") -> str | None:
        return self._database.run(lambda db: postgres_leases.next_call(db, workflow, after))

    def release(self, lease: Lease) -> None:
        if self._holder.refuses(lease):
            return
        patient = lease.token not in self._in_vain
        try:
            self._database.run(lambda db: postgres_leases.take_back(db, [lease]), patient=patient)
        except BaseException:
            self._holder.owe(lease)
            raise
        finally:
            self._in_vain.discard(lease.token)
        self._holder.drop(lease)

    def _renew(self) -> None:
        """Push on the leases that are held, and give back those that are owed; the heartbeat calls it, and tries again
        if it fails.

        Renewals go where the commits go: on another connection they could wait for one that waits for them.
        """
        with suppress(SaverError), self._database.lock:
            leases = self._holder.leases()
            self._database.commit(lambda db: postgres_leases.renew(db, leases, self._holder.ttl))
        self._look()
        if owed := self._holder.owed():
            with suppress(SaverError):
                self._database.run(lambda db: postgres_leases.take_back(db, owed))
                self._holder.settle(owed)

    def _look(self) -> None:
        """Find out which threads claims took whose answers were lost."""
        if doubted := self._holder.doubted():
            threads = {doubt.thread for doubt in doubted}
            with suppress(SaverError):
                rows = self._database.run(lambda db: postgres_leases.leases_of(db, threads))
                self._holder.looked_at(doubted, rows)

    # -- writing ----------------------------------------------------------------------------------

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> Refusals:
        refusals = self._group.commit(self._database.lock, self._write, commits, wait=wait)
        self._retain(commits)
        return refusals

    def _write(self, commits: Sequence[Commit], *, wait: bool, again: bool = False) -> Refusals:
        """Write commits in one transaction.

        Where that fails, each is tried by itself: a commit that can't be stored fails alone, and each
        gets an exception of its own. The caller holds the lock. `again`: they may be stored already.
        """
        mine = [one for one in commits if one.lease is None or not self._holder.refuses(one.lease)]

        def work(db: Connection) -> list[Commit]:
            nonlocal again
            before, again = again, True
            made = postgres_sending.write(db, mine, self._heads)
            return [*made, *postgres_sending.made_before(db, mine, made)] if before else made

        tokens = [None if one.lease is None else one.lease.token for one in mine]
        try:
            made = self._database.commit(work, patient=not self._in_vain.issuperset(tokens)) if mine else []
        except DatabaseUnreachable as error:
            self._in_vain.update(token for token in tokens if token is not None)
            return [_alike(error) for _ in commits]
        except Exception as error:
            if len(commits) == 1:
                return [error]
            return self._write_each(commits, again=again)
        self._in_vain.difference_update(tokens)
        kept = set(map(id, made))
        return [self._answer(commit, id(commit) in kept) for commit in commits]

    def _write_each(self, commits: Sequence[Commit], *, again: bool) -> Refusals:
        """Write commits one by one. Where two in a row have waited in vain for what another session locked, it is the
        tables: the others needn't wait as long, each after the other, while no lease is pushed on."""
        refusals: Refusals = []
        for one in commits:
            in_vain = [each for each in refusals[-2:] if isinstance(each, DatabaseLocked)]
            if len(in_vain) == 2:
                refusals.append(_alike(in_vain[-1]))
            else:
                refusals += self._write([one], wait=True, again=again)
        return refusals

    def _answer(self, commit: Commit, kept: bool) -> Exception | None:
        """Tell whom it concerns that a commit is durable, or say why it isn't."""
        if not kept:
            inherited = commit.lease is not None and self._holder.refuses(commit.lease)
            return lease_lost(commit.thread, inherited=inherited)
        if commit.release and commit.lease is not None:
            self._holder.drop(commit.lease)
        tell(commit)
        return None

    def forget(self, thread: str, places: Collection[Place]) -> None:
        self._database.run(lambda db: postgres_pruning.forget(db, thread, places))

    def keep_sources(self, sources: Mapping[str, bytes]) -> None:
        self._database.run(lambda db: postgres_reading.keep_sources(db, sources))

    def delete_thread(self, thread_id: str) -> None:
        self._database.run(lambda db: postgres_reading.delete_thread(db, thread_id))

    def close(self) -> None:
        if self.closed:
            return
        database, owner, threads = self._database, self._holder.owner, self._holder.close()

        def end() -> None:
            if threads:
                with database.lock:
                    database.commit(lambda db: postgres_leases.give_up(db, owner, threads))
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
        return self._database.run(lambda db: postgres_reading.source(db, digest))

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        token = self._holder.token(thread)
        found = self._database.run(
            lambda db: postgres_reading.load(db, thread, namespace, checkpoint, self._values),
            patient=token not in self._in_vain,
        )
        if found is None:
            return None
        if token is not None:
            last = Last(token, found.loaded.checkpoint.id, found.key, found.places)
            self._heads.keep(thread, namespace, last)
        return found.loaded

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
        end: int | None = END
        if before is not None:
            end = self._database.run(lambda db: postgres_reading.place_of(db, before, thread, namespace))
        if end is None:
            raise unknown_before(str(before))

        def read(before: int, size: int) -> tuple[list[Loaded], int]:
            return self._database.run(
                lambda db: postgres_reading.page(db, size, thread, namespace, end=before)
            )

        def heads(before: int, size: int) -> list[tuple[int, Loaded]]:
            return self._database.run(
                lambda db: postgres_reading.heads(db, size, thread, namespace, end=before)
            )

        def those(keys: Sequence[int]) -> list[Loaded]:
            return self._database.run(lambda db: postgres_reading.those(db, thread, namespace, keys))

        at_once = PAGE if thread is not None else _PAGE_OF_ALL
        if chosen is not None:
            return chosen_of(heads, those, chosen, end, most, at_once)
        return paged(read, end, most, at_once)

    def places(self, thread: str) -> list[Place]:
        return self._database.run(lambda db: postgres_pruning.places(db, thread))

    def threads(self, *, limit: int | None = None) -> list[ThreadRow]:
        return self._threads(limit)

    def unfinished(self, workflow: str, *, limit: int | None = None) -> list[ThreadRow]:
        return self._threads(limit, postgres_leases.UNFINISHED_OF, workflow)

    def _threads(self, limit: int | None, *where: str) -> list[ThreadRow]:
        return sifted(
            lambda most: self._database.run(lambda db: postgres_reading.listing(db, most, *where)),
            listed,
            limited(limit),
        )

    def thread(self, thread: str) -> ThreadRow | None:
        rows = self._database.run(lambda db: postgres_reading.listing(db, 1, "WHERE id = $2", thread))
        return listed(rows[0]) if rows else None


def _alike(error: SaverError) -> SaverError:
    """The same error, for another who gets it."""
    return type(error)(str(error)).with_traceback(error.__traceback__)
