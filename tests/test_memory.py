"""What has ended is let go: runs, and tasks whose results nobody keeps. Objects are counted, not bytes.

A saver in memory keeps what it is there to keep, and one of a database some of what it last read; everything else
that a run was made of is garbage once it has ended.
"""

import asyncio
import gc
import uuid
from collections import Counter
from collections.abc import Callable
from contextvars import copy_context
from itertools import chain
from threading import Lock
from typing import Any, TypedDict

import pytest

from flowfn import Future, as_completed, entrypoint, task
from flowfn.hosts.loop import IN_PLACE
from graph_compat.graph import START, StateGraph
from graph_compat.types import Send

FILL, RUNS, FEW = 80, 30, 10
"""Runs by which bounded caches are full, runs that are looked at, and how many of them may have left something: the
last ones, which a thread of ours may just be looking at."""


KEPT = ("flowfn.hosts.workers._Worker", "checkpointers.sqlite.channel_maps.Base")
"""What a process keeps of a run, up to a bound: idle threads, and what a database has last read."""


class Count(TypedDict):
    """A state of one number."""

    number: int


@task
def step(number: int) -> int:
    """A task of blocking code."""
    return number + 1


@task
async def astep(number: int) -> int:
    """A task of asyncio."""
    return number + 1


def made_of_ours(*, collect: bool = True) -> Counter[str]:
    """How many objects there are of each class of ours, what is garbage aside."""
    if collect:
        gc.collect()
    classes = Counter(type(found) for found in gc.get_objects())
    ours = ("flowfn", "graph_compat", "checkpointers")
    return Counter(
        {
            f"{each.__module__}.{each.__qualname__}": count
            for each, count in classes.items()
            if isinstance(each.__module__, str) and each.__module__.partition(".")[0] in ours
        }
    )


def check_that_runs_leave_nothing(run: Callable[[], Any], tries: int = 20) -> None:
    """After many runs there is as much of everything as before.

    Threads let go when they come round to it, so it is looked at again after further runs: what piles up only
    gets more.
    """
    for _ in range(FILL):
        run()
    before, left = made_of_ours(), Counter[str]()
    for _ in range(tries):
        for _ in range(RUNS):
            run()
        left = made_of_ours() - before
        if max(left.values(), default=0) <= FEW:
            return
    raise AssertionError(f"{tries} times {RUNS} runs have left {left}")


def check_that_the_collector_has_nothing_to_do(run: Callable[[], Any], tries: int = 20) -> None:
    """What a run was made of is gone with it, as nothing leads back to itself; or with a later one, as threads let go
    when they come round to it."""
    run()
    before, left = made_of_ours(), Counter[str]()
    gc.disable()
    try:
        for _ in range(tries):
            run()
            left = made_of_ours(collect=False) - before
            for kept in KEPT:
                del left[kept]
            if max(left.values(), default=0) <= FEW:
                return
    finally:
        gc.enable()
    raise AssertionError(f"{tries} runs have left {left}")


def config() -> Any:
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


@pytest.fixture(params=["none", "sqlite"])
def saver(request: pytest.FixtureRequest) -> Any:
    """No saver, and one that keeps nothing in memory."""
    return request.getfixturevalue("sqlite_saver") if request.param == "sqlite" else None


def test_blocking_runs_leave_nothing_in_the_process(saver: Any) -> None:
    """Threads of a workflow, one after the other, without a pause in which a watcher could tidy up."""

    @entrypoint(checkpointer=saver)
    def workflow(size: int) -> int:
        return sum(step(number).result() for number in range(size))

    check_that_runs_leave_nothing(lambda: workflow.invoke(3, config()))


def test_runs_whose_tasks_are_parallel_leave_nothing_in_the_process(saver: Any) -> None:
    """Tasks that workers have run are let go by the workers too."""

    @entrypoint(checkpointer=saver)
    def workflow(size: int) -> int:
        return sum(future.result() for future in [step(number) for number in range(size)])

    check_that_runs_leave_nothing(lambda: workflow.invoke(3, config()))


def test_asyncio_runs_leave_nothing_in_the_process(saver: Any) -> None:
    """An event loop that serves many threads holds none that has ended."""

    @entrypoint(checkpointer=saver)
    async def workflow(size: int) -> int:
        return sum(await asyncio.gather(*[astep(number) for number in range(size)]))

    with asyncio.Runner() as runner:
        check_that_runs_leave_nothing(lambda: runner.run(workflow.ainvoke(3, config())))


