"""Questions as forms: an answer is checked before the run goes on, has a deadline, and says who gave it."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from flowfn import Command, InvalidAnswer, NoPendingInterrupt, gather, interrupt
from flowfn.kinds import read
from flowfn.values import MISSING

from ..worlds import World, asked, questions


class Approval(BaseModel):
    """What an approver fills in."""

    approved: bool
    amount: int = Field(gt=0)


@dataclass
class Line:
    """A part of an answer."""

    sku: str
    count: int = 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in its only item; a test sets it."""
    now = [time.time()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def asking(world: World, **options: Any) -> Any:
    """A workflow that notes that its body runs, and asks one question."""

    @world.entrypoint
    async def wf() -> Any:
        world.ran.append("body")
        return interrupt("approve?", **options)

    return wf


# -- the answer is checked before the run goes on ---------------------------------------------------


def test_an_answer_becomes_its_model(world: World) -> None:
    """What was answered as data is the model where the question was asked."""
    wf = asking(world, type=Approval)
    world.invoke(wf, thread_id="t")
    assert world.resume(wf, {"approved": True, "amount": 3}, "t") == Approval(approved=True, amount=3)


UNFIT: dict[str, tuple[Any, Any, Any]] = {
    "model": (Approval, {"approved": True, "amount": -1}, {"approved": True, "amount": 1}),
    "a field is missing": (Approval, {"approved": True}, {"approved": True, "amount": 1}),
    "dataclass": (Line, {"sku": "a", "count": "many"}, {"sku": "a"}),
    "literal": (Literal["yes", "no"], "maybe", "no"),
    "union": (Approval | None, "soon", None),
    "container": (dict[str, list[Line]], {"a": [{"count": 1}]}, {"a": [{"sku": "x"}]}),
    "tuple": (tuple[int, ...], [1, "b"], [1, 2]),
    "plain": (int, "many", 3),
}


@pytest.mark.parametrize("name", UNFIT)
def test_an_unfit_answer_starts_nothing(world: World, name: str) -> None:
    """An answer that doesn't fit is refused before any code of the run is called; the question stays open."""
    kind, unfit, fit = UNFIT[name]
    wf = asking(world, type=kind)
    (question,) = questions(world.invoke(wf, thread_id="t"))
    before = world.state(wf, "t")
    with pytest.raises(InvalidAnswer, match=r"approve\?.*does not fit"):
        world.resume(wf, unfit, "t")
    assert (world.ran, world.state(wf, "t"), before.interrupts) == (["body"], before, (question,))
    world.resume(wf, fit, "t")
    assert world.ran == ["body", "body"]


def test_a_type_without_a_name_is_checked_where_it_is_asked(world: World) -> None:
    """Constraints in `Annotated` can't be known before the code runs; the question stays open all the same."""
    wf = asking(world, type=Annotated[int, Field(gt=0)])
    (question,) = questions(world.invoke(wf, thread_id="t"))
    with pytest.raises(InvalidAnswer, match="greater than 0"):
        world.resume(wf, -1, "t")
    assert world.state(wf, "t").interrupts == (question,)
    assert world.resume(wf, 1, "t") == 1


def test_a_class_of_a_function_is_known_while_it_lives(world: World) -> None:
    """Also a model that no module has is checked before the run goes on, in the process that asked."""

    class Choice(BaseModel):
        number: int

    @world.entrypoint
    async def wf() -> int:
        world.ran.append("body")
        return interrupt("approve?", type=Choice).number

    world.invoke(wf, thread_id="t")
    with pytest.raises(InvalidAnswer):
        world.resume(wf, {"number": "x"}, "t")
    assert world.ran == ["body"]
    assert world.resume(wf, {"number": 1}, "t") == 1


def test_an_object_is_an_answer(world: World) -> None:
    """Whoever has the program's classes may answer with one of them."""
    wf = asking(world, type=Line)
    world.invoke(wf, thread_id="t")
    assert world.resume(wf, Line("a", 2), "t") == Line("a", 2)


def test_one_unfit_answer_of_several_commits_none(world: World) -> None:
    """Answers that come together are taken together or not at all."""

    @world.task
    async def approve(x: int) -> Any:
        world.ran.append(x)
        return interrupt(x, type=bool)

    @world.entrypoint
    async def wf() -> list[Any]:
        return await world.value(gather(approve(x) for x in range(2)))

    ids = {q.value: q.id for q in questions(world.invoke(wf, thread_id="t"))}
    with pytest.raises(InvalidAnswer):
        world.resume(wf, {ids[0]: True, ids[1]: "perhaps"}, "t")
    assert (sorted(world.ran), len(world.state(wf, "t").interrupts)) == ([0, 1], 2)
    assert world.resume(wf, {ids[0]: True, ids[1]: False}, "t") == [True, False]


@pytest.mark.parametrize(
    "name", ["subprocess:Popen", "builtins:str", "nowhere:Model", "pydantic.types:ImportString"]
)
def test_data_names_forms_only(name: str) -> None:
    """G5: a stored question can name a class with fields that is loaded already, and nothing else."""
    assert read(["class", name]) is MISSING
    assert read(["union", ["int"], ["class", name]]) is MISSING


def test_the_question_has_the_schema_of_its_answer(world: World) -> None:
    """A page can draw the form: the JSON schema is part of the question, here and in the state."""
    wf = asking(world, type=Approval)
    (question,) = questions(world.invoke(wf, thread_id="t"))
    assert question.response_schema == Approval.model_json_schema()
    assert world.state(wf, "t").interrupts[0].response_schema == question.response_schema


# -- a deadline with a default ----------------------------------------------------------------------


def test_the_default_counts_after_the_deadline(world: World, clock: list[float]) -> None:
    """Until then the question is asked again on each resume, with the same deadline; after it nobody is asked."""
    wf = asking(world, timeout=timedelta(hours=1), default="no")
    (question,) = questions(world.invoke(wf, thread_id="t"))
    assert question.expires_at == datetime.fromtimestamp(clock[0] + 3600, UTC)
    clock[0] += 3599
    (again,) = questions(world.invoke(wf, None, thread_id="t"))
    assert (again.id, again.expires_at) == (question.id, question.expires_at)
    clock[0] += 2
    assert world.invoke(wf, None, thread_id="t") == "no"


def test_an_answer_in_time_counts(world: World, clock: list[float]) -> None:
    """What was answered before the deadline stays the answer, however late the run goes on."""
    failures = [True]

    @world.entrypoint
    async def wf() -> Any:
        answer = interrupt("approve?", timeout=10, default="no")
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return answer

    world.invoke(wf, thread_id="t")
    with pytest.raises(ConnectionError):
        world.resume(wf, "yes", "t")
    clock[0] += 1000
    assert world.invoke(wf, None, thread_id="t") == "yes"


def test_a_late_answer_is_refused(world: World, clock: list[float]) -> None:
    """After the deadline an answer is NoPendingInterrupt, by whatever name it comes; then the default counts."""
    wf = asking(world, key="approval", timeout=10, default=None)
    (question,) = questions(world.invoke(wf, thread_id="t"))
    clock[0] += 11
    for late in ("yes", {question.id: "yes"}, {"approval": "yes"}):
        with pytest.raises(
            NoPendingInterrupt, match=r"deadline of 'approve\?' passed at .* its default counts"
        ):
            world.resume(wf, late, "t")
    assert world.ran == ["body"]
    assert world.invoke(wf, None, thread_id="t") is None


def test_a_default_is_taken_once(world: World, clock: list[float]) -> None:
    """G8: what went on with the default goes on with it for ever, though the code's default is another by then."""
    defaults = ["first", "second"]
    failures = [True]

    @world.task
    async def note(answer: str) -> str:
        world.ran.append(answer)
        return answer

    @world.entrypoint
    async def wf() -> Any:
        answer = interrupt(
            "approve?", timeout=1, default=defaults.pop(0) if len(defaults) > 1 else defaults[0]
        )
        noted = await world.value(note(answer))
        if failures:
            failures.pop()
            raise ConnectionError("lost")
        return noted

    defaults.insert(0, "unused")
    world.invoke(wf, thread_id="t")
    clock[0] += 2
    with pytest.raises(ConnectionError):
        world.invoke(wf, None, thread_id="t")
    assert (world.invoke(wf, None, thread_id="t"), world.ran) == ("first", ["first"])


def test_a_default_needs_not_fit(world: World, clock: list[float]) -> None:
    """The default is the code's own word: it may be of no type that an answer could have."""
    wf = asking(world, type=Approval, timeout=1, default=None)
    world.invoke(wf, thread_id="t")
    clock[0] += 2
    assert world.invoke(wf, None, thread_id="t") is None


def asking_twice(world: World) -> Any:
    """A workflow of two questions at once: one waits for ten seconds, the other for a hundred."""

    @world.task
    async def approve(seconds: int) -> Any:
        return interrupt(f"{seconds}?", timeout=seconds, default=f"late {seconds}")

    @world.entrypoint
    async def wf() -> list[Any]:
        return await world.value(gather(approve(x) for x in (10, 100)))

    return wf


def test_only_the_questions_that_are_due_get_their_defaults(world: World, clock: list[float]) -> None:
    """Of parallel questions each has its own deadline; a plain answer goes to the one that still waits."""
    wf = asking_twice(world)
    world.invoke(wf, thread_id="t")
    clock[0] += 50
    assert asked(world.invoke(wf, None, thread_id="t")) == ["100?"]
    assert world.resume(wf, "yes", "t") == ["late 10", "yes"]


def test_a_plain_answer_passes_by_a_question_that_is_due(world: World, clock: list[float]) -> None:
    """An answer without a name is not ambiguous where one of two questions takes none any more."""
    wf = asking_twice(world)
    world.invoke(wf, thread_id="t")
    clock[0] += 50
    assert world.resume(wf, "yes", "t") == ["late 10", "yes"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"timeout": 1}, "interrupt\\(timeout=…\\) needs default="),
        ({"default": 1}, "interrupt\\(default=…\\) needs timeout="),
        ({"timeout": "1h", "default": 1}, "timeout must be seconds or a timedelta"),
        ({"timeout": 0, "default": 1}, "timeout must be greater than 0"),
    ],
)
def test_a_deadline_that_means_nothing(sync_world: World, options: dict[str, Any], error: str) -> None:
    """Each of the two needs the other, and a timeout is a duration."""
    with pytest.raises((TypeError, ValueError), match=error):
        sync_world.invoke(asking(sync_world, **options), thread_id="t")


