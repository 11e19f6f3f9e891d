"""A workflow that is called inside a run is a part of that run (section 3)."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import pytest

from flowfn import RetryPolicy, entrypoint, gather, interrupt
from flowfn.errors import NestedTooDeep

from ..worlds import KINDS, World, asked, questions

UNRECORDED = pytest.mark.parametrize(
    "world", [kind for kind in KINDS if kind.saver == "memory"], ids=str, indirect=True
)
"""For what asks no saver: each caller, and each colour of functions."""


def calling(world: World, child: Any) -> Any:
    """A function that calls a child in the world's colour."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        made = child(*args, **kwargs)
        return await made if world.is_async else made

    return call


def invoking(world: World, child: Any) -> Any:
    """A function that invokes a child in the world's colour."""

    async def call(given: Any) -> Any:
        return await child.ainvoke(given) if world.is_async else child.invoke(given)

    return call


def test_a_child_returns_its_result(world: World) -> None:
    """A call of a workflow inside a run returns what its function returns, as outside."""

    @world.task
    async def double(x: int) -> int:
        return 2 * x

    @world.entrypoint
    async def child(x: int) -> int:
        return await world.value(double(x)) + 1

    @world.entrypoint
    async def parent(x: int) -> list[int]:
        return [await calling(world, child)(x), await calling(world, child)(x + 1)]

    assert world.invoke(parent, 1, thread_id="t") == [3, 5]
    assert [row.id for row in world.saver.threads()] == ["t"]


@pytest.mark.parametrize("way", [calling, invoking], ids=["call", "invoke"])
def test_a_workflow_calls_itself_far_deeper_than_one_stack_holds(world: World, way: Any) -> None:
    """What is called in place gets a stack of its own every so often, so that Python's limit isn't met."""

    @world.entrypoint
    async def down(x: int) -> int:
        return 1 + await way(world, down)(x - 1) if x else 0

    assert world.invoke(down, 40, thread_id="deep") == 40


@UNRECORDED
@pytest.mark.parametrize("way", [calling, invoking], ids=["call", "invoke"])
def test_hundreds_of_workflows_call_each_other_where_nothing_is_kept(world: World, way: Any) -> None:
    """Without a saver nothing keeps the name of each one's place, and so its length limits nothing."""

    @world.entrypoint(checkpointer=None)
    async def down(x: int) -> int:
        return 1 + await way(world, down)(x - 1) if x else 0

    assert world.invoke(down, 300) == 300


def without_end(world: World, **options: Any) -> Any:
    """A workflow that calls itself until it is stopped."""

    @world.entrypoint(**options)
    async def down(x: int) -> int:
        return await calling(world, down)(x + 1)

    return down


def test_a_workflow_that_calls_itself_without_end_is_stopped(world: World) -> None:
    """Runs so deep inside each other are refused that the name of their place couldn't be kept."""
    with pytest.raises(NestedTooDeep, match="'down' is called inside 47 other runs of workflows"):
        world.invoke(without_end(world), 0)


@UNRECORDED
def test_the_thousandth_call_of_itself_is_refused_where_nothing_is_kept(world: World) -> None:
    """Without a saver the length of a place's name limits nothing, and the number of them does."""
    with pytest.raises(NestedTooDeep, match="'down' is called inside 1,000 other runs of workflows"):
        world.invoke(without_end(world, checkpointer=None), 0)


@pytest.mark.parametrize("way", [calling, invoking], ids=["call", "invoke"])
def test_a_finished_child_does_not_run_again(world: World, way: Any) -> None:
    """A child's result, and those of its tasks, are recorded with its parent's run."""

    @world.task
    async def double(x: int) -> int:
        world.ran.append(("double", x))
        return 2 * x

    @world.entrypoint
    async def child(x: int) -> int:
        world.ran.append(("child", x))
        return await world.value(double(x)) + 1

    @world.entrypoint
    async def parent(x: int) -> list[Any]:
        return [await way(world, child)(x), interrupt("ok?")]

    world.invoke(parent, 1, thread_id="t")
    ran = list(world.ran)
    assert ran == [("child", 1), ("double", 1)]
    assert world.resume(parent, "yes", "t") == [3, "yes"]
    assert [name for name, _ in world.ran].count("double") == 1


