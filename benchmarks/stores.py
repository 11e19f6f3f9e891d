"""W16: long-term memory: items put one by one, read one by one, and searched for by a field, ten of them each time."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import floor, peers
from benchmarks.harness import Case
from benchmarks.programs import timed

PUT, GET, SEARCH = "W16 store, put", "W16 store, get", "W16 store, search by a field"
UNITS = {PUT: "µs/item", GET: "µs/item", SEARCH: "µs/search"}
NAMESPACES = 10
FOUND = 10
"""Items that a search passes, of all that there are."""

Namespace = tuple[str, ...]
Open = Callable[[Path], AbstractContextManager[Any]]
"""A path to a store with `put`, `get` and `search`."""


def cases() -> Iterator[Case]:
    """For each operation, in memory and on SQLite: the floor, where there is one, and the subjects."""
    for workload, unit in UNITS.items():
        for place in (peers.MEMORY, peers.PROCESS):
            for name, stores in STORES.items():
                opened = stores[place]
                known = opened is not None and (name != "floor" or workload != SEARCH)
                sample = partial(run, workload, opened) if known else None
                yield Case(workload, place, name, unit, peers.SURVIVES[place], sample)


def run(workload: str, opened: Open, directory: Path, size: int) -> float:
    """An operation on a store, which is filled before where it reads."""
    with opened(directory / "store.db") as store:
        if workload != PUT:
            put(store, size)
        times = size // FOUND if workload == SEARCH else size
        return timed(partial(OPERATIONS[workload], store, size), size) / times * 1e6


def put(store: Any, size: int) -> int:
    """Notes of some words, ten of each kind."""
    for number in range(size):
        store.put(namespace(number), str(number), {"kind": number // FOUND, "text": f"note {number} " * 5})
    return size


def get(store: Any, size: int) -> int:
    """Each by its key."""
    return sum(store.get(namespace(number), str(number)) is not None for number in range(size))


def search(store: Any, size: int) -> int:
    """Each kind, in all namespaces."""
    kinds = range(size // FOUND)
    return sum(len(store.search(("notes",), filter={"kind": kind}, limit=size)) for kind in kinds)


OPERATIONS = {PUT: put, GET: get, SEARCH: search}


def namespace(number: int) -> Namespace:
    """Where a note is."""
    return ("notes", str(number % NAMESPACES))


class Dicts:
    """The floor in memory: a dict in a dict."""

    def __init__(self) -> None:
        self._kept: dict[Namespace, dict[str, Any]] = {}

    def put(self, namespace: Namespace, key: str, value: Any) -> None:
        self._kept.setdefault(namespace, {})[key] = value

    def get(self, namespace: Namespace, key: str) -> Any:
        return self._kept[namespace][key]


class Rows:
    """The floor on SQLite: a row that is committed, and one that is read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, namespace: Namespace, key: str, value: Any) -> None:
        floor.commit(self._connection, [json.dumps(value).encode()])

    def get(self, namespace: Namespace, key: str) -> Any:
        query = "SELECT value FROM record WHERE id = ?"
        return json.loads(self._connection.execute(query, (int(key) + 1,)).fetchone()[0])


@contextmanager
def rows(path: Path) -> Iterator[Rows]:
    """A new database."""
    with floor.database(path, floor.SYNCHRONOUS[peers.PROCESS]) as connection:
        yield Rows(connection)


def subject(memory: str, sqlite: str, opened: Callable[[Any, Path], Any]) -> dict[str, Open | None]:
    """A subject's stores, of these modules; None where it isn't installed."""
    in_memory, on_sqlite = peers.optional(memory), peers.optional(sqlite)
    if in_memory is None or on_sqlite is None:
        return {peers.MEMORY: None, peers.PROCESS: None}
    return {
        peers.MEMORY: lambda path: nullcontext(in_memory.InMemoryStore()),
        peers.PROCESS: lambda path: set_up(opened(on_sqlite.SqliteStore, path)),
    }


@contextmanager
def set_up(store: Any) -> Iterator[Any]:
    """A store with its tables."""
    with store as opened:
        getattr(opened, "setup", lambda: None)()
        yield opened


STORES: dict[str, dict[str, Open | None]] = {
    "floor": {peers.MEMORY: lambda path: nullcontext(Dicts()), peers.PROCESS: rows},
    "flowfn": subject("flowfn.stores", "flowfn.stores", lambda store, path: store(path)),
    "LangGraph": subject(
        "langgraph.store.memory",
        "langgraph.store.sqlite",
        lambda store, path: store.from_conn_string(str(path)),
    ),
}
"""By subject and place. LangGraph's store on SQLite commits with full fsync."""
