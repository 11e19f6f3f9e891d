"""What graph_compat's savers do that LangGraph's don't, or that programs can't show."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypedDict

import aiosqlite
import pytest
from psycopg_pool import ConnectionPool

from flowfn.errors import InvalidInput
from graph_compat.checkpoint.base import BaseCheckpointSaver, copy_checkpoint
from graph_compat.checkpoint.base.id import uuid6
from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.checkpoint.postgres import PostgresSaver
from graph_compat.checkpoint.postgres.aio import AsyncPostgresSaver
from graph_compat.checkpoint.postgres.shallow import AsyncShallowPostgresSaver, ShallowPostgresSaver
from graph_compat.checkpoint.sqlite import SqliteSaver
from graph_compat.checkpoint.sqlite.aio import AsyncSqliteSaver
from graph_compat.func import entrypoint
from graph_compat.graph import START, StateGraph
from graph_compat.store.postgres import AsyncPostgresStore, PostgresStore
from graph_compat.store.sqlite import AsyncSqliteStore, SqliteStore

ONE: dict[str, Any] = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}


def document(id: str, version: Any, **values: Any) -> dict[str, Any]:
    """A checkpoint as LangGraph's users write it."""
    return {
        "v": 4,
        "id": id,
        "ts": "2024-05-04T06:32:42+00:00",
        "versions_seen": {},
        "updated_channels": None,
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, version),
    }


def test_a_connection_stands_for_its_file(tmp_path: Path) -> None:
    """A saver keeps threads in the file of the connection, which it leaves alone."""
    path = tmp_path / "runs.db"
    connection = sqlite3.connect(path)
    flow = entrypoint(checkpointer=SqliteSaver(connection))(lambda n: n + 1)
    assert flow.invoke(1, ONE) == 2
    flow.checkpointer.close()
    assert connection.execute("SELECT 1").fetchone() == (1,)
    connection.close()
    with SqliteSaver.from_conn_string(str(path)) as saver:
        assert entrypoint(checkpointer=saver)(lambda n: n).get_state(ONE).values == 2


async def test_a_connection_of_aiosqlite_stands_for_its_file(tmp_path: Path) -> None:
    """A connection of aiosqlite stands for its file too."""
    async with aiosqlite.connect(tmp_path / "runs.db") as connection:
        saver = AsyncSqliteSaver(connection)
        assert await entrypoint(checkpointer=saver)(lambda n: n + 1).ainvoke(1, ONE) == 2
        saver.close()
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
        assert (await entrypoint(checkpointer=saver)(lambda n: n).aget_state(ONE)).values == 2


@pytest.mark.parametrize("kind", [SqliteSaver, SqliteStore])
def test_a_connection_that_was_given_is_shown(kind: Any, tmp_path: Path) -> None:
    """The program finds what it gave, to close it; what a saver or store opened itself isn't there, which is said."""
    connection = sqlite3.connect(tmp_path / "runs.db")
    assert kind(connection).conn is connection
    connection.close()
    with kind.from_conn_string(str(tmp_path / "runs.db")) as opened, pytest.raises(AttributeError) as raised:
        opened.conn.execute("SELECT 1")
    assert str(raised.value) == (
        f"this {kind.__name__} was made of a path or a URL, and shows none of its own connections as conn:"
        f" make a connection and pass it, {kind.__name__}(conn), to find it there"
    )


@pytest.mark.parametrize("kind", [AsyncSqliteSaver, AsyncSqliteStore])
async def test_a_connection_of_aiosqlite_is_shown(kind: Any, tmp_path: Path) -> None:
    """A connection of aiosqlite that was given is shown; one that was opened here isn't."""
    async with aiosqlite.connect(tmp_path / "runs.db") as connection:
        assert kind(connection).conn is connection
    async with kind.from_conn_string(str(tmp_path / "runs.db")) as opened:
        assert not hasattr(opened, "conn")


