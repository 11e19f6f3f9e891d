"""A task in a transaction of the user's database: its rows and its record, exactly once, whatever dies between."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from checkpointers import MemorySaver
from flowfn import InvalidInput, RetryPolicy, current, entrypoint, interrupt, task
from flowfn.engine.drive import drive
from flowfn.postgres.transacting import PostgresTransaction
from flowfn.serde import DEFAULT
from flowfn.testing import crash_everywhere
from flowfn.testing.processes import Crash

from ..postgres_database import Database
from ..worlds import COLOURS, Kind, World
from . import ledgers

AT_ONCE = RetryPolicy(initial_interval=0, jitter=False)


class Ledger:
    """A table of a user's, in a file or in Postgres."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.mark = "%s" if "://" in target else "?"
        self.read("CREATE TABLE ledger (customer TEXT, cents INTEGER, key TEXT)", fetch=False)

    def read(self, sql: str, *, fetch: bool = True) -> list[Any]:
        connection: Any = (
            psycopg.connect(self.target) if "://" in self.target else sqlite3.connect(self.target)
        )
        with closing(connection):
            cursor = connection.execute(sql)
            rows = cursor.fetchall() if fetch else []
            connection.commit()
            return list(rows)

    @property
    def booked(self) -> list[tuple[str, int]]:
        """What is in it."""
        return sorted(tuple(row) for row in self.read("SELECT customer, cents FROM ledger"))

    async def book(self, transaction: Any, customer: str, cents: int) -> None:
        """Add a row, as code of any colour does."""
        added = transaction.execute(
            f"INSERT INTO ledger VALUES ({self.mark}, {self.mark}, {self.mark})",
            (customer, cents, current().idempotency_key),
        )
        if inspect.isawaitable(added):
            await added


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger on each database."""
    if request.param == "sqlite":
        yield Ledger(str(tmp_path / "shop.db"))
        return
    database: Database = request.getfixturevalue("postgres_database")
    database.empty()
    yield Ledger(database.url)
    with psycopg.connect(database.url) as connection:
        connection.execute("DROP TABLE IF EXISTS ledger, flowfn_done")


@pytest.fixture(params=COLOURS, ids="-".join)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Each caller and colour, on a saver in memory: where runs are kept makes no difference."""
    with MemorySaver() as saver, closing(World(Kind(*request.param, "memory"), saver)) as made:
        yield made


def shop(world: World, ledger: Ledger, then: Callable[[int], Any] = lambda ran: None) -> Any:
    """A workflow that books 995 cents; `then` happens before the transaction ends, given how often it ran."""

    @world.task(transaction=ledger.target, retry_policy=AT_ONCE)
    async def book(customer: str, cents: int, *, transaction: Any) -> str:
        await ledger.book(transaction, customer, cents)
        world.ran.append(customer)
        then(len(world.ran))
        return f"receipt {len(world.ran)}"

    @world.entrypoint
    async def order(customer: str) -> str:
        return await world.value(book(customer, 995))

    return order


def test_rows_and_record_are_committed_together(world: World, ledger: Ledger) -> None:
    """The function's rows are there when its result is, and the table beside them says that the call is done."""
    order = shop(world, ledger)
    assert world.invoke(order, "ada", thread_id="one") == "receipt 1"
    assert ledger.booked == [("ada", 995)]
    ((key,),) = ledger.read("SELECT key FROM ledger")
    assert ledger.read("SELECT key FROM flowfn_done") == [(key,)]


def test_an_error_leaves_no_rows_and_a_retry_books_once(world: World, ledger: Ledger) -> None:
    """Each attempt has a transaction of its own."""

    def fail_twice(ran: int) -> None:
        if ran < 3:
            raise ConnectionError(ran)

    order = shop(world, ledger, fail_twice)
    assert world.invoke(order, "ada", thread_id="one") == "receipt 3"
    assert ledger.booked == [("ada", 995)]


def test_a_death_inside_the_transaction_leaves_no_rows(world: World, ledger: Ledger) -> None:
    """What was written before is rolled back, and booked by the next process, once."""

    def die(ran: int) -> None:
        if ran == 1:
            raise Crash

    order = shop(world, ledger, die)
    with pytest.raises(Crash):
        world.invoke(order, "ada", thread_id="one")
    assert ledger.booked == []
    assert world.invoke(order, None, thread_id="one") == "receipt 2"
    assert ledger.booked == [("ada", 995)]


