"""A transaction pooler that does its clients no favour, as pgbouncer may not.

Rule: a client gets a server's session for one transaction, and for the next another one, in turn. Whatever
a client relies on beyond its transaction (a setting, a prepared statement, an advisory lock, its backend's
process id) is gone or somebody else's. As pgbouncer does, it makes up the process id that it tells clients.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path

_SSL, _CANCEL = 80877103, 80877102


@contextlib.contextmanager
def pooler(folder: Path, server_socket: Path, database: str, sessions: int = 3) -> Iterator[str]:
    """The URL of a pooler in front of a database, with its socket in a folder."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / ".s.PGSQL.5432"))
        listener.listen()
        pool = _Pool(server_socket, database, sessions)
        threading.Thread(target=_accept, args=(listener, pool), daemon=True).start()
        try:
            yield f"postgresql://postgres@/{database}?host={folder}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            pool.close()


class _Session:
    """A logged-in connection to the server."""

    def __init__(self, path: Path, database: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        given = b"user\0postgres\0database\0" + database.encode() + b"\0client_encoding\0UTF8\0\0"
        self.socket.sendall(struct.pack("!II", len(given) + 8, 196608) + given)
        self.greeting = b""
        while (message := _read(self.socket))[:1] != b"Z":
            if message[:1] == b"S":
                self.greeting += message


class _Pool:
    """Sessions, each lent to one client at a time, the one that rested longest first."""

    def __init__(self, path: Path, database: str, sessions: int) -> None:
        self._open = partial(_Session, path, database)
        self._idle = deque(self._open() for _ in range(sessions))
        self._free = threading.Condition()
        self._closed = False
        self.greeting = self._idle[0].greeting

    def take(self) -> _Session:
        with self._free:
            self._free.wait_for(lambda: self._idle)
            return self._idle.popleft()

    def give_back(self, session: _Session, whole: bool) -> None:
        """A session whose client left it in the middle of a transaction is replaced."""
        with self._free:
            if whole and not self._closed:
                self._idle.append(session)
            else:
                session.socket.close()
                if not self._closed:
                    self._idle.append(self._open())
            self._free.notify()

    def close(self) -> None:
        """Close the sessions; one that is lent is closed as it comes back."""
        with self._free:
            self._closed = True
            for session in self._idle:
                session.socket.close()


def _accept(listener: socket.socket, pool: _Pool) -> None:
    for number in itertools.count(1):
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(client, pool, number), daemon=True).start()


def _serve(client: socket.socket, pool: _Pool, number: int) -> None:
    """Pass a client's transactions on, each to the next session."""
    with client, contextlib.suppress(OSError):
        (size,) = struct.unpack("!I", _exactly(client, 4))
        code = struct.unpack("!I", _exactly(client, size - 4)[:4])[0]
        assert code not in (_SSL, _CANCEL), "a client on a Unix socket asks for neither"
        made_up = struct.pack("!cIII", b"K", 12, os.getpid() + number * 100_000, number)
        client.sendall(struct.pack("!cII", b"R", 8, 0) + pool.greeting + made_up + b"Z\0\0\0\5I")
        while (message := _read(client))[:1] != b"X":
            if message[:1] == b"H":
                continue  # a flush after the end of a pipeline: there is nothing to flush
            session = pool.take()
            whole = False
            try:
                whole = _transaction(client, session.socket, message)
            finally:
                pool.give_back(session, whole)


def _transaction(client: socket.socket, server: socket.socket, message: bytes) -> bool:
    """Pass messages to and fro until no transaction is open any more; False if the client left in the middle."""
    while message[:1] != b"X":
        server.sendall(message)
        if message[:1] in (b"S", b"Q"):
            while (answer := _read(server))[:1] != b"Z":
                client.sendall(answer)
            client.sendall(answer)
            if answer[5:6] == b"I":
                return True
        message = _read(client)
    return False


def _read(source: socket.socket) -> bytes:
    """One message: its kind, its size, and the rest."""
    head = _exactly(source, 5)
    return head + _exactly(source, struct.unpack("!I", head[1:])[0] - 4)


def _exactly(source: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        part = source.recv(size - len(parts))
        if not part:
            raise ConnectionError("closed")
        parts += part
    return parts
