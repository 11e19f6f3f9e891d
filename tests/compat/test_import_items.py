"""`flowfn import-langgraph`: the memory that a store of LangGraph's kept, as items of a store of flowfn's."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver as SaverOfTheirs
from langgraph.func import entrypoint
from langgraph.store.base import BaseStore as Theirs
from langgraph.store.postgres import PostgresStore as PostgresOfTheirs
from langgraph.store.sqlite import SqliteStore as SqliteOfTheirs

from checkpointers import SqliteSaver
from flowfn.cli import main
from flowfn.errors import CorruptDataError, InvalidInput, NotADatabase
from flowfn.stores import InMemoryStore, PostgresStore, SqliteStore
from flowfn.stores.store import Store
from graph_compat.importing import import_items
from graph_compat.store.postgres import PostgresStore as PostgresOfPrograms
from graph_compat.store.postgres.aio import AsyncPostgresStore

from ..postgres_database import Database, new_database

# LangGraph's `SqliteStore` writes times by what Python 3.12 warns of.
pytestmark = pytest.mark.filterwarnings("ignore:The default datetime adapter:DeprecationWarning")

ADA, BOB = ("users", "ada"), ("users", "bob", "notes")


def remember(store: Theirs) -> None:
    """What a program of LangGraph's keeps."""
    store.put(ADA, "food", {"likes": ["ink", {"é": None}], "n": 1.5})
    store.put(BOB, "1", {"text": "short"}, ttl=5)
    store.put(ADA, "last", {"at": 1})
    store.put(ADA, "food", {"likes": ["paper"], "n": 2})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of LangGraph's `SqliteStore`."""
    with SqliteOfTheirs.from_conn_string(str(tmp_path / "old.db")) as store:
        store.setup()
        remember(store)
    return tmp_path / "old.db"


@pytest.fixture
def theirs(postgres_server: str) -> Iterator[Database]:
    """A Postgres database of LangGraph's `PostgresStore`."""
    with new_database(postgres_server) as database:
        with PostgresOfTheirs.from_conn_string(database.url) as store:
            store.setup()
            remember(store)
        yield database


@pytest.fixture(params=["sqlite", "postgres"])
def source(request: pytest.FixtureRequest) -> Path | str:
    """Each database that LangGraph's stores may have written."""
    if request.param == "sqlite":
        return Path(request.getfixturevalue("file"))
    return str(request.getfixturevalue("theirs").url)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Each store in turn."""
    made: Store = InMemoryStore()
    if request.param == "sqlite":
        made = SqliteStore(tmp_path / "new.db")
    elif request.param == "postgres":
        made = PostgresStore(request.getfixturevalue("postgres_url"))
    with made:
        for namespace in made.list_namespaces():
            for item in made.search(namespace):
                made.delete(item.namespace, item.key)
        yield made


def kept(store: Any) -> list[Any]:
    """All of it, in the order of the places; LangGraph's times on SQLite are in UTC, and don't say so."""
    found = store.search(("users",))
    times = {item.key: (item.created_at, item.updated_at) for item in found}
    aware = {key: [at if at.tzinfo else at.replace(tzinfo=UTC) for at in both] for key, both in times.items()}
    return sorted((item.namespace, item.key, item.value, aware[item.key]) for item in found)


def test_a_memory_is_what_langgraph_has(source: Path | str, target: Store) -> None:
    """Namespaces, keys, values and both times of each item."""
    opened = SqliteOfTheirs if isinstance(source, Path) else PostgresOfTheirs
    with opened.from_conn_string(str(source)) as store:
        expected = kept(store)
    assert import_items(source, target) == 3
    assert kept(target) == expected


def test_the_last_put_comes_first(theirs: Database) -> None:
    """A search without a query goes by that."""
    with InMemoryStore() as target:
        import_items(theirs.url, target)
        assert [item.key for item in target.search(("users",))] == ["food", "last", "1"]


def test_times_to_live_come_along(file: Path) -> None:
    """What has less than a minute left there has it here."""
    with sqlite3.connect(file) as db:
        db.execute("UPDATE store SET expires_at = '2001-02-03 04:05:06' WHERE key = '1'")
    db.close()
    with InMemoryStore() as target:
        import_items(file, target)
        assert target.sweep_ttl() == 1
        assert target.get(BOB, "1") is None


def test_a_store_without_times_to_live(file: Path) -> None:
    """Older ones of LangGraph's had no columns for them."""
    with sqlite3.connect(file) as db:
        db.executescript(
            "DROP INDEX idx_store_expires_at; ALTER TABLE store DROP expires_at; ALTER TABLE store DROP ttl_minutes"
        )
    db.close()
    with InMemoryStore() as target:
        assert import_items(file, target) == 3


