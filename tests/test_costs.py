"""What a step costs in work that can be counted: calls of Python functions, and statements to the database.

Counts, not times, so that they are the same on every machine: a count that grows with what came before is a cost
that is quadratic, and one above its ceiling is work per call that wasn't there. A ceiling is a tenth above what was
counted when it was set; lower it when there is less to count, and raise it for a reason only.
"""

import asyncio
import gc
import math
import operator
import sqlite3
import sys
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import FrameType
from typing import Annotated, Any, TypedDict
from unittest.mock import patch

import psycopg
import pytest

from checkpointers import MemorySaver, PostgresSaver, SqliteSaver
from flowfn import Command, Task, entrypoint, interrupt, task
from flowfn.engine.records import keeping
from flowfn.hosts.threads import ThreadHost
from flowfn.identity.digest import exact
from flowfn.ports import Saver
from flowfn.serde import DEFAULT
from graph_compat.graph import START, StateGraph
from graph_compat.types import Send

Sizes = tuple[int, int]
"""Between which a step is measured."""
TASKS: tuple[Sizes, Sizes] = (100, 200), (900, 1000)
STEPS: tuple[Sizes, Sizes] = (20, 40), (280, 300)
"""At the beginning of a history, and after much of it; a superstep and a turn take long enough for fewer to do."""


@dataclass(frozen=True)
class Cost:
    """Calls of Python functions, and statements to SQLite, by the thread that waits for the result."""

    calls: float
    statements: float


def cost(run: Callable[[], Any]) -> Cost:
    """What a call came to, where no worker takes a part of it from the thread that waits, and no task counts as one
    that took long or began late, whose times are recorded: on a busy machine they may."""
    calls = statements = 0

    def count(frame: FrameType, event: str, called: Any) -> None:
        nonlocal calls, statements
        if event == "call":
            calls += 1
        elif event == "c_call" and called.__name__ in ("execute", "executemany"):
            statements += isinstance(called.__self__, sqlite3.Cursor | sqlite3.Connection)

    before = sys.getprofile()
    gc.collect()
    gc.disable()  # or what other tests left has its finalizers run and counted here
    sys.setprofile(count)
    try:
        with (
            patch.object(ThreadHost, "add_worker", lambda host: None),
            patch.multiple(keeping, SOON=math.inf, LATE=math.inf),
        ):
            run()
    finally:
        sys.setprofile(before)
        gc.enable()
    return Cost(calls, statements)


def each(of: Callable[[int], Cost], sizes: Sizes) -> Cost:
    """One step's part: the difference between a run of one size and a larger one."""
    small, large = sizes
    fewer, more = of(small), of(large)
    steps = large - small
    return Cost((more.calls - fewer.calls) / steps, (more.statements - fewer.statements) / steps)


def check(of: Callable[[int], Cost], sizes: tuple[Sizes, Sizes], most: Cost) -> None:
    """A late step costs what an early one does, but for a tenth and the care of a longer log, and at most `most`."""
    early, late = (each(of, between) for between in sizes)
    assert late.calls <= 1.1 * early.calls, f"grows with the history: {early} early, {late} late"
    assert late.statements <= 1.1 * early.statements + 1, (
        f"grows with the history: {early} early, {late} late"
    )
    assert early.calls <= most.calls, f"{early}, and {most} is the ceiling"
    assert early.statements <= most.statements, f"{early}, and {most} is the ceiling"


@pytest.fixture(params=["none", "memory", "sqlite"])
def saver(request: pytest.FixtureRequest) -> Saver | None:
    """No saver, one in memory, one on SQLite."""
    if request.param == "none":
        return None
    found: MemorySaver | SqliteSaver = request.getfixturevalue(f"{request.param}_saver")
    return found


def kind(saver: Saver | None) -> str:
    return {type(None): "none", MemorySaver: "memory", SqliteSaver: "sqlite"}[type(saver)]


@task
def step(number: int) -> int:
    """What is counted around."""
    return number + 1


@task
async def step_async(number: int) -> int:
    """The same, where it runs on an event loop."""
    return number + 1