@pytest.mark.parametrize("kind", [PostgresSaver, AsyncPostgresSaver, PostgresStore, AsyncPostgresStore])
def test_a_pool_that_was_given_is_shown(kind: Any, postgres_url: str) -> None:
    """The same for Postgres, where a pool is given most often."""
    pool = ConnectionPool(postgres_url, open=False)
    assert kind(pool).conn is pool
    assert not hasattr(kind(postgres_url), "conn")


async def test_threads_of_langgraphs_in_postgres_are_told_of(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A program that moves here and finds its threads empty is told why, until there are threads of its own."""
    theirs = pytest.importorskip("langgraph.checkpoint.postgres")
    async with AsyncPostgresSaver.from_conn_string(postgres_url) as saver:
        await saver.setup()
        with theirs.PostgresSaver.from_conn_string(postgres_url) as old:
            old.setup()
            await saver.setup()
            assert caplog.messages == []
            old.put(ONE, document("1ef00000-0000-6000-8000-000000000000", "1"), {}, {})
        await saver.setup()
        assert ["flowfn import-langgraph URL --to URL" in each for each in caplog.messages] == [True]
        assert await entrypoint(checkpointer=saver)(lambda n: n + 1).ainvoke(1, ONE) == 2
        await saver.setup()
        assert len(caplog.messages) == 1


async def test_threads_in_postgres(postgres_url: str) -> None:
    """Both colours use one database; a thread goes on where the other left it."""
    with PostgresSaver.from_conn_string(postgres_url) as saver:
        saver.setup()
        assert entrypoint(checkpointer=saver)(lambda n: n + 1).invoke(1, ONE) == 2
    async with AsyncPostgresSaver.from_conn_string(postgres_url) as saver:
        await saver.setup()
        assert (await entrypoint(checkpointer=saver)(lambda n: n).aget_state(ONE)).values == 2


async def test_shallow_savers_keep_one_checkpoint(postgres_url: str) -> None:
    """What LangGraph has deprecated keeps of each thread the last one, and runs go on from it."""

    def add(n: int, *, previous: int | None = None) -> int:
        return n + (previous or 0)

    with ShallowPostgresSaver.from_conn_string(postgres_url) as saver:
        assert [entrypoint(checkpointer=saver)(add).invoke(1, ONE) for _ in range(3)] == [1, 2, 3]
        assert len(list(saver.list(ONE))) == 1
    async with AsyncShallowPostgresSaver.from_conn_string(postgres_url) as saver:
        assert await entrypoint(checkpointer=saver)(add).ainvoke(1, ONE) == 4
        assert len([each async for each in saver.alist(ONE)]) == 1


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each of graph_compat's, empty."""
    with ExitStack() as stack:
        if request.param == "memory":
            yield InMemorySaver()
        elif request.param == "sqlite":
            yield stack.enter_context(SqliteSaver.from_conn_string(":memory:"))
        else:
            made = PostgresSaver.from_conn_string(request.getfixturevalue("postgres_url"))
            yield stack.enter_context(made)


@pytest.mark.parametrize("made", [str, int, float, "{:032}.0.5".format, "v{}".format])
def test_channels_may_be_added_under_versions_of_any_kind(saver: Any, made: Any) -> None:
    """Checkpoints that somebody puts, each with a channel of its own, come back with their versions."""
    where, values, versions = ONE, {}, {}
    for step in range(30):
        channel, version = f"channel-{step}", made(step)
        values, versions = {**values, channel: step}, {**versions, channel: version}
        put = {**document(f"c{step:02}", version, **values), "channel_versions": versions}
        where = saver.put(where, put, {"source": "loop", "step": step}, {channel: version})
    found = saver.get_tuple(where).checkpoint
    assert (found["channel_values"], found["channel_versions"]) == (values, versions)


@pytest.mark.parametrize("kind", [InMemorySaver, lambda: SqliteSaver.from_conn_string(":memory:")])
def test_a_saver_is_a_base_checkpoint_saver(kind: Any) -> None:
    """Programs ask isinstance; the methods that LangGraph's own savers lack are there."""
    with kind() as saver:
        assert isinstance(saver, BaseCheckpointSaver)
        saver.put(ONE, document("c1", 1, a=1), {}, {"a": 1})
        saver.copy_thread("1", "2")
        assert saver.get({"configurable": {"thread_id": "2"}})["id"] == "c1"


def test_versions_that_are_text_come_back(saver: Any) -> None:
    """Also beside numbers, and of many channels that follow each other."""
    where, versions, version = ONE, {}, None
    for step in range(20):
        version = saver.get_next_version(version) if step % 3 else step + 1
        versions[f"channel {step}" * 9] = version
        put = {**document(f"c{step:02}", 0), "channel_versions": dict(versions)}
        where = saver.put(where, put, {}, {})
        assert saver.get(where)["channel_versions"] == versions


def test_a_run_goes_on_from_versions_that_are_text(saver: Any) -> None:
    """What it leaves as it is has its value in the checkpoints that follow, though values are shared by version."""

    class State(TypedDict):
        left: list[str]
        changed: int

    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"changed": state["changed"] + 1})
    builder.add_edge(START, "a")
    app = builder.compile(checkpointer=saver)
    app.invoke({"left": ["a" * 300], "changed": 0}, ONE)
    found = saver.get_tuple(ONE)
    put = copy_checkpoint(found.checkpoint) | {"id": str(uuid6())}
    put["channel_values"]["left"] = ["b" * 300]
    put["channel_versions"] = {name: saver.get_next_version(v) for name, v in put["channel_versions"].items()}
    saver.put(found.config, put, found.metadata, put["channel_versions"])
    for changed in (2, 3):
        app.invoke({"changed": changed - 1}, ONE)
        assert app.get_state(ONE).values == {"left": ["b" * 300], "changed": changed}
    assert {type(version) for version in saver.get(ONE)["channel_versions"].values()} == {int}