def test_what_is_there_stays(source: Path | str, target: Store) -> None:
    """So the command may be repeated after the program has gone on."""
    target.put(ADA, "food", {"likes": []})
    assert import_items(source, target) == 2
    assert import_items(source, target) == 0
    found = target.get(ADA, "food")
    assert found is not None
    assert found.value == {"likes": []}


def test_what_is_compared_with_queries_is_embedded(file: Path) -> None:
    """By the function of the store that takes it; LangGraph's vectors may be of another."""
    texts: list[str] = []

    def embed(given: list[str]) -> list[list[float]]:
        texts.extend(given)
        return [[1.0, float(len(text))] for text in given]

    with InMemoryStore(index={"dims": 2, "embed": embed, "fields": ["text"]}) as target:
        import_items(file, target)
        assert texts == ["short"]
        assert [item.key for item in target.search(("users", "bob"), query="shore") if item.score] == ["1"]


def test_an_item_that_cannot_be_read(file: Path) -> None:
    """Nothing is taken over, and the item is named."""
    with sqlite3.connect(file) as db:
        db.execute("UPDATE store SET value = '[1' WHERE key = 'last'")
    db.close()
    with InMemoryStore() as target:
        with pytest.raises(CorruptDataError, match=r"item 'last' of 'users\.ada' can't be read"):
            import_items(file, target)
        assert target.list_namespaces() == []


def test_what_holds_no_store_is_refused(tmp_path: Path) -> None:
    """Neither a file of flowfn's, nor none."""
    SqliteStore(tmp_path / "ours.db").close()
    for name, said in (
        ("ours.db", "holds no store of LangGraph's"),
        ("none.db", "is not a database of LangGraph's"),
    ):
        with pytest.raises(InvalidInput, match=said):
            import_items(tmp_path / name, InMemoryStore())


def test_the_source_is_only_read(file: Path) -> None:
    """Not a byte of it changes."""
    before = file.read_bytes()
    import_items(file, InMemoryStore())
    assert file.read_bytes() == before


def test_a_file_of_theirs_is_refused_with_the_remedy(file: Path) -> None:
    """A program that moves here finds out how its memory comes along."""
    with pytest.raises(NotADatabase, match=r"flowfn import-langgraph .*old\.db --to new\.db"):
        SqliteStore(file)


def test_a_memory_in_postgres_is_told_of(theirs: Database, caplog: pytest.LogCaptureFixture) -> None:
    """Blocking and asyncio, as long as the program has no other."""
    with PostgresOfPrograms.from_conn_string(theirs.url) as store:
        store.setup()
        assert ["flowfn import-langgraph URL --to URL" in each for each in caplog.messages] == [True]

    async def program() -> None:
        async with AsyncPostgresStore.from_conn_string(theirs.url) as store:
            assert len(caplog.messages) == 2
            await store.aput(ADA, "k", {"n": 1})
            await store.setup()

    asyncio.run(program())
    assert len(caplog.messages) == 2


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What `flowfn import-langgraph ARGUMENTS` prints."""
    assert main(["import-langgraph", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_the_command_takes_a_store_alone(
    capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path
) -> None:
    """The new file has no threads, and the memory."""
    assert run(capsys, file, "--to", tmp_path / "new.db") == "3 items of its store\n"
    with SqliteStore(tmp_path / "new.db") as store:
        assert len(store.search(("users",))) == 3


def test_the_command_takes_threads_and_a_store(
    capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path
) -> None:
    """Of one file into one file, which a saver and a store of flowfn's share."""
    with SaverOfTheirs.from_conn_string(str(file)) as saver:
        entrypoint(checkpointer=saver)(lambda n: n + 1).invoke(1, {"configurable": {"thread_id": "t"}})
    assert run(capsys, file, "--to", tmp_path / "new.db") == "t: 2 checkpoints\n3 items of its store\n"
    with SqliteSaver(tmp_path / "new.db") as ours, SqliteStore(tmp_path / "new.db") as store:
        assert [row.id for row in ours.threads()] == ["t"]
        assert len(store.search(("users",))) == 3
