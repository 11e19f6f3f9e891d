"""Calls whose arguments are made anew on each attempt: reused, refused or run, as `on_divergence` says (section 4)."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import uuid4

import pytest

from flowfn import NonDeterminismError, interrupt
from flowfn.hosts import patience

from ..worlds import World

pytestmark = pytest.mark.timeout(10)  # a refusal that leaves a call behind would wait for it for ever


def failing_once(world: World, argument: Callable[[], Any], policy: str = "doubt") -> Any:
    """A workflow that charges with an argument made on each attempt, and fails after that on its first."""
    failures = [True]

    @world.task
    async def charge(key: Any) -> str:
        world.ran.append(key)
        return f"charged {key}"

    @world.entrypoint(on_divergence=policy)
    async def wf() -> str:
        result = await world.value(charge(argument()))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return result

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    return wf


def test_only_the_clock_differs(world: World) -> None:
    """Rule 2: an argument that was the time of the call, then and now, is the same call; the report says so."""
    wf = failing_once(world, lambda: {"at": datetime.now(UTC), "of": "order 7"})
    assert world.invoke(wf, None, thread_id="t") == f"charged {world.ran[0]}"
    assert len(world.ran) == 1
    assert [difference.kind for difference in wf.thread("t").report] == ["clock"]


RANDOM = {"uuid4": uuid4, "text of uuid4": lambda: f"order-{uuid4()}", "token": lambda: secrets.token_hex(16)}


@pytest.mark.parametrize("name", RANDOM)
def test_something_random_differs(world: World, name: str) -> None:
    """Rule 3: nobody but the author can tell, so the run is refused before anything new runs."""
    wf = failing_once(world, RANDOM[name])
    with pytest.raises(
        NonDeterminismError, match=r"flowfn\.uuid4\(\)(?s:.)*key=(?s:.)*on_divergence"
    ) as raised:
        world.invoke(wf, None, thread_id="t")
    assert len(world.ran) == 1
    assert str(world.ran[0])[:8] in str(raised.value)
    assert raised.value.report.first.kind == "doubt"


@pytest.mark.parametrize(("policy", "ran"), [("reuse", 1), ("rerun", 2)])
def test_the_author_decides(world: World, policy: str, ran: int) -> None:
    """`on_divergence="reuse"` takes the record by position, "rerun" runs anew; both are reported."""
    wf = failing_once(world, uuid4, policy)
    result = world.invoke(wf, None, thread_id="t")
    assert len(world.ran) == ran
    assert result == f"charged {world.ran[-1]}"
    assert [difference.kind for difference in wf.thread("t").report][:1] == [
        "position" if policy == "reuse" else "new"
    ]


def test_what_the_author_decides_is_the_doubt_and_no_place(world: World) -> None:
    """G2: a customer who came in front, and made all others come later, gets nobody's receipt by that."""
    names, fails = ["b", "c"], [True]

    @world.task(on_divergence="reuse")
    async def charge(name: str, reference: str) -> str:
        world.ran.append(name)
        return f"receipt of {name}"

    @world.entrypoint
    async def wf() -> list[str]:
        found = [await world.value(charge(name, str(uuid4()))) for name in names]
        if fails:
            raise ConnectionError("lost")
        return found

    with pytest.raises(ConnectionError):
        world.invoke(wf, {}, thread_id="t")
    names.insert(0, "a")
    fails.clear()
    assert world.invoke(wf, None, thread_id="t") == ["receipt of a", "receipt of b", "receipt of c"]
    assert world.ran == ["b", "c", "a"]


def test_a_refused_run_can_be_decided_later(world: World) -> None:
    """A refusal changes nothing: the record is still there for a run that the author has decided."""
    keys = (uuid4() for _ in count())
    wf = failing_once(world, lambda: next(keys))
    for _ in range(2):
        with pytest.raises(NonDeterminismError):
            world.invoke(wf, None, thread_id="t")
    assert len(world.ran) == 1
    (task,) = world.state(wf, "t").tasks
    assert [(call.name, call.status) for call in task.calls] == [("charge", "done")]


