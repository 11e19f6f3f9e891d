"""Which record belongs to which call, when the code changed between crash and resume (section 4, G2, G9)."""

import asyncio
import functools
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from itertools import count
from typing import Any

import numpy as np
import pytest

from flowfn import NonDeterminismError, entrypoint, gather, task, uuid4
from flowfn.identity.names import qualified_name

from ..worlds import World

Body = Callable[[Any], Awaitable[Any]]


class Edited:
    """A workflow whose body is replaced between its first run, which fails at its end, and the next."""

    def __init__(self, world: World, **options: Any) -> None:
        self.world = world

        @world.task(name="fetch", **options)
        async def fetch(x: Any) -> str:
            world.ran.append(x)
            return f"R({x})"

        self.fetch = fetch

    def run(self, before: Body, after: Body) -> Any:
        """What the edited workflow returns, and in `world.ran` what ran for that."""

        @self.world.entrypoint(name="wf")
        async def first() -> Any:
            await before(self.fetch)
            raise ConnectionError("lost")

        @self.world.entrypoint(name="wf")
        async def second() -> Any:
            return await after(self.fetch)

        with pytest.raises(ConnectionError):
            self.world.invoke(first, thread_id="t")
        self.world.ran.clear()
        result = self.world.invoke(second, None, thread_id="t")
        self.report = second.thread("t").report
        return result

    def calls(self, *arguments: Any) -> Body:
        """A body that calls the task with each argument in turn."""

        async def body(fetch: Any) -> list[Any]:
            return [await self.world.value(fetch(x)) for x in arguments]

        return body


EDITS = {
    "no edit": (("a", "b"), ("a", "b"), []),
    "arguments changed": (("a", "b"), ("x", "y"), ["x", "y"]),
    "calls swapped": (("a", "b"), ("b", "a"), []),
    "inserted in front": (("a", "b"), ("new", "a", "b"), ["new"]),
    "inserted between": (("a", "b"), ("a", "new", "b"), ["new"]),
    "removed": (("a", "b", "c"), ("a", "c"), []),
    "repeated": (("a",), ("a", "a"), ["a"]),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_reuses_what_is_the_same(world: World, edit: str) -> None:
    """G9: after an edit each call gets its own result, what is recorded is reused, and only what is new runs."""
    before, after, ran = EDITS[edit]
    edited = Edited(world)
    assert edited.run(edited.calls(*before), edited.calls(*after)) == [f"R({x})" for x in after]
    assert world.ran == ran


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ({}, {"more": 2}, True),
        ({"more": 2}, {}, True),
        ({"more": 2}, {"tags": [], "more": 2}, True),
        ({}, {"more": 3}, False),
        ({"more": 3}, {}, False),
        ({"more": True}, {}, False),
        ({"tags": [0]}, {}, False),
        ({}, {"like": np.zeros(2)}, False),
    ],
)
def test_an_argument_that_is_its_parameter_s_default_may_be_left_out(
    world: World, before: Any, after: Any, is_same: bool
) -> None:
    """G1: the call is the same, and says so; one that is given anything else runs."""
    given, lost = [before], [True]

    @world.task
    async def fetch(x: int, more: Any = 2, *, tags: Any = [], like: Any = np.zeros(2)) -> int:  # noqa: B006, B008
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf() -> int:
        found: int = await world.value(fetch(1, **given[0]))
        if lost:
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    given[:], lost[:] = [after], []
    assert (world.invoke(wf, None, thread_id="t"), len(world.ran)) == (1, 1 if is_same else 2)
    kinds = [each.kind for each in wf.thread("t").report.differences]
    assert ("fields" in kinds) == is_same


def test_what_nobody_asks_for_is_reported(world: World) -> None:
    """Recorded calls that no call asked for when the run ends are orphans in the report."""
    edited = Edited(world)
    edited.run(edited.calls("a", "b"), edited.calls("a"))
    assert [(orphan.name, orphan.arguments) for orphan in edited.report.orphans] == [("fetch", "x='b'")]


