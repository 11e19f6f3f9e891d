"""Behind a pooler of transactions nothing may rely on a session: each transaction may get another one."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from checkpointers import PostgresSaver
from checkpointers.conformance import SaverContract
from checkpointers.conformance.rows import PlainSerde, checkpoint, claimed, put, write, writes
from flowfn import entrypoint, task

from ..postgres_database import Database
from ..transaction_pooler import pooler


@pytest.fixture(scope="module")
def pooled(postgres_database: Database) -> Iterator[str]:
    """The URL of a pooler in front of this worker's database."""
    given = conninfo_to_dict(postgres_database.url)
    with PostgresSaver(postgres_database.url), tempfile.TemporaryDirectory(prefix="pool-") as folder:
        behind = Path(str(given["host"])) / ".s.PGSQL.5432"
        with pooler(Path(folder), behind, str(given["dbname"])) as url:
            yield url


def test_the_pooler_is_one(pooled: str) -> None:
    """The tests below can fail: consecutive transactions of one client are in different sessions."""
    with contextlib.closing(psycopg.connect(pooled, autocommit=True, prepare_threshold=None)) as client:
        processes = {client.execute("SELECT pg_backend_pid()").fetchone() for _ in range(6)}
        assert len(processes) == 3
        client.execute("PREPARE mine AS SELECT 1")
        with pytest.raises(psycopg.errors.InvalidSqlStatementName):
            client.execute("EXECUTE mine")


class TestPooled(SaverContract):
    """The whole contract through a pooler."""

    @pytest.fixture(autouse=True)
    def database(self, postgres_database: Database, pooled: str) -> None:
        self.database, self.url = postgres_database, pooled

    def make(self) -> PostgresSaver:
        self.database.empty()
        return PostgresSaver(self.url, serde=PlainSerde())

    def reopen(self, saver: PostgresSaver) -> PostgresSaver:  # type: ignore[override]
        saver.close()
        return PostgresSaver(self.url, serde=PlainSerde())


def test_transactions_through_a_pooler_are_read_committed(pooled: str) -> None:
    """Whatever the database's default is: the session, which keeps that, is not ours."""
    with PostgresSaver(pooled, serde=PlainSerde()) as saver, saver._database.lock:
        found = saver._database.commit(lambda db: db.isolation_level)
        assert found is psycopg.IsolationLevel.READ_COMMITTED


def test_no_statement_is_prepared_through_a_pooler(pooled: str, postgres_database: Database) -> None:
    """Another client's could have the same name; to the server itself, what is repeated is prepared.

    Only psycopg's own names count: the pooler's sessions keep what other clients have prepared.
    """
    for url, prepared in ((pooled, False), (postgres_database.url, True)):
        with PostgresSaver(url, serde=PlainSerde()) as saver:
            lease = claimed(saver, "t")
            for index in range(5):
                put(saver, writes("c1", write("task", index)), thread="t", lease=lease)
            with saver._database.lock:
                found = saver._database.commit(
                    lambda db: db.execute(
                        "SELECT count(*) > 0 FROM pg_prepared_statements WHERE name LIKE '\\_pg3\\_%'"
                    ).fetchone()
                )
            assert found == (prepared,)
            saver.delete_thread("t")


def test_a_workflow_runs_through_a_pooler(pooled: str, postgres_database: Database) -> None:
    """Two at a time, on a pool of three sessions."""
    postgres_database.empty()

    @task
    def double(number: int) -> int:
        return 2 * number

    with PostgresSaver(pooled) as saver:

        @entrypoint(checkpointer=saver)
        def flow(number: int) -> int:
            return sum(future.result() for future in [double(n) for n in range(number)])

        results: list[int] = []
        runs = [threading.Thread(target=lambda: results.append(flow.invoke(20))) for _ in range(2)]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        assert results == [380, 380]
        put(saver, checkpoint("c1"))