@pytest.mark.parametrize("owner", ["value", "object", "class"])
@pytest.mark.parametrize("way", [calling, invoking], ids=["call", "invoke"])
def test_children_that_are_methods_of_two_owners_are_two_calls(world: World, way: Any, owner: str) -> None:
    """G2: a call of a workflow that is a method gets its own object's or class's result, in whatever order."""

    async def order_of_class(cls: type, x: int) -> str:
        world.ran.append(cls.__name__)
        return f"{x} of {cls.__name__}"

    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        @world.entrypoint
        async def order(self, x: int) -> str:
            world.ran.append(self.name)
            return f"{x} of {self.name}"

        # A classmethod inside: since Python 3.13 one binds no wrapper that it is around.
        order_anywhere = world.entrypoint(classmethod(world.colour(order_of_class)))

    @dataclass(frozen=True)
    class Value(Shop):
        name: str

    owners = {"value": lambda name: Value(name).order, "object": lambda name: Shop(name).order}
    made = owners.get(owner, lambda name: type(name, (Shop,), {}).order_anywhere)
    orders = {name: made(name) for name in "ab"}
    names = ["a", "b"]

    @world.entrypoint
    async def parent() -> list[str]:
        made = [await way(world, orders[name])(1) for name in names]
        if names[0] == "a":
            raise ConnectionError("lost")
        return made

    with pytest.raises(ConnectionError):
        world.invoke(parent, thread_id="t")
    names.reverse()
    assert world.invoke(parent, None, thread_id="t") == ["1 of b", "1 of a"]
    assert world.ran == ["a", "b"]


@pytest.mark.parametrize("way", [calling, invoking], ids=["call", "invoke"])
def test_two_calls_of_a_child_are_two_runs(world: World, way: Any) -> None:
    """G2: each call of a child gets its own result, equal arguments included."""

    @world.entrypoint
    async def child(x: int) -> int:
        world.ran.append(x)
        return 10 * x

    @world.entrypoint
    async def parent() -> list[int]:
        return [await way(world, child)(x) for x in (1, 2, 2)]

    assert world.invoke(parent, thread_id="t") == [10, 20, 20]
    assert world.ran == [1, 2, 2]


