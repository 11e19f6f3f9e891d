"""The contract is no test module, and fails as tellingly as one; and a database with pgvector."""

import os
from collections.abc import Iterator

import pytest

from ..postgres_database import Database, new_database

pytest.register_assert_rewrite("flowfn.stores.conformance")


@pytest.fixture(scope="session")
def with_pgvector(postgres_server: str) -> Iterator[Database]:
    """A database of this worker's own that has the extension; the wheel's server comes with it."""
    if os.environ.get("FLOWFN_NO_PGVECTOR") == "1":
        pytest.skip("FLOWFN_NO_PGVECTOR=1")
    with new_database(postgres_server) as database:
        database.execute("CREATE EXTENSION vector")
        yield database


@pytest.fixture
def pgvector_database(with_pgvector: Database) -> Database:
    """The same, and a store in it has no items."""
    with_pgvector.empty_store()
    return with_pgvector