class Dying(MemorySaver):
    """From a moment on nothing is committed."""

    dies = False

    def commit(self, commits: Any, *, wait: bool = True) -> Any:
        return [Crash()] * len(commits) if self.dies else super().commit(commits, wait=wait)


def test_a_death_between_the_transaction_and_the_journal(world: World, ledger: Ledger) -> None:
    """G1, exactly once: the journal knows nothing of the call, and its result is found beside the rows."""

    world.saver = saver = Dying()

    def die(ran: int) -> None:
        saver.dies = True

    order = shop(world, ledger, die)
    with pytest.raises(Crash):
        world.invoke(order, "ada", thread_id="one")
    assert ledger.booked == [("ada", 995)]
    saver.dies = False
    saver.abandon()
    assert world.invoke(order, None, thread_id="one") == "receipt 1"
    assert (ledger.booked, world.ran) == ([("ada", 995)], ["ada"])


def with_rows_as_dicts(target: str) -> Any:
    """A connection of a user's own, with other rows than flowfn reads, and on Postgres with other cursors."""
    if "://" in target:
        made: Any = psycopg.connect(target, row_factory=dict_row)
        made.cursor_factory = psycopg.RawCursor
        return made
    connection = sqlite3.connect(target)
    connection.row_factory = lambda cursor, row: {cursor.description[0][0]: row[0]}
    return connection


def test_rows_are_what_the_users_connection_makes_of_them(ledger: Ledger) -> None:
    """What is found beside them is read all the same."""
    saver, ran = Dying(), list[int]()

    @task(transaction=lambda: with_rows_as_dicts(ledger.target))
    def book(customer: str, *, transaction: Any) -> int:
        transaction.execute(f"INSERT INTO ledger VALUES ('{customer}', 995, '')")
        ran.append(1)
        saver.dies = True
        return int(transaction.execute("SELECT count(*) AS many FROM ledger").fetchone()["many"])

    @entrypoint(checkpointer=saver)
    def order(customer: str) -> int:
        return book(customer).result()

    with pytest.raises(Crash):
        order.invoke("ada", thread_id="one")
    saver.dies = False
    saver.abandon()
    assert order.invoke(None, thread_id="one") == 1
    assert (ledger.booked, len(ran)) == ([("ada", 995)], 1)


def test_equal_calls_are_booked_each(world: World, ledger: Ledger) -> None:
    """Section 4: three equal calls are three calls; done is done for one of them."""

    @world.task(transaction=ledger.target)
    async def book(customer: str, *, transaction: Any) -> None:
        await ledger.book(transaction, customer, 1)

    @world.entrypoint
    async def order(customer: str) -> None:
        for call in [book(customer) for _ in range(3)]:
            await world.value(call)

    world.invoke(order, "ada", thread_id="one")
    assert ledger.booked == [("ada", 1)] * 3


def test_a_question_in_a_transaction(world: World, ledger: Ledger) -> None:
    """What was written before it was asked is rolled back; with the answer all is booked, once."""

    @world.task(transaction=ledger.target)
    async def book(customer: str, *, transaction: Any) -> str:
        await ledger.book(transaction, customer, 1)
        return str(interrupt("sure?"))

    @world.entrypoint
    async def order(customer: str) -> str:
        return await world.value(book(customer))

    world.invoke(order, "ada", thread_id="one")
    assert ledger.booked == []
    assert world.resume(order, "yes", "one") == "yes"
    assert ledger.booked == [("ada", 1)]


def test_a_method_and_a_generator(ledger: Ledger) -> None:
    """The connection goes to whatever the function is; items are collected inside the transaction."""

    class Shop:
        name = "corner shop"

        @task(transaction=ledger.target, key="customer")
        def book(self, customer: str, *, transaction: Any) -> Iterator[str]:
            transaction.execute(f"INSERT INTO ledger VALUES ({ledger.mark}, 1, '')", (customer,))
            yield self.name
            yield customer

    @entrypoint(checkpointer="memory://")
    def order(customer: str) -> list[str]:
        return Shop().book(customer).result()

    assert order("ada") == ["corner shop", "ada"]
    assert ledger.booked == [("ada", 1)]


def test_outside_a_run(ledger: Ledger) -> None:
    """The function runs in a transaction; there is no call to be done with."""

    @task(transaction=ledger.target)
    def book(customer: str, *, transaction: Any) -> None:
        with suppress(RuntimeError):
            transaction.execute(f"INSERT INTO ledger VALUES ({ledger.mark}, 1, '')", (customer,))

    book("ada")
    assert ledger.booked == [("ada", 1)]