def test_a_renamed_task_runs_anew(world: World) -> None:
    """Another name is another task: it runs, and the old record is reported as an orphan."""
    edited = Edited(world)

    @world.task(name="get")
    async def get(x: Any) -> str:
        world.ran.append(("get", x))
        return f"G({x})"

    async def renamed(fetch: Any) -> list[Any]:
        return [await world.value(get("a")), await world.value(fetch("b"))]

    assert edited.run(edited.calls("a", "b"), renamed) == ["G(a)", "R(b)"]
    assert world.ran == [("get", "a")]
    assert [orphan.arguments for orphan in edited.report.orphans] == ["x='a'"]


def test_concurrent_chains_keep_their_results(world: World) -> None:
    """G2: two concurrent chains a1→a2 and b1→b2 of one task never swap results, whichever is first on replay."""

    @world.task
    async def step(x: str) -> str:
        world.ran.append(x)
        return f"R({x})"

    @world.task
    async def chain(name: str) -> list[str]:
        return [await world.value(step(f"{name}1")), await world.value(step(f"{name}2"))]

    failures = [True]

    @world.entrypoint
    async def wf() -> Any:
        first, second = ("a", "b") if failures else ("b", "a")
        results = dict(
            zip((first, second), await world.value(gather(chain(first), chain(second))), strict=True)
        )
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return results

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == {"a": ["R(a1)", "R(a2)"], "b": ["R(b1)", "R(b2)"]}
    assert sorted(world.ran) == ["a1", "a2", "b1", "b2"]


def test_concurrent_branches_keep_their_results(async_world: World) -> None:
    """G2: the same for plain coroutines under `asyncio.gather`, which complete in another order on replay."""
    import asyncio

    world, failures = async_world, [True]

    @world.task
    async def step(x: str, turns: int) -> str:
        for _ in range(turns):
            await asyncio.sleep(0)
        return f"R({x})"

    async def chain(name: str, turns: int) -> list[str]:
        return [await step(f"{name}1", turns), await step(f"{name}2", turns)]

    @world.entrypoint
    async def wf() -> Any:
        results = await asyncio.gather(chain("a", 9), chain("b", 1))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return results

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == [["R(a1)", "R(a2)"], ["R(b1)", "R(b2)"]]


def test_a_key_names_the_call(world: World) -> None:
    """`key=` replaces the arguments in a call's identity: what else they say may differ."""
    edited = Edited(world, key=lambda x: x["id"])
    before, after = (
        edited.calls({"id": 1, "at": "mon"}),
        edited.calls({"id": 1, "at": "tue"}, {"id": 2, "at": "tue"}),
    )
    assert edited.run(before, after) == ["R({'id': 1, 'at': 'mon'})", "R({'id': 2, 'at': 'tue'})"]
    assert [x["id"] for x in world.ran] == [2]


def test_a_key_that_names_a_parameter_counts_its_default(world: World) -> None:
    """G2: a call that leaves it out is the one that names it, and no other."""
    edited: list[None] = []

    @world.task(key=("a", "b"))
    async def shown(a: int, b: int | None = 2) -> str:
        world.ran.append((a, b))
        return f"{a} {b}"

    @world.entrypoint
    async def wf() -> list[str]:
        calls = [shown(1, None), shown(1, 2)] if edited else [shown(1), shown(1, None)]
        found = [await world.value(each) for each in calls]
        if not edited:
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    edited.append(None)
    assert world.invoke(wf, None, thread_id="t") == ["1 None", "1 2"]
    assert len(world.ran) == 2


def test_an_ignored_argument_does_not_count(world: World) -> None:
    """`ignore=` leaves parameters out of a call's identity."""
    failures = [True]

    @world.task(ignore="client")
    async def get(x: int, client: Any) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf() -> int:
        value = await world.value(get(1, client=object()))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return value

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == 1
    assert world.ran == [1]


class Account:
    """An object that has no digest."""

    def __init__(self, number: int) -> None:
        self.number = number


def test_an_argument_without_a_digest_is_always_reported(world: World) -> None:
    """Section 4: another object may have its type, so the report says it of a reused call as well."""
    dies = [True]

    @world.task
    async def charge(account: Account) -> int:
        world.ran.append(account.number)
        return account.number

    @world.entrypoint
    async def wf() -> int:
        charged: int = await world.value(charge(Account(1)))
        if dies:
            raise ConnectionError
        return charged

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    dies.clear()

    assert world.invoke(wf, None, thread_id="t") == 1
    (weak,) = wf.thread("t").report
    assert (weak.kind, weak.recorded.name, weak.cause.partition(":")[0]) == (
        "weak",
        "charge",
        f"reused, though a value of type {qualified_name(Account)} counts by its type and what it was given alone",
    )
    assert world.ran == [1]


