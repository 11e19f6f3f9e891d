"""What is particular to a server: who else uses it, what can be wrong with it, and what a query reads."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from psycopg import OperationalError

from checkpointers import PostgresSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, put
from flowfn.errors import DatabaseLocked, DatabaseUnreachable, DatabaseVersion, InvalidInput, SaverError
from flowfn.postgres.schema import Connection
from flowfn.stores import GetOp, Item, PostgresStore, PutOp, open_store

from ..postgres_database import Database
from ..processes import started

HERE = ("users", "ada")

PRELUDE = """
import sys
from flowfn.stores import PostgresStore, PutOp
store = PostgresStore(sys.argv[1], timeout=60)
HERE = ("users", "ada")
"""


@pytest.fixture
def database(postgres_database: Database) -> Database:
    """A database with an empty store."""
    PostgresStore(postgres_database.url).close()
    postgres_database.empty_store()
    return postgres_database


def start(database: Database, script: str, *args: str) -> subprocess.Popen[str]:
    """A process that has the database's store open, and runs a script."""
    return started(PRELUDE + script, database.url, *args)


def test_a_url_is_a_store(database: Database) -> None:
    """While it is open, the same one."""
    with open_store(database.url) as store:
        assert isinstance(store, PostgresStore)
        assert open_store(database.url) is store


def test_checkpoints_and_memory_share_a_database(database: Database) -> None:
    """Each in a schema of its own."""
    with PostgresSaver(database.url, serde=PlainSerde()) as saver, PostgresStore(database.url) as store:
        put(saver, checkpoint("c1"))
        store.put(HERE, "k", {"x": 1})
        assert saver.load("order-42") is not None
        assert [item.key for item in store.search(HERE)] == ["k"]


def test_processes_put_at_once(database: Database) -> None:
    """Batches to the same keys in opposite orders neither fail nor wait for each other for ever."""
    script = """
order = range(20) if sys.argv[2] == "up" else range(19, -1, -1)
for number in range(20):
    store.batch([PutOp(HERE, f"k{key}", {"by": sys.argv[2], "n": number}) for key in order])
    store.put((*HERE, sys.argv[2]), f"k{number}", {})
"""
    for process in [start(database, script, way) for way in ("up", "down", "up")]:
        process.communicate(timeout=60)
        assert process.returncode == 0
    with PostgresStore(database.url) as store:
        assert len(store.search(HERE, limit=1000)) == 60
        assert {item.value["n"] for item in store.search(HERE, limit=1000) if item.value} == {19}


def test_a_killed_batch_is_kept_whole_or_not_at_all(database: Database) -> None:
    """G1: all whose end was seen are there."""
    script = """
for number in range(1_000_000):
    store.batch([PutOp(HERE, f"{number}-{half}", {"n": number}) for half in range(2)])
    print(number, flush=True)
"""
    process = start(database, script)
    assert process.stdout is not None
    seen = [int(process.stdout.readline()) for _ in range(50)]
    process.kill()
    process.communicate()
    with PostgresStore(database.url) as store:
        kept = [item.value["n"] for item in store.search(HERE, limit=10**6)][::-1]
        assert kept == [number for number in range(len(kept) // 2) for _ in range(2)]
        assert len(kept) // 2 >= len(seen)


def test_a_lost_connection_is_replaced(database: Database) -> None:
    """The work is done again on another one."""
    with PostgresStore(database.url) as store:
        store.put(HERE, "k", {"x": 1})
        database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        store.put(HERE, "l", {"x": 2})
        assert [item.key for item in store.search(HERE)] == ["l", "k"]


def test_a_batch_whose_answer_is_lost_reads_what_was_there_before(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was made, and isn't made again: its reads would see its own puts."""
    transaction, lost = Connection.transaction, list[bool]()

    @contextmanager
    def losing(connection: Connection) -> Iterator[Any]:
        with transaction(connection) as made:
            yield made
        if not lost:
            lost.append(True)
            connection.close()
            raise OperationalError("the connection is lost")

    with PostgresStore(database.url) as store:
        store.put(HERE, "k", {"x": 1})
        monkeypatch.setattr(Connection, "transaction", losing)
        before, _, absent, _ = store.batch(
            [GetOp(HERE, "k"), PutOp(HERE, "k", {"x": 2}), GetOp(HERE, "l"), PutOp(HERE, "l", {})]
        )
        assert isinstance(before, Item)
        assert (before.value, absent, lost) == ({"x": 1}, None, [True])
        after = store.get(HERE, "k")
        assert after is not None
        assert after.value == {"x": 2}


def test_who_waits_too_long_is_told(database: Database) -> None:
    """`DatabaseLocked` after `timeout`; readers wait for nobody."""
    from flowfn.stores.postgres import _LOCK

    with PostgresStore(database.url, timeout=0.1) as store:
        store.get(HERE, "k")
        with database.connection.transaction():
            database.execute("SELECT pg_advisory_xact_lock(%s)", _LOCK)
            with pytest.raises(DatabaseLocked, match="timeout"):
                store.put(HERE, "k", {})
            assert store.get(HERE, "k") is None


def test_what_can_be_wrong_has_a_name(database: Database) -> None:
    """No server, no URL, a newer format, a closed store."""
    with pytest.raises(DatabaseUnreachable):
        PostgresStore("postgresql://localhost:1/none", timeout=0.1)
    with pytest.raises(InvalidInput, match="url="):
        PostgresStore("postgresql://[")
    store = PostgresStore(database.url)
    store.close()
    with pytest.raises(SaverError, match=r"Open it again: `PostgresStore\(url\)`"):
        store.get(HERE, "k")
    database.execute("INSERT INTO flowfn_store.migration VALUES (99, now())")
    try:
        with pytest.raises(DatabaseVersion, match="format 99"):
            PostgresStore(database.url)
    finally:
        database.execute("DELETE FROM flowfn_store.migration WHERE number = 99")


def test_text_is_compared_by_the_server(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter on it reads the rows that it lets through, and those that it can't look into."""
    from flowfn.stores import reading as module

    seen: list[Any] = []
    decode = module.decode
    monkeypatch.setattr(module, "decode", lambda data, serde: seen.append(data) or decode(data, serde))  # type: ignore[func-returns-value]
    with PostgresStore(database.url) as store:
        for number in range(30):
            store.put(HERE, f"k{number}", {"kind": f"kind {number % 10}", "pair": [1]})
        store.put(HERE, "other", {"kind": "kind 3", "pair": (1,)})
        found = store.search(HERE, filter={"kind": "kind 3"})
        assert [item.key for item in found] == ["other", "k23", "k13", "k3"]
        assert len(seen) == 4


def test_long_text_is_compared_here(database: Database) -> None:
    """What no index of Postgres needs is kept once, of whatever length, and found all the same."""
    with PostgresStore(database.url) as store:
        store.put(HERE, "k", {"kind": "note", "text": "x" * 20_000})
        assert [item.key for item in store.search(HERE, filter={"text": "x" * 20_000})] == ["k"]
        assert store.search(HERE, filter={"text": "x" * 20_001}) == []
        assert database.execute("SELECT texts FROM flowfn_store.item") == [({"kind": "note"},)]
