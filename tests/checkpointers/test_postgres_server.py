"""What may happen to a Postgres server, and how a saver takes it: killed, restarted, unreachable, not ours."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from checkpointers import PostgresSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, claimed, put, write, writes
from checkpointers.postgres import leases
from checkpointers.postgres import sending as postgres_sending
from flowfn import entrypoint, task
from flowfn.errors import (
    DatabaseForbidden,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseVersion,
    InvalidInput,
    LeaseLost,
    NotADatabase,
    SaverError,
    SerializationError,
)
from flowfn.ports import Begin, Busy, Commit, Lease, Versioned
from flowfn.postgres import database as postgres_database
from flowfn.postgres.database import _Connections as Connections
from flowfn.postgres.errors import is_there
from flowfn.postgres.schema import Connection, Schema
from flowfn.stores import PostgresStore

from ..postgres_database import Database, named, new_database
from ..postgres_server import Server, private_server


def open_saver(url: str, **more: Any) -> PostgresSaver:
    return PostgresSaver(url, serde=PlainSerde(), **more)


def current(database: Database) -> str:
    """The name of a database."""
    ((name,),) = database.execute("SELECT current_database()")
    return str(name)


@pytest.fixture
def database(postgres_server: str) -> Iterator[Database]:
    """A database that nobody has ever opened."""
    with new_database(postgres_server) as made:
        yield made


@pytest.fixture(scope="module")
def server(postgres_server: str) -> Iterator[Server]:
    """A server of this module's own, to be killed."""
    with private_server() as started:
        yield started


# -- the server dies --------------------------------------------------------------------------------


def test_a_server_killed_during_a_run_loses_nothing(server: Server) -> None:
    """G1: the run fails with `DatabaseUnreachable`; called again, it goes on, and what was recorded isn't run again."""
    ran: list[int] = []
    seen: list[int] = []

    @task
    def work(number: int) -> int:
        ran.append(number)
        if number == 5 and ran.count(5) == 1:
            server.kill()
        return number

    with PostgresSaver(server.url(), timeout=0.2) as saver:

        @entrypoint(checkpointer=saver)
        def flow(n: int) -> int:
            for number in range(n):
                seen.append(work(number).result())
            return sum(seen[-n:])

        with pytest.raises(DatabaseUnreachable):
            flow.invoke(10, thread_id="job")
        server.start()
        assert seen == [0, 1, 2, 3, 4]
        assert flow.invoke(None, thread_id="job") == 45
    assert ran == [0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9]


def test_a_run_outlives_a_restart_within_the_timeout(server: Server) -> None:
    """The commit that met the dead server is made on the new one, and nobody notices."""

    @task
    def work(number: int) -> int:
        if number == 1:
            server.kill()
            server.start()
        return number

    with PostgresSaver(server.url(), timeout=60) as saver:

        @entrypoint(checkpointer=saver)
        def flow(n: int) -> list[int]:
            return [work(number).result() for number in range(n)]

        assert flow.invoke(3, thread_id="restarted") == [0, 1, 2]
        assert flow.get_state(thread_id="restarted").values == [0, 1, 2]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited for a server, each at once."""
    waited: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(waited), sleep=waited.append)
    monkeypatch.setattr(postgres_database, "time", clock)
    monkeypatch.setattr(postgres_database, "_GLANCE", 0.001)
    return waited


@pytest.mark.parametrize("tasks", [1, 4])
@pytest.mark.parametrize("caller", ["blocking", "asyncio"])
def test_a_run_waits_once_for_a_server_that_is_away(
    server: Server, waits: list[float], caller: str, tasks: int
) -> None:
    """One commit waits for `timeout`; what is left to do after that, such as giving the lease back, doesn't again."""

    @task
    def work(number: int) -> int:
        if number == 0:
            server.kill()
        return number

    with PostgresSaver(server.url(), timeout=2) as saver:

        @entrypoint(checkpointer=saver)
        def flow(n: int) -> list[int]:
            return [each.result() for each in work.map(range(n))]

        thread = f"{caller} {tasks}"

        def call() -> Any:
            if caller == "asyncio":
                return asyncio.run(flow.ainvoke(tasks, thread_id=thread))
            return flow.invoke(tasks, thread_id=thread)

        with pytest.raises(DatabaseUnreachable):
            call()
        assert round(sum(waits)) == 2
        server.start()


def test_a_new_call_waits_for_a_server_though_another_did_in_vain(server: Server, waits: list[float]) -> None:
    """It may be back by then."""
    with open_saver(server.url(), timeout=2) as saver:
        lease = claimed(saver, "given up")
        server.kill()
        (refusal,) = saver.commit([Commit("given up", lease)])
        assert isinstance(refusal, DatabaseUnreachable)
        waits.clear()
        with pytest.raises(DatabaseUnreachable):
            saver.claim("new")
        assert round(sum(waits)) == 2
        server.start()


def test_a_run_whose_commits_are_made_again_waits_again(server: Server, waits: list[float]) -> None:
    """What goes on upon threads after a commit that was given up may last for longer than the server is away."""
    with open_saver(server.url(), timeout=2) as saver:
        lease = claimed(saver, "back")
        for _ in range(2):
            waits.clear()
            server.kill()
            for _ in range(2):
                (refusal,) = saver.commit([Commit("back", lease)])
                assert isinstance(refusal, DatabaseUnreachable)
            assert round(sum(waits)) == 2
            server.start()
            assert saver.commit([Commit("back", lease)]) == [None]