# -- who answered -----------------------------------------------------------------------------------


def calls(world: World, workflow: Any, thread: str) -> list[Any]:
    """The recorded calls of a thread's last run: name, status and who answered."""
    (history, *_) = [s for s in world.history(workflow, thread) if s.tasks]
    return [(call.name, call.status, call.answered_by) for task in history.tasks for call in task.calls]


def test_who_answered_is_recorded(world: World) -> None:
    """As the caller says; the time is recorded too."""

    @world.entrypoint
    async def wf() -> list[Any]:
        return [interrupt("first?"), interrupt("second?")]

    world.invoke(wf, thread_id="t")
    world.invoke(wf, Command(resume=1, by="ann@example.com"), thread_id="t")
    assert calls(world, wf, "t") == [
        ("interrupt", "answered", "ann@example.com"),
        ("interrupt", "asked", None),
    ]
    assert world.resume(wf, 2, "t") == [1, 2]
    assert calls(world, wf, "t")[1] == ("interrupt", "answered", None)
    (found, *_) = [s.tasks[0].calls for s in world.history(wf, "t") if s.tasks]
    assert all(call.answered_at.tzinfo is UTC for call in found)


def test_a_thread_is_told_who_answers(world: World) -> None:
    """`thread.resume(by=)` and `thread.send(by=)` say it too."""

    @world.entrypoint
    async def wf() -> list[Any]:
        return [interrupt("first?"), interrupt("second?", key="second")]

    world.invoke(wf, thread_id="t")
    world.do(wf.thread("t"), "resume", 1, by="ann")
    wf_thread = wf.thread("t")
    if not world.is_async:
        assert wf_thread.send("second", 2, by="bob") == [1, 2]
        assert [who for _, _, who in calls(world, wf, "t")] == ["ann", "bob"]


def test_the_deadline_answers_too(world: World, clock: list[float]) -> None:
    """A default is recorded as the deadline's answer."""
    wf = asking(world, timeout=1, default="no")
    world.invoke(wf, thread_id="t")
    clock[0] += 2
    world.invoke(wf, None, thread_id="t")
    assert calls(world, wf, "t") == [("interrupt", "answered", "deadline")]
