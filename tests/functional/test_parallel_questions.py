"""Tasks that ask in parallel: all questions are surfaced, and answered by id in any order (G8)."""

import asyncio
import threading
from contextlib import aclosing
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from checkpointers import MemorySaver
from flowfn import Command, entrypoint, gather, interrupt, task

from ..worlds import World, asked, questions


def test_parallel_questions_are_all_surfaced(world: World) -> None:
    """G8: of three tasks that ask in parallel, all three questions are returned, each with an id of its own."""

    @world.task
    async def approve(x: int) -> Any:
        return interrupt(f"approve {x}?")

    @world.entrypoint
    async def wf() -> list[Any]:
        return await world.value(gather(approve(x) for x in range(3)))

    result = world.invoke(wf, thread_id="t")
    assert sorted(asked(result)) == ["approve 0?", "approve 1?", "approve 2?"]
    assert len({question.id for question in questions(result)}) == 3


@pytest.mark.parametrize("at_once", [True, False])
async def test_what_is_asked_while_other_work_goes_on_is_listed(at_once: bool) -> None:
    """G1: whoever is shown a question can answer it, also if the process dies before the run stops for it."""
    goes_on = [asyncio.Event() for _ in range(4)]

    @task
    async def approve(x: int) -> Any:
        await goes_on[x].wait()
        return interrupt(f"approve {x}?")

    @entrypoint(checkpointer=MemorySaver())
    async def wf() -> list[Any]:
        return await gather(approve(x) for x in range(4))

    async def listed() -> list[str]:
        state = await wf.aget_state({"configurable": {"thread_id": "t"}})
        return sorted(question.value for question in state.interrupts)

    async with aclosing(wf.thread("t").astream()) as stream:
        running = asyncio.create_task(anext(stream))
        for asked in ((0, 1, 2),) if at_once else ((0,), (1,), (2,)):
            before = await listed()
            for x in asked:
                goes_on[x].set()
            while (now := await listed()) == before:
                await asyncio.sleep(0)
            assert now == sorted([*before, *(f"approve {x}?" for x in asked)])
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)], ids=str)
def test_parallel_questions_are_answered_in_any_order(world: World, order: tuple[int, ...]) -> None:
    """G8: each is answered by its id, one at a time and in any order; an answered one never asks again."""

    @world.task
    async def approve(x: int) -> Any:
        return [x, interrupt(f"approve {x}?")]

    @world.entrypoint
    async def wf() -> list[Any]:
        return await world.value(gather(approve(x) for x in range(3)))

    ids = {question.value: question.id for question in questions(world.invoke(wf, thread_id="t"))}
    left = {0, 1, 2}
    for x in order:
        result = world.resume(wf, {ids[f"approve {x}?"]: f"answer {x}"}, "t")
        left.discard(x)
        if left:
            assert {q.value: q.id for q in questions(result)} == {
                f"approve {y}?": ids[f"approve {y}?"] for y in left
            }
    assert result == [[0, "answer 0"], [1, "answer 1"], [2, "answer 2"]]


def test_parallel_questions_are_answered_at_once(world: World) -> None:
    """One mapping of ids answers several questions."""

    @world.task
    async def approve(x: int) -> Any:
        return [x, interrupt(x)]

    @world.entrypoint
    async def wf() -> list[Any]:
        return await world.value(gather(approve(x) for x in range(3)))

    found = questions(world.invoke(wf, thread_id="t"))
    assert world.resume(wf, {q.id: 10 * q.value for q in found}, "t") == [[0, 0], [1, 10], [2, 20]]


def test_a_sibling_of_a_question_is_finished_and_kept(world: World) -> None:
    """Tasks in flight beside a question end, are recorded, and don't run again."""

    @world.task
    async def approve() -> Any:
        return interrupt("approve?")

    @world.task
    async def note(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf() -> list[Any]:
        return await world.value(gather(note(1), approve(), note(2)))

    world.invoke(wf, thread_id="t")
    assert sorted(world.ran) == [1, 2]
    assert world.resume(wf, "ok", "t") == [1, "ok", 2]
    assert sorted(world.ran) == [1, 2]


def test_a_task_group_surfaces_all_questions(async_world: World) -> None:
    """G8: a task group cancels the siblings of what fails first, and yet each asks its question."""
    world = async_world

    @world.task
    async def approve(x: int) -> Any:
        for _ in range(10 * x):
            await asyncio.sleep(0)
        return interrupt(f"approve {x}?")

    @world.entrypoint
    async def wf() -> list[Any]:
        async def branch(x: int) -> Any:
            return await world.value(approve(x))

        async with asyncio.TaskGroup() as group:
            branches = [group.create_task(branch(x)) for x in range(3)]
        return [one.result() for one in branches]

    result = world.invoke(wf, thread_id="t")
    assert sorted(asked(result)) == ["approve 0?", "approve 1?", "approve 2?"]
    assert world.resume(wf, {q.id: q.value[8] for q in questions(result)}, "t") == ["0", "1", "2"]


def test_a_question_beside_a_failure_waits(sync_world: World) -> None:
    """A run that fails keeps the questions that were asked meanwhile: the next one takes their answers (G8)."""
    world, sound = sync_world, False

    @world.task
    async def ask() -> Any:
        return interrupt("?")

    @world.task
    async def fail() -> str:
        if not sound:
            raise ValueError("boom")
        return "sound"

    @world.entrypoint
    async def wf() -> list[Any]:
        asked, failed = ask(), fail()
        await world.error(asked)
        return [await world.value(failed), await world.value(asked)]

    with pytest.raises(ValueError, match="boom"):
        world.invoke(wf, thread_id="1")
    assert [question.value for question in world.state(wf, "1").interrupts] == ["?"]
    sound = True
    assert world.resume(wf, "A", "1") == ["sound", "A"]


def test_one_answer_goes_to_one_of_two_who_ask_at_once(world: World) -> None:
    """A run that goes back with an answer has it for one question, also while that one's answer is being validated."""
    racing, validating, told = threading.Event(), threading.Event(), threading.Event()

    def validate(value: str) -> str:
        if racing.is_set() and not validating.is_set():
            validating.set()
            assert told.wait(20)
        return value

    @task
    def first() -> str:
        return interrupt("first?", type=Annotated[str, AfterValidator(validate)])

    @task
    def second() -> str:
        if racing.is_set():
            assert validating.wait(20)
        try:
            return interrupt("second?", type=Annotated[str, AfterValidator(validate)])
        finally:
            told.set()

    @world.entrypoint
    async def wf() -> list[str]:
        return await world.value(gather([first(), second()]))

    ids = {question.value: question.id for question in questions(world.invoke(wf, thread_id="t"))}
    world.resume(wf, dict.fromkeys(ids.values(), "no"), "t")
    start = world.history(wf, "t")[-1]
    told.clear()
    racing.set()
    result = world.invoke(wf, Command(resume="yes"), start.config)
    assert asked(result) == ["second?"]
