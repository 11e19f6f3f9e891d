"""The libraries under comparison, under one shape: LangGraph's functional API and graphs, which flowfn shares.

"flowfn" is its functional API, "graph_compat" what a LangGraph program gets by a change of its imports' prefix.

Rule: a workload is written once, against `Api`, and runs unchanged for every subject.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import postgres
from benchmarks.harness import Case

NONE, MEMORY, PROCESS, POWER = "none", "memory", "SQLite, process", "SQLite, power"
POSTGRES = "Postgres"
SURVIVES = {
    NONE: "nothing",
    MEMORY: "nothing",
    PROCESS: "process death",
    POWER: "power loss",
    POSTGRES: "power loss",
}
"""What each keeps where a commit is waited for."""

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

    def case(self, workload: str, storage: str, unit: str, run: Run, rounds: int | None = None) -> Case:
        """Its line of a workload. It is not measured where it lacks the storage."""
        given = self.storages.get(storage)
        if given is None:
            return Case(workload, storage, self.name, unit, "", None)
        sample = partial(run, self, given)
        return Case(workload, storage, self.name, unit, given.survives, sample, rounds=rounds)


Run = Callable[[Api, Storage, Path, int], float]
"""A subject, how it keeps what is done, an empty directory and a size to a figure."""

OURS = ("flowfn", "graph_compat")


def subjects() -> list[Api]:
    """flowfn, both of its front ends, and LangGraph, installed or not."""
    return [subject(name) for name in (*OURS, "LangGraph")]


def subject(name: str) -> Api:
    """One of them, without a look at the others."""
    return {"flowfn": flowfn, "graph_compat": graph_compat, "LangGraph": langgraph}[name]()


def flowfn() -> Api:
    """flowfn, from wherever this Python finds it."""
    library, savers = optional("flowfn"), optional("checkpointers")
    if not (library and savers):
        return Api("flowfn")
    return Api("flowfn", ours(savers), library.entrypoint, library.task, library.interrupt, library.Command)


def graph_compat() -> Api:
    """LangGraph's programs on flowfn."""
    func, savers = optional("graph_compat.func"), optional("checkpointers")
    types, graph = optional("graph_compat.types"), optional("graph_compat.graph")
    prebuilt = optional("graph_compat.prebuilt")
    if not (func and savers and types and graph):
        return Api("graph_compat")
    return Api(
        "graph_compat",
        ours(savers),
        func.entrypoint,
        func.task,
        types.interrupt,
        types.Command,
        graph,
        types.Send,
        prebuilt and prebuilt.create_react_agent,
    )


def ours(savers: Any) -> Mapping[str, Storage]:
    """flowfn's savers, at the default durability."""
    storages = {
        NONE: plain(lambda path: None, "nothing"),
        MEMORY: plain(lambda path: savers.MemorySaver(), "nothing"),
        PROCESS: plain(lambda path: savers.SqliteSaver(path, fsync="process"), "process death"),
        POWER: plain(lambda path: savers.SqliteSaver(path, fsync="power"), "power loss"),
    }
    if postgres.available():
        storages[POSTGRES] = plain(lambda path: savers.PostgresSaver(postgres.url()), "power loss")
    return storages


def langgraph() -> Api:
    """LangGraph at its safest, `durability="sync"`.

    That commits at the end of a superstep. Its savers commit what tasks wrote in the background, after the caller
    has the task's result, on SQLite with full fsync. So it stands beside both of flowfn's rows, and is neither.
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
        LATER,
        sync,
    )
    storages = {
        NONE: plain(lambda path: None, "nothing"),
        MEMORY: plain(lambda path: memory.InMemorySaver(), "nothing", sync),
        PROCESS: on_sqlite,
        POWER: on_sqlite,
    }
    if postgres.available() and (on_postgres := langgraph_on_postgres(sync)):
        storages[POSTGRES] = on_postgres
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


LATER = "all but the last few tasks"


def langgraph_on_postgres(options: Mapping[str, Any]) -> Storage | None:
    """Its Postgres savers, on one connection each, as its documents show them."""
    blocking, awaited = (
        optional("langgraph.checkpoint.postgres"),
        optional("langgraph.checkpoint.postgres.aio"),
    )
    if not (blocking and awaited):
        return None

    @contextmanager
    def opened(path: Path) -> Iterator[Any]:
        with blocking.PostgresSaver.from_conn_string(postgres.url()) as saver:
            saver.setup()
            yield saver

    @asynccontextmanager
    async def aopened(path: Path) -> AsyncIterator[Any]:
        async with awaited.AsyncPostgresSaver.from_conn_string(postgres.url()) as saver:
            await saver.setup()
            yield saver

    return Storage(opened, aopened, LATER, options)


def usable(storage: str) -> bool:
    """Whether this machine has it, for those who bring no storage themselves."""
    return storage != POSTGRES or postgres.available()


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
