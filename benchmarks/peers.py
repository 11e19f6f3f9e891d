"""The libraries under comparison, under one shape: LangGraph's functional API and graphs, which flowfn shares.

Rule: a workload is written once, against `Api`, and runs unchanged for every subject.
"""

import importlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import postgres

NONE, MEMORY, PROCESS, POWER = "none", "memory", "SQLite, process", "SQLite, power"
POSTGRES = "Postgres"

OpenSaver = Callable[[Path], AbstractContextManager[Any]]
OpenAsyncSaver = Callable[[Path], AbstractAsyncContextManager[Any]]


@dataclass(frozen=True)
class Storage:
    """How to open a saver on a file, for blocking and for asyncio callers, and what it keeps of seen work.

    `options` go to every invoke.
    """

    open: OpenSaver
    aopen: OpenAsyncSaver
    survives: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Api:
    """One subject. `storages` is empty where it isn't installed."""

    name: str
    storages: Mapping[str, Storage] = field(default_factory=dict)
    entrypoint: Any = None
    task: Any = None
    interrupt: Any = None
    command: Any = None
    graph: Any = None
    """The module with `StateGraph` and `START`; `send` makes a Send."""
    send: Any = None
    agent: Any = None
    """`create_react_agent`."""


def subjects() -> list[Api]:
    """flowfn and its peers, installed or not."""
    return [flowfn(), langgraph()]


def flowfn() -> Api:
    """flowfn, from wherever this Python finds it."""
    library, savers = optional("flowfn"), optional("checkpointers")
    if not hasattr(library, "entrypoint") or not hasattr(savers, "SqliteSaver"):
        return Api("flowfn")
    storages = {
        NONE: plain(lambda path: None, "nothing"),
        MEMORY: plain(lambda path: savers.MemorySaver(), "nothing"),
        PROCESS: plain(lambda path: savers.SqliteSaver(path, fsync="process"), "process death"),
        POWER: plain(lambda path: savers.SqliteSaver(path, fsync="power"), "power loss"),
    }
    if postgres.available():
        storages[POSTGRES] = plain(lambda path: savers.PostgresSaver(postgres.url()), "power loss")
    graph, types = optional("graph_compat.graph"), optional("graph_compat.types")
    prebuilt = optional("graph_compat.prebuilt")
    return Api(
        "flowfn",
        storages,
        library.entrypoint,
        library.task,
        library.interrupt,
        library.Command,
        graph,
        types and types.Send,
        prebuilt and prebuilt.create_react_agent,
    )


def langgraph() -> Api:
    """LangGraph at its safest, `durability="sync"`.

    Its SQLite saver commits with full fsync, but in the background, after the caller has the task's result.
    So it stands beside both of flowfn's rows, and is neither.
    """
    func, memory = optional("langgraph.func"), optional("langgraph.checkpoint.memory")
    sqlite, asqlite = optional("langgraph.checkpoint.sqlite"), optional("langgraph.checkpoint.sqlite.aio")
    types, graph = optional("langgraph.types"), optional("langgraph.graph")
    prebuilt = optional("langgraph.prebuilt")
    if not (func and memory and sqlite and asqlite and types and graph):
        return Api("LangGraph")
    sync = {"durability": "sync"}
    on_sqlite = Storage(
        lambda path: sqlite.SqliteSaver.from_conn_string(str(path)),
        lambda path: asqlite.AsyncSqliteSaver.from_conn_string(str(path)),
        "all but the last few tasks",
        sync,
    )
    storages = {
        NONE: plain(lambda path: None, "nothing"),
        MEMORY: plain(lambda path: memory.InMemorySaver(), "nothing", sync),
        PROCESS: on_sqlite,
        POWER: on_sqlite,
    }
    return Api(
        "LangGraph",
        storages,
        func.entrypoint,
        func.task,
        types.interrupt,
        types.Command,
        graph,
        types.Send,
        prebuilt and prebuilt.create_react_agent,
    )


def optional(name: str) -> Any:
    """A module, or None where it isn't installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def plain(make: Callable[[Path], Any], survives: str, options: Mapping[str, Any] | None = None) -> Storage:
    """A storage with one saver for both worlds, closed at the end if it can be."""

    @contextmanager
    def opened(path: Path) -> Iterator[Any]:
        saver = make(path)
        try:
            yield saver
        finally:
            if hasattr(saver, "close"):
                saver.close()

    @asynccontextmanager
    async def aopened(path: Path) -> AsyncIterator[Any]:
        with opened(path) as saver:
            yield saver

    return Storage(opened, aopened, survives, options or {})
