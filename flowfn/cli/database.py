"""Which database file a command means, and how it is opened for reading.

Guarantee: reading creates no file, writes to none, and waits for nobody who writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from checkpointers import EncryptedSaver, SqliteSaver
from flowfn.cli.failures import Usage
from flowfn.encryption import KeyRing
from flowfn.encryption.keys import VARIABLE as KEYS
from flowfn.errors import DatabaseReadOnly, SaverError
from flowfn.ports import Saver, ThreadRow

VARIABLE = "FLOWFN_DB"


def choose(given: Path | None) -> Path:
    """The file given, by option or by `FLOWFN_DB`, else the only database of flowfn's in this directory.

    Raises:
        Usage: there is no such file, or none or several to choose from.
    """
    if given is not None:
        if not given.is_file():
            raise Usage(f"there is no database {str(given)!r}: pass --db PATH of one that exists")
        return given
    found = [path for path in sorted(Path().glob("*.db")) if _is_ours(path)]
    if len(found) == 1:
        return found[0]
    listed = f"several databases ({', '.join(map(str, found))})" if found else "no database of flowfn's"
    raise Usage(f"there is {listed} in this directory: pass --db PATH, or set {VARIABLE}=PATH")


def _is_ours(path: Path) -> bool:
    try:
        with _opened(path):
            return True
    except SaverError:
        return False


@contextmanager
def reading(path: Path) -> Iterator[Saver]:
    """The database, opened to be read; decrypted where `FLOWFN_KEY` is set.

    Raises:
        InvalidInput: `FLOWFN_KEY` holds no keys.
    """
    with _opened(path) as saver:
        yield with_keys(saver)


def with_keys(saver: Saver) -> Saver:
    """A saver, encrypted where `FLOWFN_KEY` is set."""
    return EncryptedSaver(saver, KeyRing.from_env()) if os.environ.get(KEYS) else saver


@contextmanager
def _opened(path: Path) -> Iterator[SqliteSaver]:
    """The file, opened to be read.

    Without a log beside it nobody has it open, and it is read as it is; that works in a folder that
    can't be written to, and leaves no log behind.
    """
    has_log = os.path.exists(f"{path.resolve()}-wal")
    address = f"{path.resolve().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    try:
        with closing(SqliteSaver(address)) as saver:
            yield saver
    except DatabaseReadOnly as error:
        raise SaverError(f"{path} is empty: no workflow has written to it yet. Name another file.") from error
    except SaverError as error:
        raise type(error)(str(error).replace(address, str(path))) from error


def find_thread(saver: Saver, prefix: str) -> ThreadRow:
    """The thread of this id, or the only one whose id begins so.

    Raises:
        Usage: there is none, or several.
    """
    exact = saver.thread(prefix)
    if exact is not None:
        return exact
    found = [row for row in saver.threads() if prefix and row.id.startswith(prefix)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Usage(f"no thread's id is, or begins with, {prefix!r}: `flowfn ls` lists them")
    listed = ", ".join(row.id for row in found[:5]) + (", …" if len(found) > 5 else "")
    raise Usage(f"{len(found)} threads begin with {prefix!r}: {listed}; write more of the id")