def terminated(connection: Connection) -> None:
    connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def cut_off(connection: Connection) -> None:
    with socket.socket(fileno=os.dup(connection.pgconn.socket)) as line:
        line.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("lose", [terminated, cut_off])
def test_a_server_that_goes_away_as_it_is_opened_is_waited_for(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, lose: Callable[[Connection], None]
) -> None:
    """It had answered, and so it is there; one that never answers is an error at once."""
    bring_up_to_date, dropped = Schema.bring_up_to_date, []

    def drop_first(schema: Schema, connection: Connection, database: str) -> None:
        if not dropped:
            dropped.append(connection)
            lose(connection)
        bring_up_to_date(schema, connection, database)

    monkeypatch.setattr(Schema, "bring_up_to_date", drop_first)
    with PostgresSaver(postgres_url) as saver:
        assert saver.threads() == []
    assert len(dropped) == 1


@pytest.mark.parametrize("full", ["database", "role"])
def test_a_server_that_has_no_connection_to_give_is_waited_for(
    database: Database, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    """It answers, and so it is there; others give theirs back, here once one has been refused."""
    role = f"few_{uuid.uuid4().hex}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    database.execute(f"GRANT CREATE ON DATABASE {current(database)} TO {role}")
    connect, refused = Connection.connect, []

    def noticed(*args: Any, **kwargs: Any) -> Any:
        try:
            return connect(*args, **kwargs)
        except psycopg.OperationalError as error:
            refused.append(str(error))
            database.execute(f"ALTER {full} {name} CONNECTION LIMIT -1")
            raise

    name = current(database) if full == "database" else role
    try:
        database.execute(f"ALTER {full} {name} CONNECTION LIMIT 0")
        monkeypatch.setattr(Connection, "connect", noticed)
        with open_saver(named(database.url, current(database), user=role)) as saver:
            assert saver.threads() == []
        assert [f"too many connections for {full}" in message for message in refused] == [True]
    finally:
        database.execute(f"DROP OWNED BY {role} CASCADE")
        database.execute(f"DROP ROLE {role}")


def test_a_server_that_never_has_a_connection_to_give_is_told_as_such(database: Database) -> None:
    """After the timeout, with what to do about it."""
    role = f"none_{uuid.uuid4().hex}"
    database.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 0")
    try:
        with pytest.raises(DatabaseUnreachable, match="Let others close some of theirs"):
            open_saver(named(database.url, current(database), user=role), timeout=0.1)
    finally:
        database.execute(f"DROP ROLE {role}")


@pytest.mark.parametrize(
    ("said", "there"),
    [
        ("the database system is starting up", True),
        ("sorry, too many clients already", True),
        ("remaining connection slots are reserved for roles with the SUPERUSER attribute", True),
        ('password authentication failed for user "nobody"', False),
        ('database "sorry, too many clients" does not exist', False),
    ],
)
def test_a_server_that_refuses_a_connection_says_whether_it_may_give_one_later(
    said: str, there: bool
) -> None:
    """libpq has no SQLSTATE for it, and so its words are read."""
    assert is_there(psycopg.OperationalError(f"connection failed: FATAL:  {said}")) is there


def test_idle_connections_of_before_a_restart_are_replaced(server: Server) -> None:
    """Every method, first thing after the restart."""
    uses: dict[str, Any] = {
        "load": lambda saver: saver.load("t"),
        "claim": lambda saver: saver.release(claimed(saver, "other")),
        "commit": lambda saver: put(saver, writes("c1", write("t", 1)), thread="t"),
        "threads": lambda saver: saver.threads(),
        "history": lambda saver: list(saver.history("t")),
    }
    with open_saver(server.url(), timeout=60) as saver:
        put(saver, checkpoint("c1"), thread="t")
        for use in uses.values():
            assert saver.load("t") is not None
            server.kill()
            server.start()
            use(saver)


def end_sessions(database: Database) -> None:
    """All but the one that says so."""
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def test_a_session_that_is_ended_is_replaced(database: Database) -> None:
    """As an administrator's `pg_terminate_backend` or a failover does."""
    with open_saver(database.url) as saver:
        put(saver, checkpoint("c1"), thread="t")
        for _ in range(3):
            end_sessions(database)
            put(saver, writes("c1", write("t")), thread="t")
            assert saver.load("t") is not None


def test_a_session_that_ended_as_its_transaction_idled_is_replaced(database: Database) -> None:
    """As of a process that was stopped in the middle of a commit; the work on it is done again."""
    sessions = []

    def stopped_at_first(db: Connection) -> list[tuple[Any, ...]]:
        sessions.append(db.info.backend_pid)
        if len(sessions) == 1:
            db.execute("SET idle_in_transaction_session_timeout = 1")
            db.execute("BEGIN")
            while database.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", sessions[0]):
                pass
        return db.execute("SELECT 'done'").fetchall()

    with open_saver(database.url) as saver:
        assert saver._database.run(stopped_at_first) == [("done",)]
    assert len(sessions) == 2


def holds(other: PostgresSaver) -> None:
    """Another run has taken the thread."""
    assert isinstance(other.claim("t"), Lease)


def ends(other: PostgresSaver) -> None:
    """Other runs have come and gone."""
    for number in range(2):
        lease = other.claim("t")
        assert isinstance(lease, Lease)
        put(other, checkpoint(f"later {number}"), thread="t", lease=lease, status="done", release=True)


def is_taken_away(other: PostgresSaver) -> None:
    """What may have been given back can't be told from what was lost."""
    holds(other)
    assert isinstance(other.claim("t", force=True), Lease)


@pytest.mark.parametrize("meanwhile", [holds, ends, is_taken_away])
@pytest.mark.parametrize("reached", [True, False], ids=["it was stored", "it wasn't"])
def test_an_answer_that_is_lost_with_its_connection(
    postgres_url: str,
    meanwhile: Callable[[PostgresSaver], None],
    reached: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """G4: a run that gave its thread back with its last commit isn't told that it lost it; nor the other way round."""
    with open_saver(postgres_url) as saver, open_saver(postgres_url) as other:
        last = Commit("t", claimed(saver, "t"), [checkpoint("c1")], status="done", release=True)
        beside = Commit("u", claimed(saver, "u"), [checkpoint("c1")], status="done", release=True)
        send, lost = postgres_sending._send, []

        def losing(db: Any, made: Any, heads: Any) -> Any:
            if lost:
                return send(db, made, heads)
            lost.append(db)
            if reached:
                send(db, made, heads)
            else:
                other.claim("t", force=True)
                other.close()
            db.close()
            with open_saver(postgres_url) as third:
                meanwhile(third)
            raise psycopg.OperationalError("the connection is lost")

        monkeypatch.setattr(postgres_sending, "_send", losing)
        refusals = saver.commit([last, beside])
        monkeypatch.undo()
        told = not reached or meanwhile is is_taken_away
        assert [type(refusal) for refusal in refusals] == [LeaseLost if told else type(None), type(None)]
        assert (saver.load("t", "", "c1") is not None) == reached


# -- the writer dies --------------------------------------------------------------------------------

WRITER = """
import sys
from checkpointers import PostgresSaver
from checkpointers.postgres import leases
from checkpointers.postgres import sending as postgres_sending
from checkpointers.conformance.rows import PlainSerde, checkpoint, write, writes
from flowfn.ports import Begin, Commit
saver = PostgresSaver(sys.argv[1], serde=PlainSerde())
lease = saver.claim("t")
print("claimed", flush=True)
for number in range(1_000_000):
    rows = [writes(f"c{number}", *(write(f"task {n}", n, b"x" * 1000) for n in range(40)))]
    commit = Commit("t", lease, [checkpoint(f"c{number}"), *rows], begin=Begin("wf", str(number)))
    assert saver.commit([commit]) == [None]
"""


def test_a_writer_killed_in_a_pipeline_leaves_whole_commits(postgres_url: str) -> None:
    """G1: of each commit all rows are there, or none; and the thread is free."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, postgres_url], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "claimed\n"
    with open_saver(postgres_url) as saver:
        while saver.load("t") is None:
            pass
        assert isinstance(saver.claim("t"), Busy)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert isinstance(saver.claim("t"), Lease)  # which waits for a commit that the server still works on
        found = list(saver.history("t"))
        assert {len(one.writes) for one in found} == {40}
        row = saver.thread("t")
        assert row is not None
        assert row.call == str(len(found) - 1)


def test_a_commit_under_way_is_in_time_or_refused(postgres_url: str, postgres_database: Database) -> None:
    """G4: whoever takes a thread over waits for a commit that holds its row, and then sees it."""
    with open_saver(postgres_url) as saver, open_saver(postgres_url) as thief:
        lease = claimed(saver, "t")
        put(saver, checkpoint("c1"), thread="t", lease=lease)
        with contextlib.closing(psycopg.connect(postgres_url)) as slow:
            slow.execute("SELECT FROM flowfn.thread FOR NO KEY UPDATE")
            results: list[Any] = []
            taking = threading.Thread(target=lambda: results.append(thief.claim("t", force=True)))
            taking.start()
            while not postgres_database.execute("SELECT 1 FROM pg_locks WHERE NOT granted"):
                pass
            assert results == []
            slow.rollback()
            taking.join()
        assert isinstance(results[0], Lease)
        (refusal,) = saver.commit([Commit("t", lease, [writes("c1", write("late"))])])
        assert refusal is not None
        found = thief.load("t")
        assert found is not None
        assert found.writes == []


def test_a_database_whose_transactions_see_one_state_each(database: Database) -> None:
    """A commit that has waited for another is made all the same."""
    name = database.connection.info.dbname
    database.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
    with open_saver(database.url) as saver, contextlib.closing(psycopg.connect(database.url)) as slow:
        lease = claimed(saver, "t")
        slow.execute("UPDATE flowfn.thread SET updated_at = 'now'")
        results: list[Any] = []
        commit = Commit("t", lease, [checkpoint("c1")], Begin("w", "c"))
        committing = threading.Thread(target=lambda: results.extend(saver.commit([commit])))
        committing.start()
        while not database.execute("SELECT 1 FROM pg_locks WHERE NOT granted"):
            pass
        slow.commit()
        committing.join()
        assert results == [None]


@pytest.mark.parametrize("id", ["c2", "c3", "c4"])
def test_a_commit_that_waits_sees_what_others_put_meanwhile(
    postgres_url: str, postgres_database: Database, id: str
) -> None:
    """Their checkpoint is its own, or the one before it or after it in the order of ids: each is found, and once."""
    outsiders = """
        INSERT INTO flowfn.checkpoint (thread, ordered, namespace, id, said, places)
        SELECT thread, ordered, namespace, 'c3', said, places FROM flowfn.checkpoint"""
    with open_saver(postgres_url) as saver:
        lease = claimed(saver, "t")
        put(saver, checkpoint("c1"), thread="t", lease=lease)
        with contextlib.closing(psycopg.connect(postgres_url)) as slow:
            slow.execute("SELECT FROM flowfn.thread FOR NO KEY UPDATE")
            commit = Commit("t", lease, [checkpoint(id, "c1"), writes(id, write("task"))])
            results: list[Any] = []
            committing = threading.Thread(target=lambda: results.extend(saver.commit([commit])))
            committing.start()
            while not postgres_database.execute("SELECT 1 FROM pg_locks WHERE NOT granted"):
                pass
            slow.execute(outsiders)
            slow.commit()
            committing.join()
        assert results == [None]
        put(saver, checkpoint("c5", id), thread="t", lease=lease)
        assert sorted(place for _, place in saver.places("t")) == sorted({"c1", "c3", id, "c5"})
        found = {one: saver.load("t", "", one) for one in ("c1", "c3", id, "c5")}
        assert {one: row and len(row.writes) for one, row in found.items()} == {
            **dict.fromkeys(found, 0),
            id: 1,
        }


def test_a_statement_that_fails_takes_its_commit_back(postgres_url: str) -> None:
    """A pipeline is one transaction: what went before the failure in it isn't there, and the others are."""
    too_long = "".join(chr(number) for number in range(1, 5000))
    with open_saver(postgres_url) as saver:
        commits = [
            Commit("a", items=[checkpoint("c1")]),
            Commit("b", items=[checkpoint("c1"), checkpoint("c2")._replace(namespace=too_long)]),
            Commit("\ud800"),
            Commit("c", items=[checkpoint("c1")]),
        ]
        refusals = saver.commit(commits)
        assert [isinstance(refusal, SaverError) for refusal in refusals] == [False, True, True, False]
        assert {row.id for row in saver.threads()} == {"a", "c"}


# -- opening ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("others", [1, 0], ids=["others get theirs", "none comes free"])
def test_a_queue_for_connections_moves_or_is_given_up(
    postgres_url: str, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand runs may queue for a few connections; only where none comes free is there an error."""
    with open_saver(postgres_url, pool_size=1, timeout=5) as saver:
        opened = saver._database._opened()
        given, waits = (
            opened._pool.getconn,
            [PoolTimeout()] * 30,
        )  # of a moment each, and longer than 5 seconds in all
        opened._lent = 1

        def getconn(patience: float) -> Any:
            if not waits:
                return given(patience)
            opened._returned += others
            raise waits.pop()

        monkeypatch.setattr(opened._pool, "getconn", getconn)
        refused = pytest.raises(DatabaseLocked, match="none came free")
        with contextlib.nullcontext() if others else refused:
            assert saver.threads() == []


def test_a_connection_that_the_pool_lacks_is_made(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while without the server the pool tries ever later, though that is back: who waits has one made, once."""
    with open_saver(postgres_url, pool_size=1) as saver:
        opened = saver._database._opened()

        def getconn(patience: float) -> Any:
            raise PoolTimeout

        monkeypatch.setattr(opened._pool, "getconn", getconn)
        assert [saver.threads(), saver.threads(), opened._lent] == [[], [], 0]


def test_processes_race_to_create_the_tables(database: Database) -> None:
    """Whoever is second finds them made: four processes open an empty database at once."""
    script = (
        "import sys; from checkpointers import PostgresSaver; sys.stdin.readline();"
        "PostgresSaver(sys.argv[1]).close()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", script, database.url], stdin=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate(timeout=60)
    assert [racer.returncode for racer in racers] == [0] * 4
    known = len(list((resources.files("checkpointers.postgres") / "migrations").iterdir()))
    numbers = [(number,) for number in range(1, known + 1)]
    assert database.execute("SELECT number FROM flowfn.migration") == numbers


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_a_database_s_own_isolation_makes_no_difference(database: Database, isolation: str) -> None:
    """A transaction that waited for a row goes on with what is in it then, and fails nobody's run."""
    database.execute(f"ALTER DATABASE {current(database)} SET default_transaction_isolation = '{isolation}'")
    with open_saver(database.url) as saver, saver._database.lock:
        look = "SHOW transaction_isolation"
        assert saver._database.commit(lambda db: db.execute(look).fetchone()) == ("read committed",)
        assert saver._database.run(lambda db: db.execute(look).fetchone()) == ("read committed",)


def test_a_transaction_that_another_beat_is_tried_again(postgres_url: str) -> None:
    """Behind a pooler a statement alone has the isolation of the database."""
    with open_saver(postgres_url) as saver:
        tries: list[int] = []

        def work(_: Any) -> str:
            tries.append(len(tries))
            if len(tries) == 1:
                raise psycopg.errors.SerializationFailure
            if len(tries) == 2:
                raise psycopg.errors.DeadlockDetected
            return "done"

        assert saver._database.run(work) == "done"


@pytest.mark.parametrize(
    "behind", [["tick"], ["thread_key_seq"], ["tick", "thread_key_seq", "write_key_seq"]]
)
def test_rows_that_came_without_their_sequences(database: Database, behind: list[str]) -> None:
    """G2: as by logical replication. The smaller key came first, and one that comes twice is two threads'."""

    def chat(thread: str, turns: int) -> list[int]:
        with PostgresSaver(database.url) as saver:

            @task
            def one() -> int:
                return 1

            @entrypoint(checkpointer=saver, name="chat")
            def count(*, previous: int = 0) -> int:
                return previous + one().result()

            return [count.invoke(thread_id=thread) for _ in range(turns)]

    assert chat("first", 3) == [1, 2, 3]
    for sequence in behind:
        database.execute(f"SELECT setval('flowfn.{sequence}', 1, false)")
    assert chat("second", 1) == [1]
    assert chat("first", 2) == [4, 5]


def test_who_comes_during_a_migration_waits_for_it(database: Database) -> None:
    """However long that takes: `timeout` is for locks that others may forget to give back."""
    waits = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event = 'advisory' AND clock_timestamp() - query_start > '0.5 s'"
    )
    opened = threading.Thread(target=lambda: open_saver(database.url, timeout=0.1).close())
    database.execute("SELECT pg_advisory_lock(%s)", 0x464C4F57)
    opened.start()
    while opened.is_alive() and database.execute(waits) != [(1,)]:
        pass
    assert opened.is_alive()
    database.execute("SELECT pg_advisory_unlock(%s)", 0x464C4F57)
    opened.join()
    assert database.execute("SELECT count(*) FROM flowfn.checkpoint") == [(0,)]


def test_a_newer_format_is_refused(database: Database) -> None:
    """`DatabaseVersion`: an older flowfn must not write into it."""
    open_saver(database.url).close()
    database.execute("INSERT INTO flowfn.migration VALUES (99, now())")
    with pytest.raises(DatabaseVersion, match="Upgrade flowfn"):
        open_saver(database.url)


def test_another_application_s_schema_is_left_alone(database: Database) -> None:
    """`NotADatabase`; but an empty schema, made by an administrator, is ours."""
    database.execute("CREATE SCHEMA flowfn")
    open_saver(database.url).close()
    database.execute("DROP SCHEMA flowfn CASCADE")
    database.execute("CREATE SCHEMA flowfn CREATE TABLE thread (id int)")
    with pytest.raises(NotADatabase, match="another application"):
        open_saver(database.url)
    assert database.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'flowfn'") == [(1,)]


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_of_another_encoding_is_refused(database: Database, encoding: str) -> None:
    """`NotADatabase` when it is opened, and not when a run has a text that it can't hold."""
    name = f"{current(database)}_{encoding.lower()}"
    database.execute(
        f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    try:
        with pytest.raises(NotADatabase, match=f"is encoded in {encoding}.*ENCODING 'UTF8'"):
            PostgresSaver(named(database.url, name))
    finally:
        database.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_database_that_reads_backslashes_in_its_own_way(database: Database) -> None:
    """An old application's setting: bytes are stored, names are found, and tables are made, as under any other."""
    database.execute(f"ALTER DATABASE {current(database)} SET standard_conforming_strings = off")
    with open_saver(database.url) as saver:
        row = write("task\\1", value=b"\\x00")
        put(saver, checkpoint("c1"), writes("c1", row), thread="a\\b", lease=claimed(saver, "a\\b"))
        found = saver.load("a\\b")
        assert found is not None
        assert (found.checkpoint.body, found.writes) == (b"body of c1", [row])


def test_a_database_that_takes_null_in_a_list_for_a_text(database: Database) -> None:
    """As Postgres before 8.2 did: threads that go on together keep their workflows, by which calls find them again."""
    database.execute(f"ALTER DATABASE {current(database)} SET array_nulls = off")
    with open_saver(database.url) as saver:
        leases = [claimed(saver, id) for id in "ab"]
        began = [
            Commit(lease.thread, lease, [checkpoint("c1")], Begin("wf", lease.thread)) for lease in leases
        ]
        goes_on = [Commit(lease.thread, lease, [checkpoint("c2", "c1")], status="failed") for lease in leases]
        for together in (began, goes_on):
            assert saver.commit(together) == [None, None]
        assert {(row.id, row.workflow, row.call) for row in saver.threads()} == {
            ("a", "wf", "a"),
            ("b", "wf", "b"),
        }


def test_a_database_that_rounds_numbers(database: Database) -> None:
    """An old default, of Postgres before 12: times come back as they were stored."""
    database.execute(f"ALTER DATABASE {current(database)} SET extra_float_digits = -10")
    before = datetime.now(UTC)
    with PostgresStore(database.url) as store:
        store.put(("shop",), "till", {})
        item = store.get(("shop",), "till")
    assert item is not None
    assert before <= item.created_at <= datetime.now(UTC)


def test_tables_that_went_missing_are_named(database: Database) -> None:
    """`NotADatabase`, also while it is open."""
    with open_saver(database.url) as saver:
        database.execute("DROP TABLE flowfn.value")
        (refusal,) = saver.commit([Commit("t", items=[checkpoint("c1")])])
        assert isinstance(refusal, NotADatabase)
        assert "flowfn.value" in str(refusal)


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    """`DatabaseUnreachable`, at once, with where it was looked for and without the password."""
    with pytest.raises(DatabaseUnreachable, match="Check that the server runs") as caught:
        open_saver(f"postgresql://me:secret@/runs?host={tmp_path}")
    assert str(caught.value).startswith(f"postgresql://me@{tmp_path}/runs: ")
    assert "secret" not in str(caught.value)
    assert "?." not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_that_is_not_there_is_named(postgres_server: str) -> None:
    """`DatabaseUnreachable`, in the server's own words; the same for a user that it doesn't know."""
    with pytest.raises(DatabaseUnreachable, match='database "nowhere" does not exist'):
        open_saver(named(postgres_server, "nowhere"))
    with pytest.raises(DatabaseUnreachable, match='role "nobody" does not exist'):
        open_saver(named(postgres_server, "postgres", user="nobody"))


def test_a_user_without_privileges_is_told_which(database: Database) -> None:
    """`DatabaseForbidden`, when creating the tables and when using them; with the grants named, all is well."""
    role = f"{database.execute('SELECT current_database()')[0][0]}_guest"
    url = named(database.url, database.execute("SELECT current_database()")[0][0], user=role)
    database.execute(f"CREATE ROLE {role} LOGIN")
    try:
        with pytest.raises(DatabaseForbidden, match="GRANT"):
            open_saver(url)
        open_saver(database.url).close()
        with pytest.raises(DatabaseForbidden, match="GRANT"):
            open_saver(url)
        database.execute(f"GRANT USAGE ON SCHEMA flowfn TO {role}")
        for kind in ("TABLES", "SEQUENCES"):
            database.execute(f"GRANT ALL ON ALL {kind} IN SCHEMA flowfn TO {role}")
        with open_saver(url) as saver:
            put(saver, checkpoint("c1"))
    finally:
        database.execute(f"DROP OWNED BY {role}")
        database.execute(f"DROP ROLE {role}")


def test_a_database_that_cannot_be_written_to_can_be_read(database: Database) -> None:
    """`DatabaseReadOnly`, as a standby is."""
    with open_saver(database.url) as saver:
        put(saver, checkpoint("c1"), thread="t")
    name = database.execute("SELECT current_database()")[0][0]
    database.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with open_saver(database.url) as saver:
        assert saver.load("t") is not None
        (refusal,) = saver.commit([Commit("t", items=[checkpoint("c2")])])
        assert type(refusal) is DatabaseReadOnly
        with pytest.raises(DatabaseReadOnly):
            saver.claim("t")


def test_a_session_that_may_not_write_any_more_is_left(database: Database) -> None:
    """So it is after a failover that ends no connection: the URL leads to a server which takes writes by then."""
    name = current(database)
    open_saver(database.url).close()
    PostgresStore(database.url).close()
    database.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    with open_saver(database.url) as saver, PostgresStore(database.url) as store:
        assert saver.load("t") is None
        assert store.get(("shop",), "till") is None
        database.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        put(saver, checkpoint("c1"), thread="t", lease=claimed(saver, "t"))
        store.put(("shop",), "till", {"sales": 1})
        assert saver.load("t") is not None
        assert store.get(("shop",), "till") is not None


def test_a_server_that_takes_writes_again_is_waited_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is in a failover behind one address: for a while that leads to one which doesn't yet."""
    name, renewals = current(database), list[int]()
    renew = Connections.renew

    def promoted(connections: Connections) -> None:
        renewals.append(len(renewals))
        if len(renewals) == 3:
            database.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        renew(connections)

    with open_saver(database.url, timeout=60) as saver:
        put(saver, checkpoint("c1"), thread="t")
        database.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        end_sessions(database)
        monkeypatch.setattr(Connections, "renew", promoted)
        put(saver, checkpoint("c2"), thread="t")
    assert len(renewals) == 3


def test_a_row_that_another_session_keeps_locked(postgres_url: str) -> None:
    """`DatabaseLocked` after `timeout`, and the commit beside it is made."""
    with open_saver(postgres_url, timeout=0.1) as saver:
        put(saver, checkpoint("c1"), thread="t")
        with contextlib.closing(psycopg.connect(postgres_url)) as other:
            other.execute("SELECT FROM flowfn.thread FOR UPDATE")
            refusals = saver.commit(
                [Commit("t", items=[checkpoint("c2")]), Commit("u", begin=Begin("w", "c"))]
            )
            assert [type(refusal) for refusal in refusals] == [DatabaseLocked, type(None)]
            other.rollback()  # closing a connection doesn't wait until the server has noticed
        put(saver, checkpoint("c2"), thread="t")


def test_a_group_that_another_session_keeps_waiting_waits_no_more_than_a_few_times(
    postgres_url: str, postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the table is locked, each commit alone would wait as long, and meanwhile no lease is pushed on."""
    tried: list[int] = []
    send = postgres_sending.write

    def write(db: Connection, commits: Any, heads: Any) -> Any:
        tried.append(len(commits))
        return send(db, commits, heads)

    monkeypatch.setattr(postgres_sending, "write", write)
    with open_saver(postgres_url, timeout=0.1) as saver, psycopg.connect(postgres_database.url) as other:
        commits = [Commit(f"t{number}", items=[checkpoint("c1")]) for number in range(20)]
        other.execute("LOCK TABLE flowfn.thread")
        assert [type(refusal) for refusal in saver.commit(commits)] == [DatabaseLocked] * 20
        other.rollback()
        assert saver.commit(commits) == [None] * 20
    assert tried == [20, 1, 1, 20]


def test_what_could_not_be_given_back_is_given_back_by_the_next_beat(postgres_url: str) -> None:
    """Else nobody of another process of this machine would get the thread, as long as this one lives."""
    with open_saver(postgres_url, timeout=0.1) as saver:
        lease = claimed(saver, "t")
        with contextlib.closing(psycopg.connect(postgres_url)) as other:
            other.execute("SELECT FROM flowfn.thread FOR UPDATE")
            with pytest.raises(DatabaseLocked):
                saver.release(lease)
            saver._renew()
            other.rollback()
            saver._renew()
            assert other.execute("SELECT owner FROM flowfn.thread").fetchall() == [(None,)]
            assert saver._holder.owed() == []


def test_a_closed_saver_gives_back_later_what_it_could_not(server: Server) -> None:
    """As when its server is away: other processes of this machine would wait for it as long as this one lives."""
    saver = open_saver(server.url(), timeout=0.1, lease=0.3)
    claimed(saver, "closed")
    server.kill()
    saver.close()
    assert saver.closed
    with pytest.raises(SaverError, match="is closed"):
        saver.load("closed")
    server.start()
    for thread in threading.enumerate():
        if thread.name == "flowfn-lease":
            thread.join(60)
    with contextlib.closing(psycopg.connect(server.url())) as other:
        query = "SELECT owner FROM flowfn.thread WHERE id = 'closed'"
        assert other.execute(query).fetchall() == [(None,)]


@pytest.mark.parametrize("error", [psycopg.OperationalError("the connection is lost"), KeyboardInterrupt()])
@pytest.mark.parametrize(
    ("lending", "claim"),
    [
        ("take_free", lambda saver: saver.claim("t")),
        ("take_all_free", lambda saver: saver.claim_free(["t"])),
        ("take", lambda saver: saver.claim("t")),
        ("take", lambda saver: saver.adopt("w", "c")),
    ],
)
def test_what_a_claim_took_whose_answer_was_lost_is_given_back_by_the_next_beat(
    postgres_url: str,
    lending: str,
    claim: Callable[[PostgresSaver], Any],
    error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody was told of it, and other processes would wait for it as long as this one lives."""
    with open_saver(postgres_url, timeout=0) as saver:
        if lending == "take":
            with open_saver(postgres_url) as dead:
                dead.commit([Commit("t", claimed(dead, "t"), begin=Begin("w", "c"))])
                dead.abandon()
        lend = getattr(leases, lending)

        def losing(*args: Any) -> Any:
            lend(*args)
            raise error

        monkeypatch.setattr(leases, lending, losing)
        with pytest.raises((DatabaseUnreachable, KeyboardInterrupt)):
            claim(saver)
        monkeypatch.undo()
        saver._renew()
        with contextlib.closing(psycopg.connect(postgres_url)) as other:
            assert other.execute("SELECT owner FROM flowfn.thread").fetchall() == [(None,)]
        assert (saver._holder.doubted(), saver._holder.owed()) == ([], [])


def test_a_run_that_ends_as_it_is_looked_at_is_not_adopted(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G4: an owner whose lease has run out may end its run between the look and the taking."""
    look = leases.unfinished
    with open_saver(postgres_url) as saver, open_saver(postgres_url) as other:
        put(saver, checkpoint("c1"), thread="t")
        saver.commit([Commit("t", begin=Begin("w", "c"))])

        def looked_at(*args: Any) -> Any:
            found = look(*args)
            other.commit([Commit("t", status="done")])
            return found

        monkeypatch.setattr(leases, "unfinished", looked_at)
        assert saver.adopt("w", "c") is None


@pytest.mark.parametrize("timeout", ["5", None, -1, math.nan, math.inf])
def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:
    """`InvalidInput` before a server is looked for."""
    with pytest.raises(InvalidInput, match=r"is no number of seconds\. Pass one such as timeout=5\.0\."):
        PostgresSaver("postgresql://h/d", timeout=timeout)


@pytest.mark.parametrize("lease", ["30", None, -1, 0, math.nan, math.inf])
def test_a_lease_lasts_some_seconds(lease: Any) -> None:
    """`InvalidInput`: of one that has expired when it is taken, every other machine would go on with the run."""
    with pytest.raises(
        InvalidInput, match=r"is no number of seconds above 0\. Pass one such as lease=30\.0\."
    ):
        PostgresSaver("postgresql://h/d", lease=lease)


@pytest.mark.parametrize("size", ["4", None, -1, 0, 1.5, True])
def test_a_pool_has_connections(size: Any) -> None:
    """`InvalidInput` that names the option, which the library calls by another name."""
    with pytest.raises(
        InvalidInput, match=rf"pool_size={size!r} is no number of connections\. Pass 1 or more\."
    ):
        PostgresSaver("postgresql://h/d", pool_size=size)


@pytest.mark.parametrize("url", ["postgresql://[", "nonsense", "postgresql://h?nonsense=1"])
def test_what_is_no_url_is_refused(url: str) -> None:
    """`InvalidInput` that shows the value."""
    with pytest.raises(InvalidInput, match="Pass one such as") as caught:
        open_saver(url)
    assert repr(url) in str(caught.value)


@pytest.mark.parametrize("url", [5, None])
def test_a_url_is_text(url: Any) -> None:
    """`InvalidInput` that shows the value, and not the driver's error."""
    with pytest.raises(InvalidInput, match=f"url={url} is no text. Pass one such as"):
        PostgresSaver(url)


def test_a_closed_saver_says_so(postgres_url: str) -> None:
    """`SaverError`, not a crash of the driver."""
    saver = open_saver(postgres_url)
    saver.close()
    for use in (saver.threads, lambda: saver.claim("t")):
        with pytest.raises(SaverError, match="is closed"):
            use()
    (refusal,) = saver.commit([Commit("t")])
    assert "is closed" in str(refusal)


# -- the server comes back without its last commits ---------------------------------------------------


class Before:
    """The state that a database is set back to, as where a standby is promoted that lacks the last commits."""

    def __init__(self, database: Database) -> None:
        self._database = database
        ((self._tick,),) = database.execute("SELECT nextval('flowfn.tick')")
        self._rows = {
            table: database.execute(f"SELECT * FROM flowfn.{table}")
            for table in ("thread", "checkpoint", "value", "write")
        }

    def is_back(self) -> None:
        """All connections end, and what was committed since is gone; sequences go on from where they were."""
        end_sessions(self._database)
        for table, rows in self._rows.items():
            self._database.execute(f"DELETE FROM flowfn.{table}")
            for row in rows:
                places = ", ".join(["%s"] * len(row))
                self._database.execute(
                    f"INSERT INTO flowfn.{table} OVERRIDING SYSTEM VALUE VALUES ({places})", *row
                )
        self._database.execute("SELECT setval('flowfn.tick', %s)", self._tick)


def test_a_lease_that_the_server_lost_is_nobody_else_s(database: Database) -> None:
    """G4: who takes the thread then, from a sequence that counts anew, has another token."""
    with open_saver(database.url) as saver, open_saver(database.url) as other:
        before = Before(database)
        lost = claimed(saver, "t")
        put(saver, checkpoint("c1"), thread="t", lease=lost)
        before.is_back()
        put(other, checkpoint("c1"), thread="t", lease=claimed(other, "t"))
        (refusal,) = saver.commit([Commit("t", items=[writes("c1", write("late"))], lease=lost)])
        assert isinstance(refusal, LeaseLost)
        found = other.load("t")
        assert found is not None
        assert found.writes == []


def test_writes_under_a_checkpoint_that_the_server_lost_are_not_another_s(database: Database) -> None:
    """G2: another thread's checkpoint has its key by now. The run can't go on from what isn't there, and is told."""
    with open_saver(database.url) as saver, open_saver(database.url) as other:
        lease = claimed(saver, "t")
        first = checkpoint("c1", versions={"x": 1}, values={"x": Versioned(1, b"first")})
        put(saver, first, thread="t", lease=lease)
        before = Before(database)
        put(saver, checkpoint("c2", parent="c1", versions={"x": 1}), thread="t", lease=lease)
        before.is_back()
        for name in "uvw":
            put(other, checkpoint(name), thread=name, lease=claimed(other, name))
        put(saver, writes("c2", write("late")), thread="t", lease=lease)
        assert [loaded.writes for name in "uvw" if (loaded := other.load(name))] == [[], [], []]
        third = Commit("t", items=[checkpoint("c3", parent="c2", versions={"x": 1})], lease=lease)
        (refusal,) = saver.commit([third])
        assert "has no checkpoint 'c2' any more" in str(refusal)
        found = saver.load("t")
        assert found is not None
        assert (found.checkpoint.id, found.checkpoint.values) == ("c1", first.values)


def test_a_value_that_the_server_lost_is_not_read_from_memory(database: Database) -> None:
    """G2: another value has its key by now, which grew by the same."""

    def grown(name: str) -> None:
        first = checkpoint(f"{name}1", versions={"x": 1}, values={"x": Versioned(1, name.encode())})
        second = checkpoint(
            f"{name}2", parent=f"{name}1", versions={"x": 2}, values={"x": Versioned(2, None, (b"more",))}
        )
        put(saver, first, second, thread="t")

    with open_saver(database.url) as saver:
        before = Before(database)
        grown("a")
        assert saver.load("t") is not None
        before.is_back()
        grown("b")
        found = saver.load("t")
        assert found is not None
        assert found.checkpoint.values == {"x": Versioned(2, b"b", (b"more",))}


def test_a_value_that_is_missing_is_told_as_damage(database: Database) -> None:
    """`SerializationError`, and not the error of a look into a dict."""
    with open_saver(database.url) as saver:
        put(saver, checkpoint("c1", versions={"x": 1}, values={"x": Versioned(1, b"first")}), thread="t")
        put(saver, checkpoint("c2", parent="c1", versions={"x": 1}), thread="t")
        database.execute("DELETE FROM flowfn.checkpoint WHERE key = (SELECT min(key) FROM flowfn.checkpoint)")
        with pytest.raises(SerializationError, match="a stored checkpoint is damaged"):
            saver.load("t")


# -- leases between machines ------------------------------------------------------------------------


def test_a_lease_of_another_machine_ends_by_the_server_s_clock(
    postgres_url: str, postgres_database: Database
) -> None:
    """G4: until then the thread is busy, and its owner listed; a heartbeat pushes the end on."""
    with open_saver(postgres_url) as saver:
        lease = claimed(saver, "t")
        put(saver, checkpoint("c1"), thread="t", lease=lease)
        for interval, expected in (("1 hour", Busy), ("-1 hour", Lease)):
            postgres_database.execute(
                "UPDATE flowfn.thread SET owner = $1, expires = now() + $2::interval".replace(
                    "$1", "'1@2@opening@boot@elsewhere'"
                ).replace("$2", f"'{interval}'")
            )
            row = saver.thread("t")
            assert row is not None
            assert row.owner == ("process 1 on elsewhere" if expected is Busy else None)
            assert isinstance(saver.claim("t"), expected)
        postgres_database.execute("UPDATE flowfn.thread SET expires = now()")
        saver._renew()
        assert postgres_database.execute("SELECT expires > now() FROM flowfn.thread") == [(True,)]
