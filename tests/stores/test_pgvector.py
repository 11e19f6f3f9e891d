"""Where pgvector is in the database, the server compares vectors, whatever was put before and beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from flowfn.stores import PostgresStore
from flowfn.stores.conformance.ranking import index

from ..postgres_database import Database, new_database

HERE = ("users", "ada")
TEXTS = {"a": "aaa", "b": "bbb", "ab": "ab", "none": "xyz"}
RANKED = [("a", 1.0), ("ab", 0.707107), ("none", 0.0), ("b", 0.0)]


@pytest.fixture
def database(postgres_server: str, pgvector_database: Database) -> Iterator[Database]:
    """A database without the extension, on a server that has it."""
    with new_database(postgres_server) as database:
        yield database


def fill(database: Database, **texts: str) -> None:
    with PostgresStore(database.url, index=index()) as store:
        for key, text in texts.items():
            store.put(HERE, key, {"text": text})


def ranking(database: Database, **options: Any) -> list[tuple[str, float | None]]:
    with PostgresStore(database.url, index=index(), **options) as store:
        found = store.search(HERE, query="a")
        return [(item.key, None if item.score is None else round(item.score, 6)) for item in found]


def test_the_server_compares(pgvector_database: Database) -> None:
    """The bytes that are kept aren't read for it."""
    fill(pgvector_database, **TEXTS)
    pgvector_database.execute("UPDATE flowfn_store.vector SET data = decode(repeat('00', 12), 'hex')")
    assert ranking(pgvector_database) == RANKED


@pytest.mark.parametrize("schema", ["public", 'an "odd" one'])
def test_the_extension_may_come_later(database: Database, schema: str) -> None:
    """Wherever it is; what was put before is copied when a store is opened, and nothing is lost meanwhile."""
    fill(database, **TEXTS)
    assert ranking(database) == RANKED
    quoted = '"' + schema.replace('"', '""') + '"'
    database.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted}; CREATE EXTENSION vector SCHEMA {quoted}")
    assert ranking(database) == RANKED
    ((left,),) = database.execute("SELECT count(*) FROM flowfn_store.vector WHERE embedding IS NULL")
    assert left == 0


def test_a_store_that_knows_of_no_extension_goes_on(database: Database) -> None:
    """Its vectors have no copies yet, and are compared here with those that the server compared."""
    with PostgresStore(database.url, index=index()) as older:
        older.put(HERE, "b", {"text": "bbb"})
        database.execute("CREATE EXTENSION vector")
        with PostgresStore(database.url, index=index()) as newer:
            newer.put(HERE, "a", {"text": "aaa"})
            older.put(HERE, "ab", {"text": "ab"})
            newer.put(HERE, "aab", {"text": "aab"})
            for store in (older, newer):
                found = [item.key for item in store.search(HERE, query="a")]
                assert found == ["a", "aab", "ab", "b"]
            older.put(HERE, "a", {"text": "b"})
            assert newer.search(HERE, query="a")[0].key == "aab"


def test_what_pgvector_cannot_hold_is_compared_here(pgvector_database: Database) -> None:
    """A vector with an infinity in it, which others kept before."""

    def embed(texts: Any) -> list[list[float]]:
        return [[float("inf"), 0.0] if text == "endless" else [1.0, float(len(text))] for text in texts]

    with PostgresStore(pgvector_database.url, index={"dims": 2, "embed": embed, "fields": ["text"]}) as store:
        store.put(HERE, "x", {"text": "x"})
        store.put(HERE, "endless", {"text": "endless"})
        assert {item.key for item in store.search(HERE, query="y")} == {"x", "endless"}


def test_vectors_of_another_length_are_of_another_index(pgvector_database: Database) -> None:
    """They count as none: two programs may keep what they compare each in its own way."""
    fill(pgvector_database, a="a")
    with PostgresStore(
        pgvector_database.url, index={"dims": 1, "embed": lambda texts: [[1.0] for _ in texts]}
    ) as store:
        store.put(HERE, "short", {"text": "a"})
        found = [(item.key, item.score) for item in store.search(HERE, query="a")]
    assert found == [("short", 1.0), ("a", None)]


def test_who_may_not_change_the_tables_compares_here(database: Database) -> None:
    """A user who may read and write, but didn't make the store."""
    fill(database, **TEXTS)
    database.execute("CREATE EXTENSION vector")
    database.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    database.execute("GRANT USAGE ON SCHEMA flowfn_store TO guest")
    database.execute("GRANT ALL ON ALL TABLES IN SCHEMA flowfn_store TO guest")
    try:
        with PostgresStore(database.url.replace("postgres@", "guest@"), index=index()) as store:
            assert [item.key for item in store.search(HERE, query="a")] == ["a", "ab", "none", "b"]
    finally:
        database.execute("DROP OWNED BY guest; DROP ROLE guest")
