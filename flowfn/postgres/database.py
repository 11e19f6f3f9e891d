"""The connections to one Postgres database: opening, trying again, forks.

Rule: one connection commits, under `lock`; whatever else there is to do borrows one of a pool. A connection
that is lost is replaced and the work on it done again, for `timeout` seconds, unless whoever asks has waited as long
before; so the work must be such that doing it twice does no harm. Where a server takes no writes any more, as another
one does since a failover, all connections to it are replaced, once for each work: the URL may lead to the other. A
connection never crosses a fork: the child opens its own and leaves its parent's alone.

What a connection leads to may lack the last commits that were made on another: a standby that didn't have them all was
promoted, or a backup restored. So what the owner remembers is forgotten with each new connection.

No work relies on the state of a session, so that a transaction pooler such as pgbouncer may stand in between.
Statements are prepared only where the server itself answers: through a pooler, one prepared by another
client could have the same name.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from functools import partial
from itertools import chain, repeat
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from flowfn.errors import DatabaseLocked, InvalidInput, SaverError
from flowfn.postgres.errors import is_beaten, is_lost, is_read_only, is_there, typed
from flowfn.postgres.schema import ADAPTERS, Connection, Schema
from flowfn.python.ending import close_with
from flowfn.python.forking import each_after_fork
from flowfn.python.recent import Recent

T = TypeVar("T")

_DEFAULTS = {
    "application_name": "flowfn",
    "client_encoding": "UTF8",
    # A network that went silent is noticed within half a minute.
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

_PREPARE_AFTER = 2
"""Executions after which a statement is prepared, where that is safe."""

_PAUSES = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Seconds between attempts to get a connection; the last one repeats."""


_GLANCE = 0.5
"""Seconds that the pool has for a connection before it is found out whether it lacks one."""


class Database:
    """One database, opened for one owner, whose class `owner` names. `name` is its URL without a password.

    `remembered` is what the owner remembers of its rows.
    """

    def __init__(
        self,
        url: str,
        timeout: float,
        pool_size: int,
        *,
        schema: Schema,
        owner: str,
        remembered: Sequence[Recent[Any, Any]] = (),
    ) -> None:
        if not (isinstance(timeout, int | float) and 0 <= timeout < math.inf):
            raise InvalidInput(f"timeout={timeout!r} is no number of seconds. Pass one such as timeout=5.0.")
        if type(pool_size) is not int or pool_size < 1:
            raise InvalidInput(f"pool_size={pool_size!r} is no number of connections. Pass 1 or more.")
        if not isinstance(url, str):
            raise InvalidInput(f"url={url!r} is no text. {_EXPECTED}")
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error as error:
            raise InvalidInput(f"url={url!r}: {str(error).strip()}. {_EXPECTED}") from error
        self.name = _name(given)
        self.closed = False
        self._has_written = False
        """Whether a server has taken writes."""
        self._owner = owner
        self._timeout = timeout
        parameters = {**_DEFAULTS, "connect_timeout": max(2, math.ceil(timeout)), **given}
        self._make = partial(_Connections, parameters, self.name, timeout, pool_size, schema, remembered)
        self._renew_locks()
        self._connections: _Connections | None = None
        with self.lock:
            connections = self._opened()
            try:
                connections.committing()
            except psycopg.Error as error:
                is_up = is_there(error) or (connections.reached and is_lost(error))
                if not is_up:  # nobody answers, and who has just named the server is told at once
                    raise typed(error, self.name) from error
                self._commit(lambda connection: None)
        _crosses_forks(self)

    def _renew_locks(self) -> None:
        self.lock = threading.Lock()
        self._opening = threading.Lock()

    # -- work -------------------------------------------------------------------------------------

    def commit(self, work: Callable[[Connection], T], *, patient: bool = True) -> T:
        """Do work on the committing connection; the caller holds `lock`. Errors come out typed."""
        done = self._commit(work, patient)
        self._has_written = True
        return done

    def _commit(self, work: Callable[[Connection], T], patient: bool = True) -> T:
        return self._try(lambda connections, left: _Tidy(connections.committing()), work, patient)

    def run(self, work: Callable[[Connection], T], *, patient: bool = True) -> T:
        """Do work on a connection of the pool. Errors come out typed."""
        return self._try(lambda connections, left: connections.borrowed(left), work, patient)

    def _try(
        self,
        connected: Callable[[_Connections, float], AbstractContextManager[Connection]],
        work: Callable[[Connection], T],
        patient: bool,
    ) -> T:
        deadline = time.monotonic() + (self._timeout if patient else 0)
        renewed = False
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            connections = self._opened()
            try:
                with connected(connections, deadline - time.monotonic()) as connection:
                    return work(connection)
            except (psycopg.Error, UnicodeError) as error:
                is_elsewhere = is_read_only(error) and (self._has_written or not renewed)
                again = is_elsewhere or is_lost(error) or is_beaten(error)
                if not again or time.monotonic() >= deadline:
                    raise typed(error, self.name) from error
                if is_elsewhere:
                    renewed = True
                    connections.renew()
            time.sleep(pause)
        raise AssertionError("the pauses never end")

    # -- opening and closing ----------------------------------------------------------------------

    def _opened(self) -> _Connections:
        with self._opening:
            if self.closed:
                raise SaverError(
                    f"This {self._owner} of {self.name} is closed. Open it again: `{self._owner}(url)`."
                )
            if self._connections is None:
                self._connections = self._make()
                self._finalizer = close_with(self, self._connections.close)
            return self._connections

    def close(self) -> None:
        """Close all connections. No error if closed already."""
        with self.lock, self._opening:
            self.closed = True
            if self._connections is not None:
                self._finalizer()
                self._connections = None

    def as_closed(self) -> Database:
        """One that is closed, to stand in the place of this one, which somebody else goes on with."""
        other = copy(self)
        other.closed = True
        other._connections = None
        other._renew_locks()
        return other

    def cross_fork(self) -> None:
        """Forget the parent's connections and locks."""
        self._renew_locks()
        if self._connections is not None:
            self._finalizer.detach()
            _abandoned.append(self._connections)
            self._connections = None