def test_a_new_input_reuses_nothing(world: World) -> None:
    """Records belong to one run: a new input on the thread runs everything."""
    edited = Edited(world)

    @world.entrypoint
    async def wf(x: int) -> Any:
        return await world.value(edited.fetch("a"))

    for x in (1, 2):
        world.invoke(wf, x, thread_id="t")
    assert world.ran == ["a", "a"]


@pytest.mark.parametrize(("policy", "ran"), [("reuse", []), ("rerun", ["a"])])
def test_a_task_whose_code_changed(world: World, policy: Any, ran: list[str]) -> None:
    """`on_code_change=` decides whether a record of other code is reused; `version=` stands for the code."""
    failures = [True]

    def workflow(version: str) -> Any:
        @world.task(name="fetch", version=version, on_code_change=policy)
        async def fetch(x: str) -> str:
            world.ran.append(x)
            return f"{version} of {x}"

        @world.entrypoint(name="wf")
        async def wf() -> str:
            value = await world.value(fetch("a"))
            if failures:
                failures.pop()
                raise ConnectionError("lost")
            return value

        return wf

    with pytest.raises(ConnectionError):
        world.invoke(workflow("v1"), thread_id="t")
    world.ran.clear()
    edited = workflow("v2")
    assert world.invoke(edited, None, thread_id="t") == ("v1 of a" if policy == "reuse" else "v2 of a")
    assert world.ran == ran
    assert [difference.kind for difference in edited.thread("t").report] == [
        {"reuse": "code", "rerun": "rerun"}[policy]
    ]


class Varying:
    """A workflow that calls a task with other arguments on each attempt, of unchanged code; the first one fails."""

    def __init__(self, world: World, *attempts: tuple[str, str]) -> None:
        arguments = iter(attempts)

        @world.task
        async def fetch(x: str) -> str:
            world.ran.append(x)
            return f"R({x})"

        @world.entrypoint(on_divergence="reuse")
        async def wf() -> list[str]:
            one, two = (fetch(x) for x in next(arguments))
            second = await world.value(two)
            first = await world.value(one)
            if not self.failed:
                self.failed = True
                raise ConnectionError("lost")
            return [first, second]

        self.failed = False
        with pytest.raises(ConnectionError):
            world.invoke(wf, thread_id="t")
        world.ran.clear()
        self.result = world.invoke(wf, None, thread_id="t")


def test_position_is_the_order_of_the_calls(world: World) -> None:
    """Section 4: with `on_divergence="reuse"` the n-th call takes the n-th one's record, whichever ended first."""
    assert Varying(world, ("a", "b"), ("x", "y")).result == ["R(a)", "R(b)"]
    assert world.ran == []


def test_position_comes_after_identity(world: World) -> None:
    """Section 4: a call takes no record by its position that a call made after it is known to belong to."""
    assert Varying(world, ("a", "b"), ("x", "a")).result == ["R(x)", "R(a)"]
    assert world.ran == ["x"]