def config(thread: object, **more: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": str(thread)}, **more}


TASK = {
    # Finding the identity, the future, the frame, the outcome.
    "none": Cost(49, 0),
    # The record: what it stands under, its bytes, the group of commits that it is in.
    "memory": Cost(115, 0),
    # BEGIN, whether others have written, the row, COMMIT; now and then, care for the log.
    "sqlite": Cost(121, 4.1),
}


def test_a_task_costs_the_same_after_many(saver: Saver | None) -> None:
    """A call of a task looks at its own record alone, however many there are."""

    @entrypoint(checkpointer=saver)
    def workflow(size: int) -> int:
        number = 0
        for _ in range(size):
            number = step(number).result()
        return number

    workflow.invoke(10, config("first"))
    check(lambda size: cost(lambda: workflow.invoke(size, config(size))), TASKS, TASK[kind(saver)])


GATHERED = {
    # The asyncio task that waits for it, which is told from no other branch.
    "none": Cost(83, 0),
    # It begins in its turn, and its commit is one of a group.
    "memory": Cost(199, 0),
    "sqlite": Cost(199, 1.3),
}


def test_a_gathered_call_costs_the_same_beside_many(saver: Saver | None) -> None:
    """However many are awaited together, each looks at itself alone."""

    @entrypoint(checkpointer=saver)
    async def workflow(size: int) -> int:
        return sum(await asyncio.gather(*(step_async(number) for number in range(size))))

    def gathered(size: int) -> Cost:
        return cost(lambda: asyncio.run(workflow.ainvoke(size, config(size))))

    gathered(10)
    check(gathered, TASKS, GATHERED[kind(saver)])


RESUMED = {"memory": Cost(46, 0), "sqlite": Cost(48, 0)}
"""Identity, lookup, the claim that keeps others off the record, a future that is done. All come in one fetch."""


@pytest.mark.parametrize("saver", ["memory", "sqlite"], indirect=True)
def test_a_recorded_call_costs_the_same_among_many(saver: Saver) -> None:
    """On resume a call finds its record without a look at the others, and without a statement of its own."""

    @entrypoint(checkpointer=saver)
    def workflow(size: int) -> int:
        number = 0
        for _ in range(size):
            number = step(number).result()
        return number + int(interrupt("add what?"))

    def resumed(size: int) -> Cost:
        workflow.invoke(size, config(size))
        return cost(lambda: workflow.invoke(Command(resume=1), config(size)))

    resumed(10)
    check(resumed, TASKS, RESUMED[kind(saver)])


LIKE_ANOTHER = Cost(78, 0)
"""Its own part as a recorded call, and a look for ids and times in what it came to, which has 500 other numbers."""


def test_a_call_like_a_recorded_one_costs_little_whatever_data_is_recorded() -> None:
    """Rule 4: whether a result told of an item is looked for among what may tell of one."""
    items = ["b"]

    @task
    def embed(number: int) -> list[float]:
        return [number + part / 7 for part in range(500)]

    @task
    def read(name: str) -> str:
        return str(uuid.uuid4())

    @task
    def store(made: str) -> str:
        return made

    @entrypoint(checkpointer=MemorySaver())
    def workflow(size: int) -> None:
        for number in range(size):
            embed(number).result()
        for name in items:
            store(read(name).result()).result()
        interrupt("go on?")

    def resumed(size: int) -> Cost:
        items[:] = ["b"]
        workflow.invoke(size, config(size))
        items[:] = ["a", "b"]
        return cost(lambda: workflow.invoke(Command(resume=1), config(size)))

    resumed(10)
    check(resumed, ((20, 40), (180, 200)), LIKE_ANOTHER)


UNLIKE = Cost(715, 0)
"""Two calls that run anew, an id in the arguments of one, and three lines in the report."""


def test_a_call_that_runs_anew_looks_at_no_record_of_others() -> None:
    """Of many calls that differ in their ids alone none is looked at by one that may be none of them."""

    def made(version: str) -> Task[[int], int]:
        @task(name="read", version=version, on_code_change="rerun")
        def read(number: int) -> int:
            return number

        return read

    @entrypoint(checkpointer=MemorySaver(), on_divergence="rerun")
    def workflow(size: int) -> None:
        for number in range(size):
            read(number).result()
            keep(str(uuid.uuid4())).result()
        interrupt("go on?")

    @task
    def keep(made: str) -> str:
        return made

    def resumed(size: int) -> Cost:
        nonlocal read
        read = made("1")
        workflow.invoke(size, config(size))
        read = made("2")
        return cost(lambda: workflow.invoke(Command(resume=1), config(size)))

    read = made("1")
    resumed(10)
    check(resumed, ((20, 40), (180, 200)), UNLIKE)


IN_BRANCHES = Cost(224, 0)
"""Of two calls: what a resumed one costs, on an event loop, which of its equals are its branch's, and to wait for the
turn in which that heard of it, which is another one of the loop."""


def test_a_recorded_call_of_a_branch_costs_the_same_among_many_equal_ones(memory_saver: MemorySaver) -> None:
    """What is looked at are its own equals, and not those of another call of its name."""

    @entrypoint(checkpointer=memory_saver)
    async def workflow(size: int) -> int:
        async def of(numbers: Iterable[int]) -> int:
            return sum([await step_async(number) for number in numbers])

        found = await asyncio.gather(of([-1] * size), of(range(size)))
        return sum(found) + int(interrupt("add what?"))

    def resumed(size: int) -> Cost:
        asyncio.run(workflow.ainvoke(size, config(size)))
        return cost(lambda: asyncio.run(workflow.ainvoke(Command(resume=1), config(size))))

    resumed(10)
    check(resumed, TASKS, IN_BRANCHES)


HELD = Cost(393, 0)
"""Of two branches: one that comes upon the other's record, is looked at, and makes a call of its own; and the other."""


def test_a_call_that_is_held_costs_the_same_beside_many(memory_saver: MemorySaver) -> None:
    """The branches are looked at on behalf of all such calls together."""
    lost = True

    @entrypoint(checkpointer=memory_saver)
    async def workflow(size: int) -> None:
        made = asyncio.Event()

        async def recorded() -> None:
            if not lost:
                await made.wait()
            await step_async(0)

        async def late() -> None:
            if lost:
                await made.wait()
            await step_async(0)
            made.set()

        tasks = [asyncio.create_task(branch()) for _ in range(size // 2) for branch in (late, recorded)]
        await asyncio.gather(*tasks[1::2])
        if lost:
            raise ConnectionError
        await asyncio.gather(*tasks)

    def resumed(size: int) -> Cost:
        nonlocal lost
        lost = True
        with pytest.raises(ConnectionError):
            asyncio.run(workflow.ainvoke(size, config(size)))
        lost = False
        return cost(lambda: asyncio.run(workflow.ainvoke(None, config(size))))

    resumed(10)
    check(resumed, STEPS, HELD)


FORKED = {"memory": Cost(24, 0), "sqlite": Cost(29, 0)}
"""Reading the record, its place among those of its name, whether it came after the call; half of them are copied."""


@pytest.mark.parametrize("saver", ["memory", "sqlite"], indirect=True)
def test_a_fork_before_a_call_costs_the_same_among_many(saver: Saver) -> None:
    """Each record is looked at by itself, and not once for each that came after the call."""

    @entrypoint(checkpointer=saver)
    def workflow(size: int) -> int:
        return sum(step(number).result() for number in range(size))

    def forked(size: int) -> Cost:
        workflow.invoke(size, config(size))
        return cost(lambda: workflow.thread(str(size)).fork(before=f"step#{size // 2}"))

    forked(10)
    check(forked, TASKS, FORKED[kind(saver)])


@pytest.mark.parametrize("given", [None, Command(resume=1)], ids=["no answer", "an answer"])
@pytest.mark.parametrize("saver", ["memory", "sqlite"], indirect=True)
def test_a_resume_reads_its_thread_once(saver: Saver, given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it brings an answer: what that commits is added to what was read."""

    @entrypoint(checkpointer=saver)
    def workflow(size: int) -> int:
        return step(size).result() + int(interrupt("add what?"))

    workflow.invoke(1, config("asks"))
    read, load = [], saver.load
    monkeypatch.setattr(saver, "load", lambda *where: read.append(where) or load(*where))
    workflow.invoke(given, config("asks"))
    assert len(read) == 1


SKIPPED = {"memory": Cost(8, 0), "sqlite": Cost(14, 0.1)}
"""The head of a checkpoint, and its metadata."""


@pytest.mark.parametrize("saver", ["memory", "sqlite"], indirect=True)
def test_a_checkpoint_that_a_filter_leaves_out_is_made_no_state(saver: Saver) -> None:
    """Of a long history that is searched, what doesn't match is neither read whole nor decoded nor planned."""

    def searched(size: int) -> Cost:
        graph = chain(size).compile(checkpointer=saver)
        graph.invoke({"number": 0}, config(f"searched {size}", recursion_limit=size + 1))
        return cost(
            lambda: list(graph.get_state_history(config(f"searched {size}"), filter={"user": "nobody"}))
        )

    searched(10)
    check(searched, STEPS, SKIPPED[kind(saver)])


PASSED = {"memory": Cost(4, 0), "sqlite": Cost(4, 0.1)}
"""The places of the two checkpoints that a call makes."""


@pytest.mark.parametrize("saver", ["memory", "sqlite"], indirect=True)
def test_what_came_of_an_old_checkpoint_is_found_by_its_place(saver: Saver) -> None:
    """Of an entrypoint's later checkpoints, of which the next one has the result, no other is read."""

    @entrypoint(checkpointer=saver)
    def number(given: int) -> int:
        return given

    def looked_at(size: int) -> Cost:
        thread = f"old {size}"
        for given in range(size):
            number.invoke(given, config(thread))
        *_, oldest = number.get_state_history(config(thread))
        return cost(lambda: number.get_state(oldest.config))

    looked_at(10)
    check(looked_at, STEPS, PASSED[kind(saver)])


class Count(TypedDict):
    """A state of one number."""

    number: int


class Numbers(TypedDict):
    """A state of what numbers add up to."""

    number: Annotated[int, operator.add]


STEP = {"none": Cost(65, 0), "memory": Cost(128, 0), "sqlite": Cost(151, 5)}
"""The plan, the task, its writes applied; the checkpoint, and what its task tells of itself; all rows in one commit."""


@pytest.mark.parametrize("langchain", [False, True])
def test_a_superstep_costs_the_same_after_many(
    saver: Saver | None, langchain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A superstep looks at what changed, however many came before and however many nodes the graph has; and LangChain
    beside it costs nothing, where no node calls it."""
    for module in ("graph_runs", "node_runs"):
        monkeypatch.setattr(f"graph_compat.langchain.{module}.is_loaded", lambda: langchain)

    def run(size: int) -> Cost:
        graph = chain(size).compile(checkpointer=saver)
        graph.invoke({"number": 0}, config(f"first of {size}", recursion_limit=size + 1))
        return cost(lambda: graph.invoke({"number": 0}, config(size, recursion_limit=size + 1)))

    check(run, STEPS, STEP[kind(saver)])


def chain(size: int) -> Any:
    """Nodes one after the other."""
    builder = StateGraph(Count)
    for number in range(size):
        builder.add_node(f"node{number}", lambda state: {"number": state["number"] + 1})
        builder.add_edge(f"node{number - 1}" if number else START, f"node{number}")
    return builder


NESTED = {"none": Cost(437, 0), "memory": Cost(833, 0), "sqlite": Cost(949, 24)}
"""Three commits of its own, and one with its call's record; nothing is looked for where nothing can be."""


def test_a_graph_in_a_graph_costs_the_same_beside_many(saver: Saver | None) -> None:
    """One of a fan-out to graphs costs as much whether there are few others or many."""

    def run(size: int) -> Cost:
        builder = StateGraph(Numbers)
        builder.add_node("inner", chain(3).compile())
        builder.add_conditional_edges(
            START, lambda state: [Send("inner", {"number": number}) for number in range(size)], ["inner"]
        )
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"number": 0}, config(f"first of {size}", max_concurrency=1))
        return cost(lambda: graph.invoke({"number": 0}, config(size, max_concurrency=1)))

    check(run, STEPS, NESTED[kind(saver)])


TURN = {"memory": Cost(490, 0), "sqlite": Cost(665, 28.5)}
"""The lease, whether its code is what it was, the head checkpoint, the input's checkpoint and the result's, the lease
given back."""


@pytest.mark.parametrize("saver", ["memory", "sqlite"], indirect=True)
def test_a_turn_costs_the_same_after_many(saver: Saver) -> None:
    """A turn of a chat asks for as much of the thread after many turns as after few."""

    @entrypoint(checkpointer=saver)
    def chat(message: str, *, previous: list[str] | None = None) -> list[str]:
        return [*(previous or []), message]

    def turns(size: int) -> Cost:
        def all_of_them() -> None:
            for number in range(size):
                chat.invoke(f"{number:200}", config(size))

        return cost(all_of_them)

    chat.invoke("first", config("first"))
    check(turns, STEPS, TURN[kind(saver)])


LOOKED_AT = 3
"""Calls per function that tasks lead to: one look, in a run that begins."""


def test_a_run_looks_at_code_once_whatever_number_of_tasks_leads_to_it() -> None:
    """Whether it was edited since the last run."""

    def calls(size: int, tasks: int) -> float:
        space: dict[str, Any] = {"__name__": "shop", "task": task}
        names = "".join(f"def f{each}(x): return f{each + 1}\n" for each in range(size))
        exec(names + "".join(f"@task\ndef t{each}(x): return f0\n" for each in range(tasks)), space)

        @entrypoint
        def flow(x: int) -> None:
            for each in range(tasks):
                space[f"t{each}"](x).result()

        flow.invoke(0)
        return cost(lambda: flow.invoke(1)).calls

    assert calls(220, 20) - calls(20, 20) < 200 * LOOKED_AT


class Refused(Exception):
    """An error with data of its own."""

    def __init__(self, page: Any) -> None:
        super().__init__("refused")
        self.page = page


def page(links: int) -> dict[str, Any]:
    """A tree whose nodes know their parent: it leads back to itself on as many ways."""
    root: dict[str, Any] = {"name": "root", "children": []}
    root["children"] = [{"name": number, "children": [], "parent": root} for number in range(links)]
    return root


def test_an_error_costs_by_the_size_of_its_data() -> None:
    """And not by the ways through it, which what leads back to itself has without end."""

    def recorded(links: int) -> Cost:
        error = Refused(page(links))
        return cost(lambda: DEFAULT.dumps(error))

    check(recorded, ((10, 20), (90, 100)), Cost(185, 0))


E = Enum("E", "A B C D E F G H")
"""A short name: what a call keeps of its arguments is short."""


def test_a_member_of_an_enum_costs_little_more_than_its_name() -> None:
    """What its value was is told with each call, and found out once."""

    def told(size: int) -> Cost:
        arguments = {"members": [*E][:size]}
        return cost(lambda: exact(arguments))

    exact({"members": [*E]})
    check(told, ((2, 4), (6, 8)), Cost(23, 0))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], int]:
    """How many statements a call sends to Postgres, from any thread."""
    sent: list[Any] = []
    execute = psycopg.RawCursor.execute

    def noted(*args: Any, **kwargs: Any) -> Any:
        sent.append(args)
        return execute(*args, **kwargs)

    monkeypatch.setattr(psycopg.RawCursor, "execute", noted)

    def of(run: Callable[[], Any]) -> int:
        before = len(sent)
        run()
        return len(sent) - before

    return of


def test_a_task_is_one_statement_to_postgres(postgres_saver: PostgresSaver, asked: Any) -> None:
    """The lease's token, the checkpoint that it is written under, and the row."""

    @entrypoint(checkpointer=postgres_saver)
    def workflow(size: int) -> int:
        number = 0
        for _ in range(size):
            number = step(number).result()
        return number

    workflow.invoke(1, config("first"))

    def least(size: int) -> int:  # a heartbeat may come between
        return min(asked(partial(workflow.invoke, size, config(f"{size} {nth}"))) for nth in range(5))

    assert least(110) - least(10) == 100


def test_a_turn_asks_the_same_of_postgres_after_many(postgres_saver: PostgresSaver, asked: Any) -> None:
    """The lease, the head checkpoint, the commit at the beginning and the one at the end."""

    @entrypoint(checkpointer=postgres_saver)
    def chat(message: str, *, previous: list[str] | None = None) -> list[str]:
        return [*(previous or []), message]

    chat.invoke("first", config("chat"))
    counts = [asked(partial(chat.invoke, "more", config("chat"))) for _ in range(30)]
    assert (min(counts[:10]), min(counts[-10:])) == (4, 4)  # a heartbeat may come between


def test_a_cost_that_grows_is_found() -> None:
    """The check fails for what looks at all that came before, and for what is above its ceiling."""

    def quadratic(size: int) -> Cost:
        return Cost(size * size, 0)

    with pytest.raises(AssertionError, match="grows with the history"):
        check(quadratic, STEPS, Cost(10**9, 0))
    with pytest.raises(AssertionError, match="is the ceiling"):
        check(lambda size: Cost(10 * size, size), STEPS, Cost(10, 0.5))
    check(lambda size: Cost(10 * size, size), STEPS, Cost(10, 1))