@pytest.mark.parametrize("way", [calling, invoking], ids=["call", "invoke"])
def test_a_question_inside_a_child(world: World, way: Any) -> None:
    """A child's question is its root's: asked by the root's `invoke`, answered on the root's thread."""

    @world.task
    async def note(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def child(x: int) -> list[Any]:
        return [await world.value(note(x)), interrupt(f"ok, {x}?")]

    @world.entrypoint
    async def parent(x: int) -> list[Any]:
        return [await way(world, child)(x), await way(world, child)(x + 1)]

    assert asked(world.invoke(parent, 1, thread_id="t")) == ["ok, 1?"]
    assert asked(world.resume(parent, "a", "t")) == ["ok, 2?"]
    assert world.resume(parent, "b", "t") == [[1, "a"], [2, "b"]]
    assert world.ran == [1, 2]


def test_parallel_children_ask_in_parallel(world: World) -> None:
    """Children that tasks call in parallel ask all their questions at once, each with its own id."""

    @world.entrypoint
    async def child(x: int) -> Any:
        return interrupt("the same question")

    @world.task
    async def branch(x: int) -> Any:
        return [x, await calling(world, child)(x)]

    @world.entrypoint
    async def parent() -> list[Any]:
        return await world.value(gather(branch(x) for x in range(2)))

    found = questions(world.invoke(parent, thread_id="t"))
    assert len({question.id for question in found}) == 2
    answered = world.resume(parent, {found[0].id: "a", found[1].id: "b"}, "t")
    assert sorted(answer for _, answer in answered) == ["a", "b"]
    assert [x for x, _ in answered] == [0, 1]


def test_a_child_has_no_previous_of_its_parents(world: World) -> None:
    """`previous` belongs to a workflow and its namespace: a child doesn't see its parent's."""

    @world.entrypoint
    async def child(x: int, *, previous: Any) -> Any:
        return previous

    @world.entrypoint
    async def parent(x: int, *, previous: Any) -> Any:
        inner = await calling(world, child)(x)
        return entrypoint.final(value=[previous, inner], save=f"parent {x}")

    assert [world.invoke(parent, x, thread_id="t") for x in (1, 2)] == [[None, None], ["parent 1", None]]


def test_a_child_error_is_its_callers(world: World) -> None:
    """A child's error is raised at its call, and may be caught there."""

    @world.entrypoint
    async def child(x: int) -> int:
        raise KeyError("gone")

    @world.entrypoint
    async def parent(x: int) -> str:
        try:
            await calling(world, child)(x)
        except KeyError as error:
            return f"caught {error}"
        return "no error"

    assert world.invoke(parent, 1, thread_id="t") == "caught 'gone'"


def test_a_failed_run_goes_on_inside_its_child(world: World) -> None:
    """A child that failed half way goes on where it stopped, with its finished tasks."""
    failures = [True]

    @world.task
    async def note(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def child(x: int) -> int:
        value = await world.value(note(x))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return value + await world.value(note(x + 1))

    @world.entrypoint
    async def parent(x: int) -> int:
        return await calling(world, child)(x)

    with pytest.raises(ConnectionError):
        world.invoke(parent, 1, thread_id="t")
    assert world.invoke(parent, None, thread_id="t") == 3
    assert world.ran == [1, 2]


def test_a_child_keeps_its_retry_policy(world: World) -> None:
    """A child's own retry policy applies inside a run too."""
    attempts = []

    @world.entrypoint(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0, jitter=False))
    async def child(x: int) -> int:
        attempts.append(x)
        if len(attempts) < 3:
            raise ConnectionError("lost")
        return x

    @world.entrypoint
    async def parent(x: int) -> int:
        return await calling(world, child)(x)

    assert world.invoke(parent, 1, thread_id="t") == 1
    assert attempts == [1, 1, 1]


def test_a_child_with_a_thread_of_its_own_is_another_run(world: World) -> None:
    """`child.invoke(x, thread_id=…)` inside a run names a thread of its own, which keeps its own past."""

    @world.entrypoint
    async def child(x: int, *, previous: int = 0) -> int:
        return previous + x

    @world.task
    async def add(x: int) -> int:
        if world.is_async:
            result: int = await child.ainvoke(x, thread_id="sum")
        else:
            result = child.invoke(x, thread_id="sum")
        return result

    @world.entrypoint
    async def parent(x: int) -> int:
        return await world.value(add(x))

    assert [world.invoke(parent, x, thread_id="t") for x in (1, 2)] == [1, 3]
    assert sorted(row.id for row in world.saver.threads()) == ["sum", "t"]


def test_a_child_is_given_what_its_caller_configures(world: World) -> None:
    """Section 3: what `invoke` says of a run counts inside another one too, above what that was given."""

    @world.entrypoint
    async def child(x: int, *, config: dict[str, Any]) -> list[Any]:
        limit, tags, configurable = (config[key] for key in ("max_concurrency", "tags", "configurable"))
        return [limit, tags, configurable["tone"], configurable["thread_id"]]

    @world.entrypoint
    async def parent(x: int) -> list[Any]:
        told = {"max_concurrency": 2, "tags": ["inner"], "configurable": {"tone": "dry"}}
        return [
            await child.ainvoke(1, config) if world.is_async else child.invoke(1, config)
            for config in (None, told)
        ]

    config = {"tags": ["outer"], "configurable": {"tone": "warm"}}
    assert world.invoke(parent, 1, config, thread_id="t") == [
        [None, ["outer"], "warm", "t"],
        [2, ["outer", "inner"], "dry", "t"],
    ]


def test_a_child_keeps_to_its_limit(world: World) -> None:
    """Its tasks are no more at once than its caller says, though the run around has no limit."""
    under_way, most = [0], [0]

    @world.task
    async def work(x: int) -> int:
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        await asyncio.sleep(0) if world.is_async else time.sleep(0)
        under_way[0] -= 1
        return x

    @world.entrypoint
    async def child(n: int) -> list[int]:
        return await world.value(gather(work(x) for x in range(n)))

    @world.entrypoint
    async def parent(n: int) -> list[int]:
        limit = {"max_concurrency": 1}
        return await child.ainvoke(n, limit) if world.is_async else child.invoke(n, limit)

    assert world.invoke(parent, 20, thread_id="t") == [*range(20)]
    assert most == [1]


def test_a_bad_input_of_a_child_is_refused(world: World) -> None:
    """A child validates its arguments as it does outside."""

    @world.entrypoint
    async def child(x: int) -> int:
        return x

    @world.entrypoint
    async def parent(x: str) -> int:
        return await calling(world, child)(x)

    with pytest.raises(ValueError, match="valid integer"):
        world.invoke(parent, "no number", thread_id="t")


def test_recursion(world: World) -> None:
    """A workflow may call itself, to any depth that Python allows."""

    @world.entrypoint
    async def depth(n: int) -> int:
        return 0 if n == 0 else 1 + await calling(world, depth)(n - 1)

    assert world.invoke(depth, 8, thread_id="t") == 8


def test_a_plain_workflow_that_an_event_loop_would_wait_for_is_refused() -> None:
    """Its function can't be awaited, so the remedy is another function."""
    plain = entrypoint(lambda x: x, name="plain")

    @entrypoint
    async def wf(x: int) -> int:
        found: int = plain(x)
        return found

    with pytest.raises(
        RuntimeError, match=r"^plain\(\) is a plain def, .*: make it an async def, and await it"
    ):
        asyncio.run(wf(1))