class _Connections:
    """The open connections of one process to one database."""

    def __init__(
        self,
        parameters: dict[str, Any],
        name: str,
        timeout: float,
        pool_size: int,
        schema: Schema,
        remembered: Sequence[Recent[Any, Any]],
    ) -> None:
        self._name = name
        self._schema = schema
        self._remembered = remembered
        self._timeout = timeout
        self._options = {
            **parameters,
            "autocommit": True,
            "cursor_factory": psycopg.RawCursor,
            "context": ADAPTERS,
        }
        self.reached = False
        """Whether the server has ever answered."""
        self._committing: Connection | None = None
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            connection_class=Connection,
            kwargs=self._options,
            configure=self._configure,
            min_size=0,
            max_size=pool_size,
            num_workers=1,
            reconnect_timeout=timeout,
            name="flowfn",
            open=False,
        )
        self._pool_lock = threading.Lock()
        self._lent = 0
        """How many connections are in use, of the pool's and of those that it lacked."""
        self._age = 0
        """Connections of another one are of no use any more."""
        self._returned = 0
        """Changes whenever a connection of the pool comes free; two threads may count one."""

    def committing(self) -> Connection:
        """The connection that commits, on a database that is up to date. Its user holds the database's lock."""
        connection = self._committing
        if connection is not None and connection.age != self._age:
            connection.close()
        if connection is None or connection.closed:
            connection = self._connect()
            try:
                self._schema.bring_up_to_date(connection, self._name)
            except BaseException:
                connection.close()
                raise
            self._committing = connection
        return connection

    @contextmanager
    def borrowed(self, patience: float) -> Iterator[Connection]:
        """A connection of the pool. Where one was lost, the idle ones are looked at as well."""
        connection, give_back = self._free(max(patience, 0.1))
        try:
            with _Tidy(connection):
                yield connection
        finally:
            lost = connection.closed
            self._returned += 1
            with self._pool_lock:
                self._lent -= 1
            give_back(connection)
            if lost:
                self._pool.check()

    def _free(self, patience: float) -> tuple[Connection, Callable[[Connection], None]]:
        """A connection of the pool, however many wait, as long as some get theirs meanwhile; and how to give it back.

        One that the pool lacks is made here: after it couldn't make one, it tries again ever later, though the server
        may be back.
        """
        with self._pool_lock:
            if self._pool.closed:
                self._pool.open()
        left = patience
        while True:
            returned = self._returned
            try:
                connection = self._pool.getconn(min(left, _GLANCE))
            except PoolTimeout as error:
                if self._take_place():
                    return self._made_in_place(), Connection.close
                left = patience if self._returned != returned else left - _GLANCE
                if left <= 0:
                    raise DatabaseLocked(
                        f"{self._name}: all connections were in use for {self._timeout:g} s, and none came free."
                        " Pass a larger `pool_size=`, or a longer `timeout=`."
                    ) from error
            else:
                if connection.age != self._age:
                    connection.close()
                    self._pool.putconn(connection)
                    continue
                with self._pool_lock:
                    self._lent += 1
                return connection, self._pool.putconn

    def renew(self) -> None:
        """Have all connections replaced before they are used again, each by who uses it next."""
        self._age += 1

    def _take_place(self) -> bool:
        """Take a place for a connection, if not all are in use."""
        with self._pool_lock:
            if self._lent >= self._pool.max_size:
                return False
            self._lent += 1
            return True

    def _made_in_place(self) -> Connection:
        try:
            return self._connect()
        except BaseException:
            with self._pool_lock:
                self._lent -= 1
            raise

    def _connect(self) -> Connection:
        connection = Connection.connect(**self._options)
        self.reached = True
        try:
            self._configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: Connection) -> None:
        """Find out who answers: a pooler gives process ids of its own making, and sessions are not ours to change.

        Whoever waited for a row goes on with what is in it then, whatever the database's default isolation is.
        A backslash in a literal is itself, whatever the default is; a pooler keeps that apart for each of its clients.
        Numbers, such as times, come with all their digits. NULL in a list of parameters is no text.
        """
        connection.age = self._age
        for recent in self._remembered:
            recent.forget()
        if connection.info.parameter_status("standard_conforming_strings") == "off":
            connection.execute("SET standard_conforming_strings = on")
        ((process,),) = connection.execute("SELECT pg_backend_pid()").fetchall()
        direct = process == connection.info.backend_pid
        connection.prepare_threshold = _PREPARE_AFTER if direct else None
        if direct:
            # Plans are made once, for tables that may be empty yet: all but listings have an index to go by. Who has
            # waited for a lock sees what was committed meanwhile, whatever the default is.
            connection.execute(
                "SELECT set_config('plan_cache_mode', 'force_generic_plan', false),"
                " set_config('enable_seqscan', 'off', false), set_config('lock_timeout', $1, false),"
                " set_config('default_transaction_isolation', 'read committed', false),"
                " set_config('extra_float_digits', '1', false), set_config('array_nulls', 'on', false)",
                (str(max(1, round(self._timeout * 1000))),),
            )
        else:
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED

    def close(self) -> None:
        if self._committing is not None:
            self._committing.close()
        self._pool.close()


class _Tidy:
    """A connection that is left with no transaction open, whatever happens."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> Connection:
        return self._connection

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            return
        connection = self._connection
        with suppress(psycopg.Error):
            if not connection.closed and connection.info.transaction_status != TransactionStatus.IDLE:
                connection.rollback()
        if connection.info.transaction_status not in (TransactionStatus.IDLE, TransactionStatus.UNKNOWN):
            connection.close()


_EXPECTED = 'Pass one such as "postgresql://user:password@host:5432/database".'


def _name(given: dict[str, Any]) -> str:
    """A database for people: without the password."""
    host, port = given.get("host") or "localhost", given.get("port")
    user = f"{given['user']}@" if given.get("user") else ""
    return f"postgresql://{user}{host}{f':{port}' if port else ''}/{given.get('dbname') or ''}"


_crosses_forks = each_after_fork(Database.cross_fork)
_abandoned: list[_Connections] = []
"""A parent's connections: kept, because collecting them would end its sessions."""