def test_graphs_leave_nothing_in_the_process(saver: Any) -> None:
    """Nor does a graph of several supersteps."""
    builder = StateGraph(Count)
    builder.add_node("first", lambda state: {"number": state["number"] + 1})
    builder.add_node("second", lambda state: {"number": state["number"] + 1})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    graph = builder.compile(checkpointer=saver)
    check_that_runs_leave_nothing(lambda: graph.invoke({"number": 0}, config()))


def test_parallel_nodes_are_let_go_without_the_collector(saver: Any) -> None:
    """Nor does it with LangChain beside it, whose variable says in each node's context where it is."""
    pytest.importorskip("langchain_core.runnables")
    builder = StateGraph(Count)
    builder.add_node("node", lambda state: None)
    builder.add_conditional_edges(
        START, lambda state: [Send("node", state) for _ in range(state["number"])], ["node"]
    )
    graph = builder.compile(checkpointer=saver)
    check_that_the_collector_has_nothing_to_do(lambda: graph.invoke({"number": 100}, config()))


def test_parallel_tasks_are_let_go_without_the_collector(saver: Any) -> None:
    """Their futures, what was to be told when they are done, and the contexts that they ran in."""

    @entrypoint(checkpointer=saver)
    def workflow(size: int) -> int:
        futures = [step(number) for number in range(size)]
        return sum(future.result() for future in as_completed(futures))

    check_that_the_collector_has_nothing_to_do(lambda: workflow.invoke(100, config()))


def test_a_run_keeps_nothing_of_tasks_whose_results_are_dropped(saver: Any) -> None:
    """In the middle of a run there is as much of everything after many tasks as after few."""

    @entrypoint(checkpointer=saver)
    def workflow(given: str) -> str:
        check_that_runs_leave_nothing(lambda: step(1).result())
        return given

    assert workflow.invoke("ended", config()) == "ended"


async def test_asyncio_tasks_that_never_suspend_leave_nothing_in_their_loop() -> None:
    """A run of many of them, and many runs of a few, hold no more than some dozens at a time."""

    @entrypoint()
    async def workflow(size: int) -> int:
        return sum([await astep(1) for _ in range(size)])

    await workflow.ainvoke(1, config())
    before = made_of_ours()
    assert await workflow.ainvoke(1000, config()) == 2000
    for _ in range(300):
        await workflow.ainvoke(3, config())
    left = made_of_ours() - before
    assert max(left.values(), default=0) <= 2 * IN_PLACE, left


async def test_asyncio_tasks_that_never_suspend_let_others_run() -> None:
    """What else the loop has to do goes on beside them."""
    turns = 0

    @entrypoint()
    async def workflow(size: int) -> int:
        return sum([await astep(1) for _ in range(size)])

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    await workflow.ainvoke(10 * IN_PLACE, config())
    beside.cancel()
    assert turns >= 10


def test_what_piles_up_is_found() -> None:
    """The check fails for runs that are kept."""
    kept: list[Future[int]] = []

    @entrypoint()
    def workflow(size: int) -> int:
        kept.append(future := step(size))
        return future.result()

    with pytest.raises(AssertionError, match="have left Counter"):
        check_that_runs_leave_nothing(lambda: workflow.invoke(3, config()), tries=1)


def test_a_future_whose_result_is_read_holds_no_list_and_no_lock_of_its_own() -> None:
    """Thousands may be kept, and all that each holds is for the collector to go through, again and again."""
    size = 50
    held: Counter[type] = Counter()

    @entrypoint
    def workflow() -> None:
        futures = [step(number) for number in range(size)]
        for future in futures:
            future.result()
        found = {id(each): type(each) for future in futures for each in vars(future).values()}
        held.update(found.values())

    workflow.invoke()
    assert (held[list] < 2, held[type(Lock())]) == (True, 0)


def test_branches_that_handle_no_error_share_what_says_so() -> None:
    """That no failed call was handled where a branch was made is one set for all of them."""

    async def handed() -> list[Any]:
        """What the context of a branch says of that."""
        await astep(0)
        return [found.handed for found in copy_context().values() if hasattr(found, "handed")]

    @entrypoint
    async def workflow() -> tuple[int, int]:
        sets = [*chain.from_iterable(await asyncio.gather(*[handed() for _ in range(20)]))]
        return len(sets), len({id(each) for each in sets})

    assert asyncio.run(workflow.ainvoke()) == (20, 1)
