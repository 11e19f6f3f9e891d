"""A cache is untrusted: what flowfn did not write whole is a miss and a warning, and nothing in it is executed."""

import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from flowfn import MemoryCache, task
from flowfn.caching import DiskCache
from flowfn.errors import CacheError

PICKLE, TEXT_MODE = 4, 3
"""diskcache's numbers for a pickled value, and for a file of text."""


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self._file,)


def squaring(cache: Any) -> tuple[Any, list[int]]:
    """A task that keeps its results there, and where it notes its runs."""
    ran: list[int] = []

    @task(cache=cache)
    def square(x: int) -> int:
        ran.append(x)
        return x * x

    return square, ran


Damage = Callable[[bytes], bytes]

DAMAGES: dict[str, Damage] = {
    "nothing": lambda data: b"",
    "a byte": lambda data: data[:1],
    "cut short": lambda data: data[:-1],
    "half": lambda data: data[: len(data) // 2],
    "a bit": lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
    "a huge length": lambda data: data[:21] + b"\xff\xff\xff\xff" + data[25:],
    "foreign": lambda data: b"not flowfn's at all",
    "a pickle": lambda data: pickle.dumps(Bomb(Path("touched"))),
    "a newer format": lambda data: data[:8] + bytes([data[8] + 1]) + data[9:],
}


def test_an_entry_in_another_s_place_is_a_miss(cache: Any, caplog: pytest.LogCaptureFixture) -> None:
    """G2: an index that rots leads to the row of another call, whole as it is."""
    square, ran = squaring(cache)
    three, four = (square.cache.explain(x).key for x in (3, 4) if square(x).result())
    cache.set(four, cache.get(three))
    assert (square(4).result(), ran) == (16, [3, 4, 4])
    assert "is another call's" in caplog.text


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_entry_is_a_miss(
    cache: Any,
    damage: Damage,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The task runs again, the log says why, and the entry is replaced by a good one."""
    monkeypatch.chdir(tmp_path)
    square, ran = squaring(cache)
    square(3)
    key = square.cache.explain(3).key
    cache.set(key, damage(cache.get(key)))
    assert "can't be read" in square.cache.explain(3).reasons[0]
    assert [square(3).result(), square(3).result()] == [9, 9]
    assert ran == [3, 3]
    assert len([record for record in caplog.records if "can't be read, and is a miss" in record.message]) >= 1
    assert not (tmp_path / "touched").exists()


def rewritten(cache: DiskCache, **columns: Any) -> None:
    """Change all rows of the database behind the cache's back."""
    cache.close()
    with sqlite3.connect(f"{cache.path}/cache.db") as connection:
        for name, value in columns.items():
            connection.execute(f"UPDATE OR REPLACE Cache SET {name} = ?", (value,))
    connection.close()


@pytest.fixture
def folder(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "cache")


def test_a_pickled_row_is_not_unpickled(
    folder: DiskCache, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A row that says its value is a pickle is a miss; so is one that says its key is."""
    bomb = pickle.dumps(Bomb(tmp_path / "touched"))
    square, ran = squaring(folder)
    square(3)
    rewritten(folder, mode=PICKLE, value=bomb)
    assert square(3).result() == 9
    assert "was not written by flowfn" in caplog.text
    rewritten(folder, raw=0, key=bomb)
    assert list(folder.keys()) == []
    assert square(3).result() == 9
    folder.clear()
    folder.close()
    assert ran == [3, 3, 3]
    assert not (tmp_path / "touched").exists()


def test_a_row_that_names_a_file_neither_reads_nor_removes_it(folder: DiskCache, tmp_path: Path) -> None:
    """A row can make the cache open no file, and delete none."""
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    square, ran = squaring(folder)
    square(3)
    rewritten(folder, mode=TEXT_MODE, filename=str(precious), value=None)
    assert square(3).result() == 9
    folder.clear()
    folder.close()
    assert ran == [3, 3]
    assert precious.read_text() == "mine"


def test_a_file_that_is_no_database(folder: DiskCache, caplog: pytest.LogCaptureFixture) -> None:
    """A cache whose file is garbage never answers, and never stops a task."""
    Path(folder.path).mkdir()
    (Path(folder.path) / "cache.db").write_bytes(b"garbage " * 4096)
    square, ran = squaring(folder)
    assert [square(3).result(), square(3).result()] == [9, 9]
    assert ran == [3, 3]
    assert "can't be used" in caplog.text


def test_a_folder_that_somebody_writes_to_all_the_time(
    folder: DiskCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A process that was stopped in the middle of a write holds up none that opens the cache for minutes."""
    folder.set("key", b"value")
    folder.close()
    monkeypatch.setattr("flowfn.caching.disk._LOCK_SECONDS", 0.01)
    square, ran = squaring(folder)
    with closing(sqlite3.connect(Path(folder.path, "cache.db"), isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert square(3).result() == 9
    assert "database is locked" in caplog.text
    assert [square(3).result(), square(3).result(), ran] == [9, 9, [3, 3]]


def test_a_folder_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A cache whose folder is a file never answers, and never stops a task."""
    (tmp_path / "file").write_text("")
    square, ran = squaring(DiskCache(tmp_path / "file" / "cache"))
    assert square(3).result() == 9
    assert ran == [3]
    assert "which is a miss" in caplog.text or "is a miss" in caplog.text


def test_a_server_that_is_down(caplog: pytest.LogCaptureFixture) -> None:
    """A server that can't be reached never stops a task."""
    square, ran = squaring("redis://127.0.0.1:1/0")
    assert square(3).result() == 9
    assert ran == [3]
    assert "can't be used" in caplog.text


def test_a_cache_that_cannot_be_asked_is_asked_for_no_claim(caplog: pytest.LogCaptureFixture) -> None:
    """A server that doesn't answer is waited for twice in a call, and told of twice: to read and to keep."""
    asked = []

    class Down:
        lease = 30.0

        def _fail(self, key: str, *more: Any) -> Any:
            asked.append(key)
            raise CacheError("the cache can't be used")

        get = set = claim = release = clear = _fail

    square, ran = squaring(Down())
    assert square(3).result() == 9
    assert (ran, len(asked), len(caplog.records)) == ([3], 2, 2)


def test_a_row_of_another_kind_is_replaced(folder: DiskCache) -> None:
    """It is a miss once, and not for as long as the folder is there."""
    square, ran = squaring(folder)
    square(3)
    rewritten(folder, mode=PICKLE, value=b"?")
    assert (square(3).result(), square(3).result(), ran) == (9, 9, [3, 3])


def test_a_type_that_is_not_allowed(cache: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A value whose type this program doesn't know isn't restored, and nothing is imported by its name."""
    from flowfn.caching.entries import Made, encode

    square, ran = squaring(cache)
    square(3)
    key = square.cache.explain(3).key
    import ormsgpack

    unknown = ormsgpack.packb(ormsgpack.Ext(127, b"os.system"))
    cache.set(key, encode(key, unknown, 0.0, Made()))
    assert square(3).result() == 9
    assert ran == [3, 3]
    assert "is a miss" in caplog.text


def test_what_cannot_be_stored_is_not_cached(caplog: pytest.LogCaptureFixture) -> None:
    """A result that flowfn couldn't restore exactly is returned, not kept, and the log says why."""
    ran = []

    @task(cache=MemoryCache())
    def opened() -> Any:
        ran.append(1)
        return (each for each in ())

    opened()
    opened()
    assert ran == [1, 1]
    assert "was not cached" in caplog.text