@pytest.mark.parametrize("policy", ["doubt", "reuse"])
def test_a_record_that_went_to_another_call_is_never_written_over(world: World, policy: str) -> None:
    """G2: a call whose own record was reused, but for the clock or by position, for another one gets a new record."""
    recorded = time.time() if policy == "doubt" else "recorded"
    attempts: list[list[Any]] = []

    @world.task
    async def fetch(x: Any) -> int:
        world.ran.append(x)
        return len(world.ran)

    @world.entrypoint(on_divergence=policy)
    async def wf() -> list[int]:
        arguments = [time.time() if policy == "doubt" else "other", recorded] if attempts else [recorded]
        attempts.append([await world.value(fetch(x)) for x in arguments])
        if len(attempts) < 3:
            raise ConnectionError("lost")
        return attempts[-1]

    for given in ({}, None):
        with pytest.raises(ConnectionError):
            world.invoke(wf, given, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == [1, 2]
    assert attempts == [[1], [1, 2], [1, 2]]
    assert world.ran == [recorded, recorded]


class Branches:
    """Two branches of one function, each of which makes values and equal calls after a step of its own.

    `first` says whose step ends first in an attempt; the attempt is lost when a branch that `dies` names is through.
    """

    def __init__(self, world: World, limited: float | None = None) -> None:
        self.rolled: list[int] = []
        self.made: dict[str, list[Any]] = {}
        self.first = self.dies = ""

        @world.task
        async def step(name: str) -> str:
            return name

        @world.task
        async def roll() -> int:
            self.rolled.append(len(self.rolled))
            return self.rolled[-1]

        async def branch(name: str, turn: asyncio.Event) -> list[Any]:
            if name != self.first:
                await turn.wait()
            await step(name)
            self.made[name] = [uuid4(), await roll(), uuid4(), await roll()]
            if name == self.dies:
                raise ConnectionError("lost")
            turn.set()
            return self.made[name]

        @world.entrypoint(timeout=limited)
        async def wf() -> list[Any]:
            turn = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                branches = [group.create_task(branch(name, turn)) for name in ("a", "b")]
            return [each.result() for each in branches]

        self._run = lambda given: world.invoke(wf, given, thread_id="t")

    def attempt(self, given: Any, *, first: str, dies: str = "") -> dict[str, list[Any]]:
        """What each branch had made when the attempt was lost, or had ended."""
        self.first, self.dies, self.made = first, dies, {}
        with pytest.raises(ExceptionGroup) if dies else nullcontext():
            self._run(given)
        return self.made


@pytest.mark.parametrize("limited", [None, 60.0])
def test_equal_calls_of_branches_are_each_branchs_own(async_world: World, limited: float | None) -> None:
    """G2: whichever branch comes first on the next attempt, each has the values and results that it had."""
    branches = Branches(async_world, limited)
    made = branches.attempt({}, first="b", dies="a")
    assert sorted(made) == ["a", "b"]
    assert branches.attempt(None, first="a") == made
    assert branches.rolled == [0, 1, 2, 3]


def test_a_branch_that_had_made_nothing_takes_nothing_of_another_one(async_world: World) -> None:
    """G2: it makes its own, though the other one waits for it, and that has what it had made again."""
    branches = Branches(async_world)
    made = branches.attempt({}, first="b", dies="b")
    assert sorted(made) == ["b"]
    again = branches.attempt(None, first="a", dies="b")
    assert again["b"] == made["b"]
    assert len({again[name][place] for name in "ab" for place in (0, 2)}) == 4
    assert branches.rolled == [0, 1, 2, 3]


@pytest.mark.parametrize("given", [list, iter], ids=["all at once", "one by one"])
def test_branches_that_begin_in_the_order_of_a_set_have_their_own_values(
    async_world: World, given: Callable[[list[Any]], Any]
) -> None:
    """G2: `asyncio.as_completed` begins them so, which is the order of their addresses."""
    names = [f"branch {number}" for number in range(30)]
    made: dict[str, Any] = {}
    attempts = count()

    @async_world.task
    async def roll() -> int:
        async_world.ran.append(len(async_world.ran))
        return len(async_world.ran)

    async def branch(name: str) -> str:
        made[name] = uuid4(), await roll()
        return name

    @async_world.entrypoint
    async def wf() -> list[str]:
        first = next(attempts) == 0
        branches = {name: branch(name) for name in (names if first else reversed(names))}
        done = [await each for each in asyncio.as_completed(given([branches[name] for name in names]))]
        if first:
            raise ConnectionError("lost")
        return sorted(done)

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    before = made.copy()
    assert async_world.invoke(wf, None, thread_id="t") == sorted(names)
    assert (made, len(async_world.ran)) == (before, len(names))


@pytest.mark.parametrize(
    "held", [lambda future: [future], lambda future: {"page": future}], ids=["list", "dict"]
)
def test_a_call_with_futures_in_an_argument_is_told_by_their_calls(
    world: World, held: Callable[[Any], Any]
) -> None:
    """G2: what it is given is what they come to, and no other future stands for that."""
    edited: list[None] = []

    @world.task
    async def page(url: str) -> str:
        return f"<{url}>"

    @world.task
    async def digest(pages: Any) -> str:
        world.ran.append("digest")
        return str(
            [await world.value(each) for each in (pages.values() if isinstance(pages, dict) else pages)]
        )

    @world.entrypoint
    async def wf() -> dict[str, str]:
        urls = ["c", "b", "a"] if edited else ["a", "b"]
        found = {url: digest(held(page(url))) for url in urls}
        done = {url: await world.value(each) for url, each in found.items()}
        if not edited:
            raise ConnectionError("lost")
        return done

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    edited.append(None)
    assert world.invoke(wf, None, thread_id="t") == {url: f"['<{url}>']" for url in "cba"}
    assert world.ran == ["digest"] * 3


def test_a_future_in_an_argument_counts_by_the_call_that_it_turns_out_to_be(world: World) -> None:
    """G2: a call that its position places late is placed once another is given its future."""
    draws = count()

    @world.task(on_divergence="reuse")
    async def page(number: int) -> str:
        world.ran.append("page")
        return f"<{number}>"

    @world.task
    async def digest(pages: dict[str, list[Any]]) -> str:
        world.ran.append("digest")
        return str([await world.value(page) for page in pages["all"]])

    @world.entrypoint
    async def wf() -> str:
        draw = next(draws)
        found = str(await world.value(digest({"all": [page(draw)]})))
        if draw == 0:
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert world.invoke(wf, None, thread_id="t") == "['<0>']"
    assert sorted(world.ran) == ["digest", "page"]


def test_a_new_item_whose_future_is_given_on_is_no_doubt(world: World) -> None:
    """G9: the items after it claim their records, though what is given its future comes before them."""
    items = [uuid.uuid4() for _ in range(2)]
    failures = [True]

    @world.task
    async def load(item: uuid.UUID) -> str:
        world.ran.append(item)
        return str(item)

    @world.task
    async def send(loaded: list[Any]) -> str:
        return str(await world.value(loaded[0]))

    @world.entrypoint
    async def wf() -> list[str]:
        sent = [send([load(item)]) for item in items]
        found = [await world.value(each) for each in sent]
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    items.insert(0, uuid.uuid4())
    assert world.invoke(wf, None, thread_id="t") == list(map(str, items))
    assert sorted(world.ran) == sorted(items)


def test_what_is_given_the_future_of_a_call_in_doubt_waits_with_it(world: World) -> None:
    """Rule 3: the run is refused before anything new runs, though nobody has waited for the call in doubt by then."""

    @world.task
    async def reserve(token: uuid.UUID) -> str:
        world.ran.append("reserve")
        return str(token)

    @world.task
    async def notify(reserved: list[Any]) -> str:
        world.ran.append("notify")
        return str(await world.value(reserved[0]))

    @world.task
    async def log(notified: dict[str, Any]) -> None:
        world.ran.append("log")

    @world.entrypoint
    async def wf() -> None:
        notified = notify([reserve(uuid.uuid4())])
        await world.value(log({"sent": notified}))
        await world.value(notified)
        raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    assert sorted(world.ran) == ["log", "notify", "reserve"]
    with pytest.raises(NonDeterminismError, match="reserve"):
        world.invoke(wf, None, thread_id="t")
    assert len(world.ran) == 3


@pytest.mark.parametrize(
    "held", [lambda future: {"all": [future]}, lambda future: {"all": {future, 1, 2, 3}}], ids=["list", "set"]
)
def test_what_waits_with_a_call_in_doubt_is_told_by_its_arguments_as_they_were(
    world: World, held: Callable[[Any], dict[str, Any]]
) -> None:
    """G1: what its caller does to them meanwhile makes it no other call, neither now nor on the next attempt."""
    items = [uuid.uuid4() for _ in range(4)]
    failures = [None, None, None]

    @world.task
    async def reserve(item: uuid.UUID) -> str:
        world.ran.append(("reserve", item))
        return str(item)

    @world.task
    async def notify(state: dict[str, Any]) -> str:
        (reserved,) = (each for each in state["all"] if not isinstance(each, int))
        found = str(await world.value(reserved))
        world.ran.append(("notify", found))
        return found

    @world.entrypoint
    async def wf() -> list[str]:
        sent = []
        for item in items:
            state = held(reserve(item))
            sent.append(notify(state))
            state["sent"] = True
        found = [await world.value(each) for each in sent]
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    items.insert(0, uuid.uuid4())
    world.ran.clear()
    for _ in failures.copy():
        with pytest.raises(ConnectionError):
            world.invoke(wf, None, thread_id="t")
    assert world.ran == [("reserve", items[0]), ("notify", str(items[0]))]
    assert world.invoke(wf, None, thread_id="t") == list(map(str, items))
    assert len(world.ran) == 2


class Shop:
    """Its methods and tasks are given to others."""

    def __init__(self, name: str) -> None:
        self.name = name

    def price(self) -> str:
        return self.name

    @task
    def charge(self) -> str:
        return self.name

    def __call__(self) -> str:
        return self.name


def decorated(function: Callable[[], str], after: str = "") -> Callable[[], str]:
    lock = nullcontext()  # which only its type tells from others

    @functools.wraps(function)
    def wrapper() -> str:
        with lock:
            return function() + after

    return wrapper


def nothing() -> str:
    return ""


shop = Shop("")


@pytest.mark.parametrize(
    "given",
    [
        lambda name: Shop(name).charge,
        lambda name: functools.partial(Shop(name).charge),
        lambda name: task(Shop(name).price),
        lambda name: decorated(Shop(name).price),
        lambda name: decorated(Shop(name)),
        lambda name: decorated(nothing, name),
        lambda name: decorated(shop.price, name),
        lambda name: decorated(shop, name),
        lambda name: decorated(functools.partial(nothing), name),
        lambda name: functools.cache(Shop(name).price),
        lambda name: {name: 1}.keys(),
        lambda name: {1: name}.values(),
        lambda name: {name: 1}.items(),
    ],
    ids=[
        *(
            "task",
            "partial",
            "made a task",
            "decorated method",
            "decorated object",
            "decorator's of a function",
        ),
        *("decorator's of a method", "decorator's of an object", "decorator's of a partial", "kept"),
        *("keys", "values", "items"),
    ],
)
def test_an_argument_counts_by_the_object_that_it_is_of(world: World, given: Callable[[str], Any]) -> None:
    """G2: as a bound method does, whatever is around it; and what a dict shows of itself by that."""
    edited: list[None] = []

    @world.task
    async def ask(about: Any) -> str:
        if not callable(about):
            return str([*about])
        found = about()
        return str(await world.value(found) if hasattr(found, "result") else found)

    @world.entrypoint
    async def wf() -> list[str]:
        names = ["b", "a"] if edited else ["a", "b"]
        found = {name: await world.value(ask(given(name))) for name in names}
        if not edited:
            raise ConnectionError("lost")
        return [found["a"], found["b"]]

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    edited.append(None)
    first, second = world.invoke(wf, None, thread_id="t")
    assert ("a" in first, "b" in second) == (True, True)


def test_an_argument_is_not_looked_at_by_its_attributes() -> None:
    """Section 4.2: code is read, never called: a class may have attributes that refuse to be looked at."""

    class Lazy:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("too early")

    class Owner:
        settings = Lazy()

        def method(self) -> int:
            return 3

    @task
    def use(method: Callable[[], int]) -> int:
        return method()

    assert entrypoint(lambda: use(Owner().method).result())() == 3


def test_a_held_call_waits_for_no_code_that_is_inside_an_awaited_task(async_world: World) -> None:
    """G2: that is no branch of its caller's, and may wait for what comes of the held call."""
    import asyncio

    world, amounts = async_world, [1, 2]

    @world.task
    async def charge(amount: int) -> str:
        return f"charged {amount}"

    @world.task
    async def receive() -> str:
        await came.wait()
        return "received"

    async def branch(amount: int) -> str:
        charged = await charge(amount)
        came.set()
        return charged

    @world.task
    async def order() -> list[str]:
        amount = amounts.pop(0)
        charging = asyncio.create_task(branch(amount))
        if amounts:
            await charging
            raise ConnectionError("lost")
        return [await receive(), await charging]

    @world.entrypoint(on_divergence="reuse")
    async def wf() -> list[str]:
        return list(await order())

    came = asyncio.Event()
    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    came = asyncio.Event()
    assert world.invoke(wf, None, thread_id="t") == ["received", "charged 1"]
