"""`interrupt()` asks a human and goes on with the answer (section 3, G8)."""

from typing import Any, Literal
from uuid import uuid4

import pytest

from flowfn import Interrupted, InvalidAnswer, interrupt, task

from ..worlds import World, asked, questions


def test_a_question_is_returned_and_answered(world: World) -> None:
    """`invoke` returns the question; `Command(resume=answer)` goes on with the answer as its value."""

    @world.entrypoint
    async def wf(x: int) -> list[Any]:
        return [x, interrupt({"publish?": x})]

    assert asked(world.invoke(wf, 1, thread_id="t")) == [{"publish?": 1}]
    assert world.resume(wf, "yes", "t") == [1, "yes"]


def test_finished_tasks_do_not_run_again(world: World) -> None:
    """What ran before the question is recorded, and reused when the run goes on."""

    @world.task
    async def double(x: int) -> int:
        world.ran.append(x)
        return 2 * x

    @world.entrypoint
    async def wf() -> list[Any]:
        first = await world.value(double(1))
        answer = interrupt("go on?")
        return [first, answer, await world.value(double(2))]

    world.invoke(wf, thread_id="t")
    assert world.ran == [1]
    assert world.resume(wf, "yes", "t") == [2, "yes", 4]
    assert world.ran == [1, 2]


def test_a_question_that_cannot_be_shown_is_asked_and_answered(world: World) -> None:
    """Recording it takes its bytes, not its `repr`, which may fail: Python writes no number of 5,000 decimals."""
    number = 10**5000

    @world.entrypoint
    async def wf() -> bool:
        return bool(interrupt(number) == number)

    assert asked(world.invoke(wf, thread_id="t")) == [number]
    assert world.resume(wf, number, "t")


def test_questions_one_after_another(world: World) -> None:
    """Each answer leads to the next question; an answered one is never asked again (G8)."""

    @world.entrypoint
    async def wf() -> list[Any]:
        return [interrupt("first?"), interrupt("second?"), interrupt("third?")]

    results = [
        asked(world.invoke(wf, thread_id="t")),
        asked(world.resume(wf, 1, "t")),
        asked(world.resume(wf, 2, "t")),
    ]
    assert results == [["first?"], ["second?"], ["third?"]]
    assert world.resume(wf, 3, "t") == [1, 2, 3]


def test_the_same_question_in_a_loop(world: World) -> None:
    """Equal questions are questions of their own, each with its own answer."""

    @world.entrypoint
    async def wf() -> list[Any]:
        answers = []
        while not answers or answers[-1] != "stop":
            answers.append(interrupt("more?"))
        return answers

    world.invoke(wf, thread_id="t")
    assert asked(world.resume(wf, "a", "t")) == ["more?"]
    assert asked(world.resume(wf, "b", "t")) == ["more?"]
    assert world.resume(wf, "stop", "t") == ["a", "b", "stop"]


def test_any_answer_will_do(world: World) -> None:
    """None, False, an empty string and a mapping are answers as good as others."""

    @world.entrypoint
    async def wf() -> list[Any]:
        return [interrupt("a"), interrupt("b"), interrupt("c"), interrupt("d")]

    world.invoke(wf, thread_id="t")
    for answer in (None, False, ""):
        world.resume(wf, answer, "t")
    assert world.resume(wf, {"free": "form"}, "t") == [None, False, "", {"free": "form"}]