def test_a_refusal_cannot_be_swallowed(world: World) -> None:
    """Code that catches everything around a refused call doesn't go on to other calls."""
    failures = [True]

    @world.task
    async def charge(key: Any) -> str:
        world.ran.append("charge")
        return "charged"

    @world.task
    async def cancel() -> None:
        world.ran.append("cancel")

    @world.entrypoint
    async def wf() -> str:
        try:
            await world.value(charge(uuid4()))
        except Exception:
            await world.value(cancel())
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return "done"

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    with pytest.raises(NonDeterminismError):
        world.invoke(wf, None, thread_id="t")
    assert world.ran == ["charge"]


def test_other_arguments_are_no_doubt(world: World) -> None:
    """Rule 4: a plainly different argument is a new call, and runs."""
    names = iter(("a.txt", "b.txt"))
    wf = failing_once(world, lambda: next(names))
    assert world.invoke(wf, None, thread_id="t") == "charged b.txt"
    assert world.ran == ["a.txt", "b.txt"]


def test_new_calls_can_be_forbidden(world: World) -> None:
    """`on_divergence="error"` refuses any new call while a record of its name is unmatched."""
    names = iter(("a.txt", "b.txt"))
    wf = failing_once(world, lambda: next(names), "error")
    with pytest.raises(NonDeterminismError, match="on_divergence='error' allows none"):
        world.invoke(wf, None, thread_id="t")
    assert world.ran == ["a.txt"]


def doubt_beside_a_question(world: World, branches: bool) -> Any:
    """A workflow that charges with a random argument, fails once, and asks while the charge is in doubt."""
    attempts: list[int] = []

    @world.task
    async def charge(key: str) -> str:
        world.ran.append(key)
        return key

    @world.entrypoint
    async def wf() -> Any:
        attempts.append(1)
        if len(attempts) == 1:
            await world.value(charge(secrets.token_hex(16)))
            raise ConnectionError("lost")
        if not branches:
            charge(secrets.token_hex(16))
            return interrupt("sure?")

        async def charged() -> str:
            return await charge(secrets.token_hex(16))

        async def asked() -> Any:
            return interrupt("sure?")

        return await asyncio.gather(charged(), charged(), asked())

    with pytest.raises(ConnectionError):
        world.invoke(wf, thread_id="t")
    return wf


def test_a_doubt_that_nobody_waits_for_beside_a_question(world: World) -> None:
    """Rule 3: code that asks a human leaves no call undecided; the run is refused."""
    wf = doubt_beside_a_question(world, branches=False)
    with pytest.raises(NonDeterminismError):
        world.invoke(wf, None, thread_id="t")
    assert len(world.ran) == 1


def test_a_doubt_in_a_branch_beside_a_question(async_world: World) -> None:
    """Rule 3: a branch of asyncio that waits for a call in doubt doesn't wait for ever when another one asks."""
    wf = doubt_beside_a_question(async_world, branches=True)
    with pytest.raises(NonDeterminismError):
        async_world.invoke(wf, None, thread_id="t")
    assert len(async_world.ran) == 1


def test_a_doubt_beside_a_call_that_was_given_up_while_it_was_held(
    async_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Section 4, rule 3: what was given up isn't at work, so that there is an end to the patience with a branch that
    waits for a lock."""
    monkeypatch.setattr(patience, "PATIENCE", 0.01)
    lost = True

    @async_world.task
    async def ask(key: str) -> str:
        return key

    @async_world.task
    async def charge(key: str) -> str:
        return key

    @async_world.entrypoint
    async def wf() -> None:
        charged = asyncio.Event()

        async def one() -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(None if lost else 0):
                    await ask(str(uuid4()))
            await charge(str(uuid4()))
            if lost:
                raise ConnectionError("lost")
            charged.set()

        async def other() -> None:
            await charged.wait()

        await asyncio.gather(one(), other())

    with pytest.raises(ConnectionError):
        async_world.invoke(wf, {}, thread_id="t")
    lost = False
    with pytest.raises(NonDeterminismError, match="charge"):
        async_world.invoke(wf, None, thread_id="t")
