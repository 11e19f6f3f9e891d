"""What a saver knows of the threads that it writes to, so that a commit need not ask for what the last one has left.

Rule: it knows what its own commits left, for as long as nobody else has written: SQLite counts that for each
connection, and each transaction asks for the count before it trusts anything. What deletes forgets all that is known,
and so does a commit that is undone.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from checkpointers.packing import Other
from checkpointers.sqlite.channel_maps import Bases, ChannelMap

_MOST = 1 << 16
"""Channels of maps, and heads, that are kept at most; each is counted when it is learned."""


_MOST_OTHERS = 256
"""Rows of values that are kept at most, each of up to `packing.LONG` bytes."""


@dataclass(slots=True)
class Head:
    """A checkpoint that was named or put last in its namespace: its id, its key, and the key of the last row of writes
    under it. `channels` is its map; None where it is only named, or where nobody has looked.
    """

    id: str
    key: int
    written: int
    channels: ChannelMap | None = None


@dataclass(slots=True)
class Thread:
    """A thread's key, the token of its last lease, and its heads by namespace; all that there are, if it is `whole`."""

    key: int
    token: int
    whole: bool = False
    heads: dict[str, Head] = field(default_factory=dict)


class Heads:
    """What is known of one database. To be used by whoever may use the writing connection."""

    def __init__(self) -> None:
        self.bases = Bases()
        self.threads: dict[str, Thread] = {}
        """What is known of each thread, by its id."""
        self._lent: dict[str, Thread] = {}
        """The threads that were created for who has their lease, until his first commit."""
        self._of: tuple[sqlite3.Cursor, int] | None = None
        self._size = 0
        self.others: dict[int, Other] = {}
        """The rows of values that others can be kept beside, by the key of the checkpoint that was put with them."""
        self.last: int | None = None
        """The last key that a checkpoint was given, or was forgotten with; None where it isn't known."""
        self.trusting = True

    def begin(self, db: sqlite3.Cursor, *, trusting: bool) -> None:
        """Forget what is known, if somebody else has written since it was learned. In a transaction that writes.

        Not `trusting`, no checkpoint is taken for a new one before it was looked for.
        """
        self.trusting = trusting
        (count,) = db.execute("PRAGMA data_version").fetchone()
        if self._of != (db, count):
            self.forget()
            self._of = (db, count)

    def learn(self, id: str, key: int, token: int) -> Thread:
        """A thread is there."""
        return self._keep(id, Thread(key, token))

    def lend(self, id: str, key: int, token: int) -> None:
        """A thread is created, in this transaction, for who is given the token: nothing is stored under it yet."""
        self._lent[id] = Thread(key, token, whole=True)

    def taken_up(self, id: str, token: int) -> Thread | None:
        """A thread that was created for who has the token and commits to it for the first time."""
        thread = self._lent.pop(id, None)
        return None if thread is None or thread.token != token else self._keep(id, thread)

    def _keep(self, id: str, thread: Thread) -> Thread:
        if self._size > _MOST:
            self.forget()
        self.threads[id] = thread
        return thread

    def stand(self, thread: Thread, namespace: str, head: Head) -> Head:
        """A checkpoint was named or put."""
        self._size += 1
        if (channels := head.channels) is not None:
            self._size += len(channels.changes) + (0 if channels.base is None else len(channels.base.places))
        thread.heads[namespace] = head
        return head

    def can_be_beside(self, key: int, other: Other) -> None:
        """A checkpoint was put, with this row of values for its children's to be kept beside."""
        if len(self.others) == _MOST_OTHERS:
            self.others.clear()
        self.others[key] = other

    def leave(self, id: str) -> None:
        """Its run is over, and the next one may be anybody's."""
        self.threads.pop(id, None)
        self._lent.pop(id, None)

    def forget(self) -> None:
        """Know nothing."""
        self.threads.clear()
        self._lent.clear()
        self.others.clear()
        self._size = 0
        self.last = None
