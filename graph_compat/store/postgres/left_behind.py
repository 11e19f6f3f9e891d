"""A memory of LangGraph's in the same database, which isn't seen here until it is taken over."""

from __future__ import annotations

import logging
from contextlib import closing

from flowfn.stores import BaseStore
from graph_compat.importing.tables import OF_STORES, connected, tables_of

logger = logging.getLogger("graph_compat")


def tell_of_theirs(store: BaseStore, url: str) -> None:
    """Log that there is one, as long as the store has nothing of its own: who moves a program here finds it empty."""
    if not store.list_namespaces(limit=1) and tables_of(url) >= OF_STORES and _holds_items(url):
        logger.warning(
            "the database has the memory of a store of LangGraph's, which isn't seen until it is taken over:"
            " flowfn import-langgraph URL --to URL"
        )


def _holds_items(url: str) -> bool:
    with closing(connected(url)) as database:
        return database.execute("SELECT 1 FROM store LIMIT 1").fetchone() is not None
