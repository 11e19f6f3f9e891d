"""LangGraph's own suite for savers, run against graph_compat's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.checkpoint.postgres.aio import AsyncPostgresSaver
from graph_compat.checkpoint.sqlite.aio import AsyncSqliteSaver

from ..postgres_database import Database

CAPABILITIES = [each.value for each in Capability]


def in_memory(_: pytest.FixtureRequest) -> Any:
    @checkpointer_test(name="InMemorySaver")
    async def savers() -> AsyncIterator[Any]:
        yield InMemorySaver()

    return savers


def in_sqlite(request: pytest.FixtureRequest) -> Any:
    folder: Path = request.getfixturevalue("tmp_path")
    names = iter(range(100))

    @checkpointer_test(name="AsyncSqliteSaver")
    async def savers() -> AsyncIterator[Any]:
        async with AsyncSqliteSaver.from_conn_string(str(folder / f"{next(names)}.db")) as saver:
            yield saver

    return savers


def in_postgres(request: pytest.FixtureRequest) -> Any:
    database: Database = request.getfixturevalue("postgres_database")

    @checkpointer_test(name="AsyncPostgresSaver")
    async def savers() -> AsyncIterator[Any]:
        database.empty()
        async with AsyncPostgresSaver.from_conn_string(database.url) as saver:
            yield saver

    return savers


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("make", [in_memory, in_sqlite, in_postgres])
async def test_every_check_passes(
    make: Callable[[Any], Any], capability: str, request: pytest.FixtureRequest
) -> None:
    """All of a capability's, and there are some."""
    report = await validate(make(request), capabilities={capability})
    found = report.results[capability]
    assert found.failures == []
    assert found.tests_passed > 0
