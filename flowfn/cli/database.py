"""Which database a command means, and how it is opened for reading.

Guarantee: reading creates no file, schema or table, writes to none, and waits for nobody who writes.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import checkpointers
from checkpointers import CheckpointSaver, EncryptedSaver, SqliteSaver, open_saver
from flowfn.cli.failures import Usage
from flowfn.encryption import KeyRing
from flowfn.encryption.keys import VARIABLE as KEYS
from flowfn.errors import DatabaseReadOnly, SaverError
from flowfn.ports import Saver, ThreadRow
from flowfn.sqlite.file import absolute

if TYPE_CHECKING:
    from checkpointers import PostgresSaver

VARIABLE = "FLOWFN_DB"

Place = Path | str
"""An SQLite file, or the URL of a Postgres database."""


def place(given: str) -> Place:
    """What is meant by a path, an SQLite URI or a URL."""
    if given.startswith("file:"):
        return Path(absolute(given)[0])
    scheme, separator, rest = given.partition("://")
    if separator and scheme in ("postgresql", "postgres"):
        return given
    return Path(rest[1:]) if separator and scheme == "sqlite" else Path(given)


def choose(given: str | None) -> Place:
    """The database given, by option or by `FLOWFN_DB`, else the only file of flowfn's in this directory.

    Raises:
        Usage: there is no such file, or none or several to choose from.
    """
    if given is not None:
        found = place(given)
        if isinstance(found, Path) and not found.is_file():
            raise Usage(f"there is no database {given!r}: pass --db PATH of one that exists, or --db URL")
        return found
    return _only_one()


def _only_one() -> Path:
    found = [path for path in sorted(Path().glob("*.db")) if path.is_file() and _is_ours(path)]
    if len(found) == 1:
        return found[0]
    listed = (
        f"are several databases ({', '.join(map(str, found))})" if found else "is no database of flowfn's"
    )
    raise Usage(f"there {listed} in this directory: pass --db PATH or --db URL, or set {VARIABLE}")


def _is_ours(path: Path) -> bool:
    try:
        with _opened(path):
            return True
    except SaverError:
        return False


@contextmanager
def reading(place: Place) -> Iterator[Saver]:
    """The database, opened to be read; decrypted where `FLOWFN_KEY` is set.

    Raises:
        InvalidInput: `FLOWFN_KEY` holds no keys.
    """
    with as_it_is(place) as saver:
        yield with_keys(saver)


@contextmanager
def as_it_is(place: Place) -> Iterator[CheckpointSaver]:
    """The database, opened to be read; what is encrypted stays so."""
    with _opened(place) if isinstance(place, Path) else _connected(place) as saver:
        yield saver


def _connected(url: str) -> PostgresSaver:
    try:
        return checkpointers.PostgresSaver(url, create=False)
    except ModuleNotFoundError as error:
        raise Usage(
            f"{url.partition(':')[0]}://… needs {error.name}: pip install 'flowfn-durable[postgres]'"
        ) from error


@contextmanager
def writing(place: Place) -> Iterator[CheckpointSaver]:
    """The database, opened to be changed: one that is there. Who reads what is encrypted puts `with_keys` around it."""
    with reading(place):
        pass  # says what is wrong with it, and makes nothing
    saver = open_saver(place)
    assert isinstance(saver, CheckpointSaver)
    with saver:
        yield saver


def with_keys(saver: Saver) -> Saver:
    """A saver, encrypted where `FLOWFN_KEY` is set."""
    return EncryptedSaver(saver, KeyRing.from_env()) if os.environ.get(KEYS) else saver


@contextmanager
def _opened(path: Path) -> Iterator[SqliteSaver]:
    """The file, opened to be read.

    Without a log beside it nobody has it open, and it is read as it is; that works in a folder that
    can't be written to, and leaves no log behind. Of a file of an older format a copy is brought up to date.
    """
    has_log = os.path.exists(f"{path.resolve()}-wal")
    address = f"{path.resolve().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    try:
        with ExitStack() as stack:
            yield stack.enter_context(closing(_saver(path, address, stack)))
    except SaverError as error:
        raise type(error)(str(error).replace(address, str(path))) from error


def _saver(path: Path, address: str, stack: ExitStack) -> SqliteSaver:
    try:
        return SqliteSaver(address)
    except DatabaseReadOnly as error:
        copy = Path(stack.enter_context(TemporaryDirectory())) / path.name
        with closing(sqlite3.connect(address, uri=True)) as old, closing(sqlite3.connect(copy)) as new:
            if old.execute("PRAGMA user_version").fetchone() == (0,):
                raise SaverError(
                    f"{path} is empty: no workflow has written to it yet. Name another file."
                ) from error
            old.backup(new)
        return SqliteSaver(copy)


def find_thread(saver: Saver, part: str) -> ThreadRow:
    """The thread of this id, or the only one whose id begins so, or ends so.

    Raises:
        Usage: there is none, or several.
    """
    exact = saver.thread(part)
    if exact is not None:
        return exact
    rows = {row.id: row for row in saver.threads()}
    return rows[_meant(rows, part, "thread", "flowfn ls")]


def find_checkpoint(saver: Saver, thread: str, part: str, namespace: str = "") -> str:
    """The checkpoint of this id, or the only one whose id begins so, or ends so.

    Raises:
        Usage: there is none, or several.
    """
    assert isinstance(saver, CheckpointSaver)
    ids = [id for where, id in saver.places(thread) if where == namespace]
    return _meant(ids, part, "checkpoint", f"flowfn history {thread}")


def _meant(ids: Iterable[str], part: str, noun: str, listing: str) -> str:
    """The id that a part of it means.

    Those that were made one after the other begin alike, by the time, and end in what is random. Where some begin so,
    none is looked for that ends so: `t1` never means `list1`.
    """
    ids = list(ids) if part else []
    if part in ids:
        return part
    found = [id for id in ids if id.startswith(part)] or [id for id in ids if id.endswith(part)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Usage(f"no {noun}'s id is {part!r}, or begins or ends so: `{listing}` lists them")
    some = ", ".join(found[:5]) + (", …" if len(found) > 5 else "")
    raise Usage(f"{part!r} may be {len(found)} {noun}s: {some}; write more of the id, or its last characters")