def test_a_question_in_a_task(world: World) -> None:
    """A task may ask; its siblings that have finished don't run again."""

    @world.task
    async def approve(x: int) -> Any:
        return interrupt(f"approve {x}?")

    @world.task
    async def note(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf() -> list[Any]:
        noted = await world.value(note(1))
        return [noted, await world.value(approve(1)), await world.value(note(2))]

    assert asked(world.invoke(wf, thread_id="t")) == ["approve 1?"]
    assert world.resume(wf, "ok", "t") == [1, "ok", 2]
    assert world.ran == [1, 2]


def test_a_key_names_a_question_whose_text_may_change(world: World) -> None:
    """Section 4: an answer goes to the question of the same `key=`, whatever its payload is by then."""
    texts = iter(("sure, 1?", "sure, 2?"))

    @world.entrypoint
    async def wf() -> Any:
        return interrupt(next(texts), key="sure")

    found = questions(world.invoke(wf, thread_id="t"))
    assert [(q.value, q.key) for q in found] == [("sure, 1?", "sure")]
    assert world.resume(wf, {"sure": "yes"}, "t") == "yes"


def test_an_edited_question_asks_again(world: World) -> None:
    """Section 4: an answer never goes to another question; an edited one is asked anew, under another id."""
    texts = iter(("delete 1 file?", "delete ALL files?", "delete ALL files?"))

    @world.entrypoint
    async def wf() -> Any:
        return interrupt(next(texts))

    (first,) = questions(world.invoke(wf, thread_id="t"))
    (second,) = questions(world.resume(wf, "yes", "t"))
    assert second.value == "delete ALL files?"
    assert second.id != first.id
    assert world.resume(wf, "no", "t") == "no"


def test_a_question_that_is_another_one_each_time_says_so(
    sync_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """G8: it would be asked for ever, whatever is answered."""

    @sync_world.entrypoint
    async def wf() -> Any:
        return interrupt({"sure?": str(uuid4())})

    (question,) = questions(sync_world.invoke(wf, {}, thread_id="t"))
    sync_world.resume(wf, {question.id: "yes"}, "t")
    (said,) = [each.getMessage() for each in caplog.records if "asked again" in each.getMessage()]
    assert str(question.value["sure?"]) in said
    assert said.endswith("name the question: interrupt(…, key=…)")


def test_an_id_is_stable(world: World) -> None:
    """The same question of the same run keeps its id on every attempt; other threads have others."""

    @world.entrypoint
    async def wf() -> Any:
        return interrupt("sure?")

    (first,) = questions(world.invoke(wf, thread_id="t"))
    (again,) = questions(world.invoke(wf, None, thread_id="t"))
    (other,) = questions(world.invoke(wf, thread_id="other"))
    assert first == again
    assert other.id != first.id
    assert world.state(wf, "t").interrupts == (first,)


def test_a_typed_answer_is_converted(world: World) -> None:
    """`type=` validates the answer by pydantic, and converts what it can."""

    @world.entrypoint
    async def wf() -> list[Any]:
        return [interrupt("how many?", type=int), interrupt("ok?", type=Literal["yes", "no"])]

    world.invoke(wf, thread_id="t")
    world.resume(wf, "3", "t")
    assert world.resume(wf, "yes", "t") == [3, "yes"]


def test_an_answer_of_the_wrong_type_leaves_the_question_open(world: World) -> None:
    """A wrong answer is an InvalidAnswer which shows it; the question waits for another."""

    @world.entrypoint
    async def wf() -> Any:
        return interrupt("how many?", type=int)

    (question,) = questions(world.invoke(wf, thread_id="t"))
    with pytest.raises(InvalidAnswer, match=r"how many\?.*does not fit.*(?s:.)*many"):
        world.resume(wf, "many", "t")
    assert world.state(wf, "t").interrupts == (question,)
    assert world.resume(wf, 3, "t") == 3


@pytest.mark.parametrize("kind", ["str", ["yes", "no"], 3, {"answer": str}])
def test_a_value_is_no_type_of_an_answer(world: World, kind: Any) -> None:
    """No answer would fit it, so that the question isn't asked."""

    @world.entrypoint
    async def wf() -> Any:
        return interrupt("ok?", type=kind)

    with pytest.raises(TypeError, match="that is no type"):
        world.invoke(wf, thread_id="t")


def test_a_question_outside_a_run_is_refused() -> None:
    """There is nobody to ask outside a run: RuntimeError says where to call it."""
    with pytest.raises(RuntimeError, match="call it inside an @entrypoint or a @task"):
        interrupt("sure?")


def test_a_question_of_a_task_outside_a_run_is_refused() -> None:
    """A task that is called outside a run can ask nobody: an error says where to call it, and no signal gets out."""

    @task
    def sure() -> Any:
        return interrupt("sure?")

    with pytest.raises(Interrupted, match=r"'sure' asks 'sure\?'.*call it inside an @entrypoint") as raised:
        sure()
    assert [each.value for each in raised.value.interrupts] == ["sure?"]


async def test_so_is_that_of_one_that_is_awaited() -> None:
    """The same, of an async task, and of one that it calls."""

    @task
    async def inner() -> Any:
        return interrupt("sure?")

    @task
    async def outer() -> Any:
        return await inner()

    with pytest.raises(Interrupted, match=r"'outer' asks 'sure\?'"):
        await outer()


def test_a_question_without_a_checkpointer_is_returned(world: World) -> None:
    """Without a checkpointer the question is returned all the same; it can't be answered."""

    @world.entrypoint(checkpointer=None)
    async def wf() -> Any:
        return interrupt("sure?")

    assert asked(world.invoke(wf)) == ["sure?"]
