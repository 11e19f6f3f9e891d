"""LangGraph's Postgres store, under its paths: made of a URL, a connection or a pool."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import psycopg_pool
import pytest

from flowfn import InvalidInput, stores
from graph_compat.store.postgres import PostgresStore
from graph_compat.store.postgres.aio import AsyncPostgresStore

HERE = ("users", "ada")


@pytest.fixture(params=["url", "connection", "pool"])
def conn(request: pytest.FixtureRequest, postgres_database: Any) -> Iterator[Any]:
    """What a program may have at hand."""
    url = postgres_database.url
    stores.PostgresStore(url).close()
    postgres_database.execute("DELETE FROM flowfn_store.item")
    with ExitStack() as stack:
        if request.param == "connection":
            yield stack.enter_context(psycopg.connect(url, autocommit=True))
        elif request.param == "pool":
            yield stack.enter_context(psycopg_pool.ConnectionPool(url, min_size=1, open=True))
        else:
            yield url


def test_a_blocking_program(conn: Any) -> None:
    """It keeps what it is given in that database."""
    with PostgresStore(conn, ttl={"default_ttl": 5}) as store:
        store.setup()
        store.put(HERE, "k", {"n": 10})
        assert [item.key for item in store.search(("users",), filter={"n": {"$gt": "9"}})] == ["k"]
        store.delete(HERE, "k")
        assert store.list_namespaces() == []


def test_an_asyncio_program(conn: Any) -> None:
    """Every method is awaited, those for sweeping too; from `async with`, or after `setup()`."""

    async def program() -> list[Any]:
        async with AsyncPostgresStore(conn) as store:
            await store.aput(HERE, "k", {"n": 1}, ttl=0)
            found = await store.aget(HERE, "k", refresh_ttl=False)
            await store.start_ttl_sweeper()
            return [found and found.value, await store.sweep_ttl(), await store.stop_ttl_sweeper(5)]

    assert asyncio.run(program()) == [{"n": 1}, 1, True]


def test_a_store_closes_what_it_opened(postgres_database: Any) -> None:
    """`from_conn_string`, in both worlds, with the options of LangGraph's."""
    with PostgresStore.from_conn_string(postgres_database.url, pipeline=True) as store:
        store.setup()
    assert store.closed

    async def program() -> bool:
        options: Any = {"pool_config": {"min_size": 1, "max_size": 2}}
        async with AsyncPostgresStore.from_conn_string(postgres_database.url, **options) as store:
            await store.setup()
            return store.batch([]) == []

    assert asyncio.run(program())


def test_what_is_no_connection_is_refused() -> None:
    """What is neither a connection nor a pool is refused with what to pass."""
    with pytest.raises(TypeError, match="is no connection"):
        PostgresStore(42)


@pytest.mark.parametrize("kind", [PostgresStore, AsyncPostgresStore])
def test_values_are_compared_by_their_cosine(kind: Any, postgres_database: Any) -> None:
    """Another measure is refused, as it would find other items; what only makes an index quicker is taken."""
    index: dict[str, Any] = {"dims": 1, "embed": lambda texts: [[1.0] for _ in texts]}
    with pytest.raises(InvalidInput, match="distance_type='l2', and values are compared by their cosine"):
        kind(postgres_database.url, index={**index, "distance_type": "l2"})
    made = kind(
        postgres_database.url,
        index={**index, "distance_type": "cosine", "ann_index_config": {"kind": "hnsw"}},
    )
    if kind is PostgresStore:
        made.close()
