"""What is particular to a file: errors, other processes, a saver beside it, and what a query reads."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, put
from flowfn.errors import (
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseVersion,
    InvalidInput,
    NotADatabase,
    SaverError,
)
from flowfn.stores import SqliteStore
from flowfn.stores.conformance.ranking import index

from ..processes import finish, output, started

HERE = ("users", "ada")

PRELUDE = """
import os, sys
from flowfn.stores import PutOp, SqliteStore
store = SqliteStore(sys.argv[1], timeout=60)
HERE = ("users", "ada")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one item."""
    with SqliteStore(tmp_path / "items.db") as store:
        store.put(HERE, "k", {"x": 1})
    return tmp_path / "items.db"


def start(path: Path, script: str, *args: str) -> subprocess.Popen[str]:
    """A process that has the store of `path` open, and runs a script."""
    return started(PRELUDE + script, str(path), *args)


# -- a saver's file ---------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["saver", "store"])
def test_checkpoints_and_memory_share_a_file(tmp_path: Path, first: str) -> None:
    """Whoever opens it first; each brings its own tables."""
    path = tmp_path / "app.db"
    (SqliteSaver if first == "saver" else SqliteStore)(path).close()
    with SqliteSaver(path, serde=PlainSerde()) as saver, SqliteStore(path) as store:
        for number in range(100):
            put(saver, checkpoint(f"c{number}"), thread=f"t{number}")
            store.put(HERE, f"k{number}", {"n": number})
    with SqliteSaver(path, serde=PlainSerde()) as saver, SqliteStore(path) as store:
        assert len(saver.threads()) == len(store.search((), limit=1000)) == 100


def test_a_newer_format_is_refused(path: Path) -> None:
    """The store's own, whatever format the saver's tables have."""
    SqliteSaver(path).close()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE item_format SET version = 99")
    connection.close()
    with pytest.raises(DatabaseVersion, match="format 99"):
        SqliteStore(path)
    SqliteSaver(path).close()


def test_no_index_is_how_another_one_begins(path: Path) -> None:
    """Each is kept up at every put, and the longer one answers the same questions."""
    with closing(sqlite3.connect(path)) as connection:
        indices = [
            (
                table,
                *(name for (name,) in connection.execute("SELECT name FROM pragma_index_info(?)", (index,))),
            )
            for index, table in connection.execute(
                "SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'"
            )
        ]
    assert [(one, other) for one, other in permutations(indices, 2) if other[: len(one)] == one] == []


# -- what can be wrong with a file ------------------------------------------------------------------


def test_another_application_s_file_is_left_alone(tmp_path: Path) -> None:
    """LangGraph's own store is such an application."""
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE store (prefix TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotADatabase, match="another application"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_locked_file_can_be_read(path: Path) -> None:
    """`DatabaseLocked` is for who writes, after `timeout`."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with SqliteStore(path, timeout=0.0) as store:
        assert store.get(HERE, "k") is not None
        with pytest.raises(DatabaseLocked, match="timeout"):
            store.put(HERE, "k", {"x": 2})
    other.close()


def test_a_full_file_keeps_what_it_had(path: Path) -> None:
    """A batch that doesn't fit is kept not at all."""
    with SqliteStore(path) as store:
        writer = store._database._connected().writer
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(SaverError, match="full"):
            store.put(HERE, "k", {"big": "x" * 1_000_000})
        assert store.search(())[0].value == {"x": 1}


def test_a_read_only_file_can_be_read(path: Path) -> None:
    """Writing says what to make writable."""
    with SqliteStore(f"file:{path}?mode=ro") as store:
        assert store.get(HERE, "k") is not None
        with pytest.raises(DatabaseReadOnly, match="writable"):
            store.put(HERE, "k", {"x": 2})


def test_a_closed_store_says_so(path: Path) -> None:
    """And how to open it again."""
    store = SqliteStore(path)
    store.close()
    store.close()
    with pytest.raises(
        SaverError, match=r"This SqliteStore of .* is closed. Open it again: `SqliteStore\(path\)`"
    ):
        store.get(HERE, "k")


def test_a_path_is_needed() -> None:
    """An empty one would be a temporary database that nobody finds again."""
    with pytest.raises(InvalidInput, match="names no file"):
        SqliteStore("")
    with pytest.raises(InvalidInput, match="path=5 names no file"):
        SqliteStore(5)  # type: ignore[arg-type]


# -- other processes --------------------------------------------------------------------------------


def test_a_kill_loses_nothing_that_was_put(tmp_path: Path) -> None:
    """G1: after `kill -9` in a loop of batches, all whose end was seen are there, and each is whole."""
    path = tmp_path / "items.db"
    script = """
for number in range(1_000_000):
    store.batch([PutOp(HERE, f"{number}-{half}", {"n": number, "text": "x" * 2000}) for half in range(2)])
    print(number, flush=True)
"""
    process = start(path, script)
    seen = [int(output(process).readline()) for _ in range(100)]
    process.kill()
    seen += [int(line) for line in output(process) if line.endswith("\n")]
    process.communicate()
    with SqliteStore(path) as store:
        kept = [item.value["n"] for item in store.search(HERE, limit=10**6)][::-1]
        assert kept == [number for number in range(len(kept) // 2) for _ in range(2)]
        assert len(kept) // 2 >= len(seen)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def test_processes_put_at_once(tmp_path: Path) -> None:
    """Each key of each process, and the last put of the one that they share; none fails for being second."""
    path = tmp_path / "items.db"
    script = """
for number in range(100):
    store.put((*HERE, sys.argv[2]), f"k{number}", {"n": number})
    store.put(HERE, "shared", {"n": number})
"""
    for process in [start(path, script, f"p{number}") for number in range(4)]:
        finish(process)
    with SqliteStore(path) as store:
        assert len(store.search(HERE, limit=10**6)) == 401
        shared = store.get(HERE, "shared")
        assert shared is not None
        assert shared.value == {"n": 99}


def test_a_put_is_seen_by_the_other_process(path: Path) -> None:
    """At once, and as the last."""
    script = """
store.put(HERE, "theirs", {"x": 2})
print([item.key for item in store.search(HERE)])
"""
    with SqliteStore(path) as store:
        assert finish(start(path, script)) == "['theirs', 'k']\n"
        assert [item.key for item in store.search(HERE)] == ["theirs", "k"]


def test_a_forked_child_has_its_own_connection(path: Path) -> None:
    """Both go on, also where the parent's sweeper is gone in the child."""
    script = """
done = store.start_ttl_sweeper(60)
child = os.fork()
if child == 0:
    store.put(HERE, "child", {})
    assert store.stop_ttl_sweeper(0)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
store.put(HERE, "parent", {})
print([item.key for item in store.search(HERE)], done.done())
store.close()
"""
    assert finish(start(path, script)) == "['parent', 'child', 'k'] False\n"


# -- what a query reads -----------------------------------------------------------------------------


def decoded(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The values that the store decodes from now on."""
    from flowfn.stores import reading as module

    seen: list[Any] = []

    def spying(data: Any, serde: Any) -> Any:
        seen.append(data)
        return decode(data, serde)

    decode = module.decode
    monkeypatch.setattr(module, "decode", spying)
    return seen


def test_a_search_decodes_what_it_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the namespace, let alone the file: with and without a filter, and with a query."""
    with SqliteStore(":memory:", index=index()) as store:
        for number in range(300):
            store.put((*HERE, f"n{number % 3}"), f"k{number}", {"text": "a" * (number % 7), "n": number})
        seen = decoded(store, monkeypatch)
        for asked in (
            {},
            {"filter": {"n": {"$lt": 99.5}}},
            {"query": "a"},
            {"query": "a", "filter": {"n": 7}},
        ):
            seen.clear()
            found = store.search(HERE, limit=5, **asked)  # type: ignore[arg-type]
            assert len(seen) == len(found) > 0


def test_no_query_scans_the_file() -> None:
    """Getting, putting, sweeping, and searching a namespace use an index each."""
    store = SqliteStore(":memory:", index=index())
    connection = store._database._connected().writer
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    store.put(HERE, "k", {"text": "a"}, ttl=1)
    store.get(HERE, "k")
    store.search(HERE, filter={"n": 1})
    store.search(HERE, query="a")
    store.list_namespaces(prefix=("users",))
    store.delete(HERE, "k")
    store.sweep_ttl()
    connection.set_trace_callback(None)
    queries = [
        text for text in statements if text.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
    ]
    steps = [row[3] for text in queries for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")]
    store.close()
    assert len(queries) > 12
    assert [step for step in steps if step.startswith("SCAN") and "item" in step] == []