# -- killed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("flow", [ledgers.pay, ledgers.apay], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("kill", [False, True])
def test_a_crash_anywhere_books_once(
    ledger: Ledger, flow: Any, kill: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly once: killed before and after every write, each call is booked once, and done."""
    monkeypatch.setenv("LEDGER", ledger.target)
    report = crash_everywhere(flow, ["ada", "bob"], kill=kill, same=lambda one, other: len(one) == len(other))
    assert report.points >= 8
    keys = [key for (key,) in ledger.read("SELECT key FROM ledger ORDER BY key")]
    assert keys == [key for (key,) in ledger.read("SELECT key FROM flowfn_done ORDER BY key")]
    assert len(keys) > 2 * report.points


def test_killed_inside_the_transaction(run_python: Any, tmp_path: Path, ledger: Ledger) -> None:
    """SIGKILL between the row and its commit: nothing is booked, and the next process books it once."""
    script = tmp_path / "job.py"
    script.write_text(Path(ledgers.__file__).read_text() + ledgers.MAIN)
    died = run_python(script, "die", LEDGER=ledger.target)
    assert (died.returncode, ledger.booked) == (-9, [("ada", 1)])
    done = run_python(script, "live", LEDGER=ledger.target)
    assert done.returncode == 0, done.stderr
    assert ledger.booked == [("ada", 1), ("bob", 1), ("eve", 1)]


# -- connections ------------------------------------------------------------------------------------


def test_a_connection_of_the_users_own(tmp_path: Path) -> None:
    """A function that opens one is called for each attempt, and what it opened is closed."""
    opened: list[sqlite3.Connection] = []
    Ledger(str(tmp_path / "shop.db"))

    def connect() -> sqlite3.Connection:
        opened.append(sqlite3.connect(tmp_path / "shop.db"))
        return opened[-1]

    @task(transaction=connect)
    def book(customer: str, *, transaction: sqlite3.Connection) -> int:
        return transaction.execute("INSERT INTO ledger VALUES (?, 1, '')", (customer,)).rowcount

    @entrypoint(checkpointer="memory://")
    def order(customer: str) -> int:
        return book(customer).result()

    assert order("ada") == 1
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")


def test_a_pool(postgres_database: Database) -> None:
    """A pool's `connection` lends one, and gets it back."""
    ledger = Ledger(postgres_database.url)
    with ConnectionPool(postgres_database.url, min_size=1, max_size=1) as pool:

        @task(transaction=pool.connection)
        def book(customer: str, *, transaction: Any) -> None:
            transaction.execute("INSERT INTO ledger VALUES (%s, 1, '')", (customer,))

        @entrypoint(checkpointer="memory://")
        def order(customers: list[str]) -> None:
            for customer in customers:
                book(customer).result()

        order(["ada", "bob"])
    try:
        assert ledger.booked == [("ada", 1), ("bob", 1)]
    finally:
        ledger.read("DROP TABLE ledger, flowfn_done", fetch=False)


def test_a_commit_whose_answer_is_lost(tmp_path: Path) -> None:
    """The commit is there although it failed: the result is looked up, and nothing is booked again."""
    ledger = Ledger(str(tmp_path / "shop.db"))

    class Losing(sqlite3.Connection):
        lost = False

        def commit(self) -> None:
            super().commit()
            if not Losing.lost:
                Losing.lost = True
                raise sqlite3.OperationalError("the connection was lost")

    @task(transaction=lambda: sqlite3.connect(ledger.target, factory=Losing))
    def book(customer: str, *, transaction: Any) -> str:
        transaction.execute("INSERT INTO ledger VALUES (?, 1, '')", (customer,))
        return "booked"

    @entrypoint(checkpointer="memory://")
    def order(customer: str) -> str:
        return book(customer).result()

    assert order("ada") == "booked"
    assert ledger.booked == [("ada", 1)]


def test_an_attempt_that_another_was_faster_than(postgres_database: Database) -> None:
    """It gets that one's result, also where its transaction began before and doesn't see it; it is booked once.

    The other is that of a process which was taken over while it only was slow.
    """
    url, keys, watched = postgres_database.url, [], postgres_database.execute

    def isolated() -> psycopg.Connection[Any]:
        connection = psycopg.connect(url)
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return connection

    @task(transaction=isolated)
    def book(customer: str, *, transaction: Any) -> str:
        keys.append(current().idempotency_key)
        transaction.execute("INSERT INTO ledger VALUES (%s, 1, '')", (customer,))
        if len(keys) == 1:
            raise ConnectionError("the first attempt learns the key")
        return "the slower one's"

    @entrypoint(checkpointer="memory://")
    def order(customer: str) -> str:
        return book(customer).result()

    try:
        ledger = Ledger(url)
        with pytest.raises(ConnectionError):
            order("ada")
        with psycopg.connect(url) as faster, ThreadPoolExecutor(1) as pool:
            other = PostgresTransaction(faster)
            drive(other.begin())
            assert drive(other.find(keys[0])) is None
            slower = pool.submit(order, "ada")
            waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while not (slower.done() or watched(waiting)):
                pass
            faster.execute("INSERT INTO ledger VALUES ('ada', 1, '')")
            drive(other.keep(keys[0], DEFAULT.dumps("the faster one's")))
            drive(other.end())
            assert slower.result() == "the faster one's"
        assert ledger.booked == [("ada", 1)]
    finally:
        watched("DROP TABLE IF EXISTS ledger, flowfn_done")


def test_in_the_file_of_the_runs(world: World, tmp_path: Path) -> None:
    """The ledger may be in the very file that keeps the runs; calls side by side take turns."""
    file = tmp_path / "runs.db"

    @world.task(transaction=file)
    async def book(customer: str, *, transaction: Any) -> str:
        transaction.execute("CREATE TABLE IF NOT EXISTS ledger (customer)")
        transaction.execute("INSERT INTO ledger VALUES (?)", (customer,))
        return customer

    @world.entrypoint(checkpointer=file)
    async def order(customers: list[str]) -> list[str]:
        return [await world.value(call) for call in book.map(customers)]

    customers = [f"customer {number}" for number in range(8)]
    assert world.invoke(order, customers, thread_id="one") == customers
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM ledger").fetchone() == (8,)


# -- what can't be ----------------------------------------------------------------------------------


def test_a_task_that_ends_its_transaction_itself(tmp_path: Path) -> None:
    """It is told: what it wrote isn't bound to its record."""

    @task(transaction=tmp_path / "shop.db")
    def book(customer: str, *, transaction: sqlite3.Connection) -> None:
        transaction.execute("CREATE TABLE ledger (customer)")
        transaction.commit()

    @entrypoint(checkpointer="memory://")
    def order(customer: str) -> None:
        book(customer).result()

    with pytest.raises(InvalidInput, match="ended its transaction itself"):
        order("ada")


def test_what_transaction_takes() -> None:
    """What is none, and a function without a place for the connection, are refused at definition."""
    with pytest.raises(TypeError, match="names no parameter 'transaction'"):
        task(transaction="shop.db")(len)
    with pytest.raises(TypeError, match="transaction=3: write a path"):

        @task(transaction=3)
        def book(transaction: Any) -> None: ...


def test_a_connection_of_something_else() -> None:
    """An opener that opens no connection is named."""

    @task(transaction=lambda: "shop.db")
    def book(*, transaction: Any) -> None: ...

    with pytest.raises(InvalidInput, match=r"opened 'shop\.db': it has to be a connection"):
        book()


# -- forks ------------------------------------------------------------------------------------------

FORKING = """
import os, sqlite3, sys, threading
from checkpointers import MemorySaver
from flowfn import InvalidInput, SaverError, entrypoint, task
from flowfn.python import forking

target, how = sys.argv[1:]
mark = "%s" if "://" in target else "?"

def connect():
    if "://" in target:
        import psycopg
        return psycopg.connect(target)
    return sqlite3.connect(target, isolation_level=None, check_same_thread=False)

def add(transaction, customer):
    transaction.execute(f"INSERT INTO ledger VALUES ({mark}, 1, {mark})", (customer, customer))

def in_a_child(act):
    child = os.fork()
    if child == 0:
        act()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)

def told(act):
    try:
        print(act(), flush=True)  # before a fork: a child would print it once more
    except (InvalidInput, SaverError) as error:
        print(type(error).__name__, "forked" in str(error), flush=True)

@task(transaction=connect if how == "callable" else target)
def book(customer, inside=lambda: None, *, transaction):
    add(transaction, customer)
    inside()
    return customer
"""


def forked(run_python: Any, ledger: Ledger, how: str, script: str) -> list[str]:
    """What a script prints that forks and books into a ledger."""
    done = run_python("-X", "faulthandler", "-W", "ignore", "-c", FORKING + script, ledger.target, how)
    assert done.returncode == 0, done.stderr
    lines: list[str] = done.stdout.splitlines()
    return lines


@pytest.fixture(params=["target", "callable"])
def how(request: pytest.FixtureRequest) -> str:
    """How the task names its database."""
    return str(request.param)


def test_a_fork_waits_for_the_transactions_of_other_threads(
    run_python: Any, ledger: Ledger, how: str
) -> None:
    """SQLite would take their locks for the child's for ever."""
    script = """
inside, go = threading.Event(), threading.Event()
booking = threading.Thread(target=book, args=("ann", lambda: (inside.set(), go.wait())))
booking.start()
inside.wait()
os.register_at_fork(before=go.set)
in_a_child(lambda: told(lambda: book("bob").result()))
booking.join()
told(lambda: book("eve").result())
"""
    assert forked(run_python, ledger, how, script) == ["bob", "eve"]
    assert ledger.booked == [("ann", 1), ("bob", 1), ("eve", 1)]


def test_a_fork_waits_until_the_connections_of_other_threads_are_closed(
    run_python: Any, ledger: Ledger
) -> None:
    """From before they are opened: SQLite has locks of its own, and the child would wait for them for ever."""
    if ledger.target.startswith("postgresql"):
        pytest.skip("libpq keeps no lock that a fork could inherit")
    script = """
opening, go, seen = threading.Event(), threading.Event(), []

class Seen(sqlite3.Connection):
    def close(self):
        super().close()
        seen.append("closed")

def open_late():
    opening.set()
    go.wait()
    return sqlite3.connect(target, isolation_level=None, check_same_thread=False, factory=Seen)

@task(transaction=open_late)
def book_late(*, transaction):
    seen.append("opened")

booking = threading.Thread(target=book_late)
booking.start()
opening.wait()
os.register_at_fork(before=go.set)
in_a_child(lambda: print(*seen))
booking.join()
"""
    assert forked(run_python, ledger, "callable", script) == ["opened closed"]


def test_no_transaction_begins_while_a_fork_waits(run_python: Any, ledger: Ledger, how: str) -> None:
    """Where threads begin one after the other there would always be one, and the child couldn't use the file."""
    script = """
stop = threading.Event()

def book_on(customer):
    while not stop.is_set():
        book(customer).result()

threads = [threading.Thread(target=book_on, args=(str(number),)) for number in range(2)]
for thread in threads:
    thread.start()
os.register_at_fork(after_in_parent=stop.set)  # else the child may wait longer than SQLite does
in_a_child(lambda: told(lambda: book("bob").result()))
for thread in threads:
    thread.join()
"""
    assert forked(run_python, ledger, how, script) == ["bob"]


def test_a_child_that_is_forked_in_a_transaction_leaves_it_alone(
    run_python: Any, ledger: Ledger, how: str
) -> None:
    """Whether it returns or raises where its parent would: that commits, and goes on."""
    script = """
parent = os.getpid()

def fork_and(end):
    if os.fork() == 0:
        return end()
    os.wait()

def fail():
    raise InvalidInput("forked, and failed")

for customer, end in (("ann", lambda: None), ("bob", fail)):
    told(lambda: book(customer, lambda: fork_and(end)).result())
    if os.getpid() != parent:
        sys.exit()  # which collects what is left
told(lambda: book("eve").result())
"""
    told = forked(run_python, ledger, how, script)
    assert told == ["InvalidInput True", "ann", "InvalidInput True", "bob", "eve"]
    assert ledger.booked == [("ann", 1), ("bob", 1), ("eve", 1)]


def test_a_child_that_is_forked_in_a_transaction_does_not_open_its_file(
    run_python: Any, tmp_path: Path
) -> None:
    """No fork waits for what can't end meanwhile: the child is told, by tasks and savers alike."""
    script = """
from checkpointers import SqliteSaver

def in_the_child():
    told(lambda: book("bob").result())
    told(lambda: SqliteSaver(target))

told(lambda: book("ann", lambda: in_a_child(in_the_child)).result())
"""
    ledger = Ledger(str(tmp_path / "shop.db"))
    assert forked(run_python, ledger, "target", script) == ["SaverError True", "SaverError True", "ann"]
    assert ledger.booked == [("ann", 1)]
