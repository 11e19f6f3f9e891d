"""What LangGraph kept, as it lies in its databases: SQLite, and Postgres.

Rule: they are only read, in one transaction each, so that threads in use come out whole.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from flowfn.errors import CorruptDataError, FlowError, InvalidInput
from graph_compat.checkpoint.serde.base import SerializerProtocol
from graph_compat.importing.unfinished import Wrote

_THREADS = "SELECT thread_id FROM checkpoints GROUP BY thread_id ORDER BY min(checkpoint_id)"


class Stored(NamedTuple):
    """A checkpoint, decoded."""

    namespace: str
    id: str
    parent: str | None
    checkpoint: Any
    metadata: dict[str, Any]


class Kept(Protocol):
    """A database of LangGraph's. Values that can't be read raise when they are asked for."""

    def threads(self) -> list[str]:
        """All threads, the oldest first."""

    def checkpoints(self, thread: str) -> Iterator[Stored]:
        """Of all namespaces, the oldest first."""

    def writes(self, thread: str) -> list[Wrote]:
        """All that was ever recorded of steps."""

    def close(self) -> None: ...


def opened(source: Path | str, serde: SerializerProtocol) -> Kept:
    """A file, or a database by its `postgresql://` URL.

    Raises:
        InvalidInput: it is no such database.
    """
    return InSqlite(source, serde) if isinstance(source, Path) else InPostgres(source, serde)


def waiting_in(url: str) -> bool:
    """Whether a Postgres database has threads of LangGraph's."""
    import psycopg

    with psycopg.connect(url) as db:
        tables = db.execute(
            "SELECT to_regclass('checkpoints'), to_regclass('checkpoint_blobs')"
        ).fetchone() or [None]
        return None not in tables and db.execute("SELECT 1 FROM checkpoints LIMIT 1").fetchone() is not None


class InSqlite:
    """A file of `SqliteSaver`'s."""

    def __init__(self, path: Path, serde: SerializerProtocol) -> None:
        self._serde = serde
        try:
            self._db = _read_only(path)
        except sqlite3.Error as error:
            raise InvalidInput(
                f"{path} is not a database of LangGraph's SqliteSaver ({error}). Pass the file that it wrote"
            ) from error
        columns = [name for _, name, *_ in self._db.execute("PRAGMA table_info(writes)")]
        self._path = "task_path" if "task_path" in columns else "''"

    def threads(self) -> list[str]:
        return [thread for (thread,) in self._db.execute(_THREADS)]

    def checkpoints(self, thread: str) -> Iterator[Stored]:
        query = (
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
            " FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_id"
        )
        for namespace, id, parent, tag, data, metadata in self._db.execute(query, (thread,)):
            checkpoint = _loaded(self._serde, tag, data, f"checkpoint {id!r}")
            yield Stored(namespace, id, parent, checkpoint, _mapping(json.loads(metadata or "{}")))

    def writes(self, thread: str) -> list[Wrote]:
        query = (
            f"SELECT checkpoint_ns, checkpoint_id, task_id, {self._path}, idx, channel, type, value"
            " FROM writes WHERE thread_id = ? ORDER BY task_id, idx"
        )
        return [_wrote(self._serde, row) for row in self._db.execute(query, (thread,))]

    def close(self) -> None:
        self._db.close()


def _read_only(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        db.execute("BEGIN")
        db.execute("SELECT thread_id, metadata FROM checkpoints LIMIT 1")
        db.execute("SELECT task_id, value FROM writes LIMIT 1")
    except BaseException:
        db.close()
        raise
    return db


class InPostgres:
    """The tables of `PostgresSaver`'s, where the URL's search path leads."""

    def __init__(self, url: str, serde: SerializerProtocol) -> None:
        import psycopg

        self._serde = serde
        try:
            self._db: psycopg.Connection[Any] = psycopg.connect(url)
        except psycopg.Error as error:
            raise InvalidInput(f"LangGraph's database can't be opened: {str(error).strip()}") from error
        self._db.read_only, self._db.isolation_level = True, psycopg.IsolationLevel.REPEATABLE_READ
        try:
            self._db.execute("SELECT task_path FROM checkpoint_writes LIMIT 1")
            self._db.execute("SELECT thread_id, metadata FROM checkpoints LIMIT 1")
            self._db.execute("SELECT blob FROM checkpoint_blobs LIMIT 1")
        except psycopg.Error as error:
            self._db.close()
            raise InvalidInput(
                f"This is not a database of LangGraph's PostgresSaver ({str(error).strip()}). Pass the URL of the one "
                "that it wrote to, after its latest setup()"
            ) from error

    def threads(self) -> list[str]:
        return [thread for (thread,) in self._db.execute(_THREADS)]

    def checkpoints(self, thread: str) -> Iterator[Stored]:
        """With the values that lie beside them, one for each version of a channel."""
        blobs = self._db.execute(
            "SELECT checkpoint_ns, channel, version, type, blob FROM checkpoint_blobs WHERE thread_id = %s",
            (thread,),
        )
        values = {(space, channel, version): (tag, data) for space, channel, version, tag, data in blobs}
        rows = self._db.execute(
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata"
            " FROM checkpoints WHERE thread_id = %s ORDER BY checkpoint_id",
            (thread,),
        )
        for namespace, id, parent, checkpoint, metadata in rows:
            inline = checkpoint.setdefault("channel_values", None) or {}
            for channel, version in checkpoint["channel_versions"].items():
                tag, data = values.get((namespace, channel, version), ("empty", None))
                if tag != "empty":
                    inline[channel] = _loaded(self._serde, tag, data, f"checkpoint {id!r}, {channel!r}")
            checkpoint["channel_values"] = inline
            yield Stored(namespace, id, parent, checkpoint, _mapping(metadata))

    def writes(self, thread: str) -> list[Wrote]:
        rows = self._db.execute(
            "SELECT checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob"
            " FROM checkpoint_writes WHERE thread_id = %s ORDER BY task_id, idx",
            (thread,),
        )
        return [_wrote(self._serde, row) for row in rows]

    def close(self) -> None:
        self._db.close()


def _wrote(serde: SerializerProtocol, row: Any) -> Wrote:
    namespace, checkpoint, task, path, place, channel, tag, data = row
    load = partial(_loaded, serde, tag, data, f"a write to {channel!r}")
    return Wrote(namespace, checkpoint, task, path, place, channel, load)


def _loaded(serde: SerializerProtocol, tag: str, data: bytes, what: str) -> Any:
    try:
        return serde.loads_typed((tag, data))
    except FlowError as error:
        raise type(error)(f"{what}: {error}") from error


def _mapping(found: Any) -> dict[str, Any]:
    if not isinstance(found, Mapping):
        raise CorruptDataError(f"The metadata of a checkpoint is {found!r}, and no mapping")
    return dict(found)