@pytest.mark.parametrize(
    ("channel", "version", "said"),
    [
        ("__end__", "first", "'__end__' at version 'first', and a version begins with a number"),
        ("branch:to:a", "1.0.5", "'branch:to:a' at version '1.0.5', and the program has no such channel"),
    ],
)
def test_no_run_goes_on_from_what_it_cannot_read(channel: str, version: str, said: str) -> None:
    """Versions that don't count, and ways of another library's, which would be left out without a word."""
    saver = InMemorySaver()
    saver.put(ONE, document("c1", version, **{channel: 5}), {"source": "loop", "step": 0}, {})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=said):
        entrypoint(checkpointer=saver)(lambda n: n).invoke(1, ONE)


def test_a_saver_of_ones_own_reads_by_tags() -> None:
    """Its serializer is LangGraph's kind, which goes by the tag, also of what older versions wrote."""
    serde = BaseCheckpointSaver[int]().serde
    assert serde.loads_typed(serde.dumps_typed((1, 2))) == (1, 2)
    assert serde.loads_typed(("json", b'{"a": 1}')) == {"a": 1}


def test_the_history_of_a_channel() -> None:
    """Writes since the channel was last stored whole, the oldest first, without those at the end itself."""
    saver = InMemorySaver()
    where = saver.put(ONE, document("c1", 1, a=[0]), {}, {"a": 1})  # type: ignore[arg-type,typeddict-item]
    saver.put_writes(where, [("a", 1), ("b", 9)], "task")
    empty = document("c2", 2)
    where = saver.put(where, empty, {}, {})  # type: ignore[arg-type]
    saver.put_writes(where, [("a", 2)], "task")
    where = saver.put(where, document("c3", 3), {}, {})  # type: ignore[arg-type]
    saver.put_writes(where, [("a", 3)], "task")
    found = saver.get_delta_channel_history(config=where, channels=["a", "c"])
    assert found == {
        "a": {"writes": [("task", "a", 1), ("task", "a", 2)], "seed": [0]},
        "c": {"writes": []},
    }


def test_ids_sort_by_time() -> None:
    """Ids that one process makes sort in the order in which it made them, however fast."""
    made = [str(uuid6()) for _ in range(1000)]
    assert sorted(set(made)) == made
    assert {uuid6().version, uuid6(node=1, clock_seq=2).clock_seq} == {6, 2}
