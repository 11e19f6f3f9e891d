"""G3: a call that had started and not finished when the process died runs again only as its policy says."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from flowfn import (
    Done,
    InDoubt,
    Interrupt,
    InvalidAnswer,
    InvalidInput,
    NotDone,
    RetryPolicy,
    current,
    interrupt,
    task,
)
from flowfn.ports import Commit, Writes

from ..worlds import World, asked, questions

pytestmark = pytest.mark.timeout(20)


class Killed(BaseException):
    """The process dies."""


class Bank:
    """A workflow of one charge, which dies in the middle of as many of its runs as it is told to."""

    def __init__(self, world: World, deaths: int = 1, **options: Any) -> None:
        self.world = world
        self.deaths = deaths
        self.keys: list[str] = []

        @world.task(**options)
        async def charge(customer: str, cents: int) -> int:
            world.ran.append(customer)
            self.keys.append(current().idempotency_key)
            if self.deaths:
                self.deaths -= 1
                raise Killed
            return cents

        @world.entrypoint
        async def flow(customer: str) -> list[int]:
            return [await world.value(charge(customer, cents=995))]

        self.flow = flow

    def dies(self, given: Any = None) -> None:
        with pytest.raises(Killed):
            self.world.invoke(self.flow, given, thread_id="t")

    def goes_on(self) -> Any:
        return self.world.invoke(self.flow, None, thread_id="t")

    def answered(self, answer: Any) -> Any:
        return self.world.resume(self.flow, answer, "t")

    @property
    def statuses(self) -> list[str]:
        return [call.status for call in self.world.state(self.flow, "t").tasks[0].calls]


# -- rerun ----------------------------------------------------------------------------------------


def test_by_default_it_runs_again_under_the_same_key(world: World) -> None:
    """G3: at-least-once for the one task in flight, and its idempotency key is the same."""
    bank = Bank(world)
    bank.dies("ada")
    assert (bank.goes_on(), world.ran, len(set(bank.keys))) == ([995], ["ada", "ada"], 1)


# -- ask ------------------------------------------------------------------------------------------


def test_ask_shows_the_call_and_runs_nothing(world: World) -> None:
    """G3: the resumed run stops at a question that shows the call, its key and what may be answered."""
    bank = Bank(world, in_doubt="ask")
    bank.dies("ada")
    assert bank.statuses == ["in_doubt"]
    (question,) = questions(bank.goes_on())
    assert question.value["in_doubt"] == "charge(customer='ada', cents=995)"
    assert question.value["idempotency_key"] == bank.keys[0]
    assert question.value["answer"] == "'rerun', or {'result': …}"
    assert (world.ran, bank.statuses) == (["ada"], ["in_doubt"])


def test_the_question_stays_the_same_until_it_is_answered(world: World) -> None:
    """G8: a run that is taken up without an answer asks no second question."""
    bank = Bank(world, in_doubt="ask")
    bank.dies("ada")
    first, second = questions(bank.goes_on()), questions(bank.goes_on())
    assert (first, world.ran) == (second, ["ada"])


def test_ask_answered_rerun_runs_it(world: World) -> None:
    """G3: "rerun" is the human's word that it hadn't happened."""
    bank = Bank(world, in_doubt="ask")
    bank.dies("ada")
    bank.goes_on()
    assert (bank.answered("rerun"), world.ran, len(set(bank.keys))) == ([995], ["ada", "ada"], 1)


def test_ask_answered_with_the_result_takes_it(world: World) -> None:
    """G3: a result that a human gives is the call's recorded one, as the type that it is annotated to return."""
    bank = Bank(world, in_doubt="ask")
    bank.dies("ada")
    bank.goes_on()
    assert (bank.answered({"result": "777"}), world.ran) == ([777], ["ada"])


@pytest.mark.parametrize(
    "answer", ["again", {"results": 1}, {"result": "much"}, {"result": 1, "by": "me"}, 5]
)
def test_an_answer_that_fits_neither_is_refused_and_asked_for_again(world: World, answer: Any) -> None:
    """G3, G8: a typo runs nothing."""
    bank = Bank(world, in_doubt="ask")
    bank.dies("ada")
    bank.goes_on()
    with pytest.raises(InvalidAnswer):
        bank.answered(answer)
    assert (bank.answered("rerun"), world.ran) == ([995], ["ada", "ada"])


def test_a_second_death_asks_a_second_question(world: World) -> None:
    """G3: an answer settles one start, not those after it."""
    bank = Bank(world, deaths=2, in_doubt="ask")
    bank.dies("ada")
    (first,) = questions(bank.goes_on())
    with pytest.raises(Killed):
        bank.answered("rerun")
    (second,) = questions(bank.goes_on())
    assert first.id != second.id
    assert (bank.answered("rerun"), world.ran) == ([995], ["ada"] * 3)


def test_what_has_finished_is_never_in_doubt(world: World) -> None:
    """G1: a recorded call is reused, whatever its policy; so is one that failed, and was caught."""

    @world.task(in_doubt="ask")
    async def pay(name: str) -> str:
        world.ran.append(name)
        if name == "bad":
            raise ValueError(name)
        return name

    @world.entrypoint
    async def flow(n: int) -> list[str]:
        found = [await world.value(pay("good"))]
        try:
            await world.value(pay("bad"))
        except ValueError:
            found.append("caught")
        found.append(await world.value(pay("last")))
        return [*found, interrupt("go on?")]

    assert asked(world.invoke(flow, 0, thread_id="t")) == ["go on?"]
    assert world.resume(flow, "yes", "t") == ["good", "caught", "last", "yes"]
    assert world.ran == ["good", "bad", "last"]


def test_a_call_that_failed_the_run_is_not_in_doubt_until_it_starts_again(world: World) -> None:
    """G3: a failure is known; the attempt after it, which dies, is not."""
    moods: list[BaseException] = [Killed(), ConnectionError("down")]

    @world.task(in_doubt="ask")
    async def pay(name: str) -> str:
        world.ran.append(name)
        if moods:
            raise moods.pop()
        return name

    @world.entrypoint
    async def flow(n: int) -> str:
        return await world.value(pay("ada"))  # type: ignore[no-any-return]

    with pytest.raises(ConnectionError):
        world.invoke(flow, 0, thread_id="t")
    with pytest.raises(Killed):
        world.invoke(flow, None, thread_id="t")
    (question,) = asked(world.invoke(flow, None, thread_id="t"))
    assert question["in_doubt"] == "pay(name='ada')"
    assert (world.resume(flow, "rerun", "t"), world.ran) == ("ada", ["ada"] * 3)


def test_a_call_that_waits_for_a_human_is_not_in_doubt(world: World) -> None:
    """G3, G8: it stopped because it asked, and goes on when it is answered."""

    @world.task(in_doubt="ask")
    async def pay(name: str) -> str:
        world.ran.append(name)
        return f"{name}: {interrupt('sure?')}"

    @world.entrypoint
    async def flow(n: int) -> str:
        return await world.value(pay("ada"))  # type: ignore[no-any-return]

    assert asked(world.invoke(flow, 0, thread_id="t")) == ["sure?"]
    assert world.resume(flow, "yes", "t") == "ada: yes"


def test_several_calls_in_doubt_are_all_asked_about(world: World) -> None:
    """G3, G8: one question for each call, answered by id."""

    @world.task(in_doubt="ask")
    async def pay(name: str) -> str:
        world.ran.append(name)
        raise Killed

    @world.entrypoint
    async def flow(n: int) -> list[str]:
        return [await world.value(future) for future in [pay("ada"), pay("eve")]]

    with pytest.raises(Killed):
        world.invoke(flow, 0, thread_id="t")
    open_questions: list[Interrupt] = []
    while len(open_questions) < 2:  # until each of the two has begun, and died
        with suppress(Killed):
            open_questions = questions(world.invoke(flow, None, thread_id="t"))
    assert {question.value["in_doubt"] for question in open_questions} == {
        "pay(name='ada')",
        "pay(name='eve')",
    }
    answers = {question.id: {"result": question.value["in_doubt"]} for question in open_questions}
    assert world.resume(flow, answers, "t") == ["pay(name='ada')", "pay(name='eve')"]


def test_retries_leave_one_mark(world: World) -> None:
    """G3: an attempt that failed is known to have; the call is in doubt only while one is under way."""

    @world.task(in_doubt="ask", retry_policy=RetryPolicy(max_attempts=3, initial_interval=0, jitter=False))
    async def flaky(name: str) -> str:
        world.ran.append(name)
        if len(world.ran) < 3:
            raise ConnectionError(name)
        return name

    @world.entrypoint
    async def flow(n: int) -> str:
        return await world.value(flaky("ada"))  # type: ignore[no-any-return]

    assert (world.invoke(flow, 0, thread_id="t"), world.ran) == ("ada", ["ada"] * 3)


def marks_before(world: World, durability: str) -> list[bool]:
    """Whether the start of a charge was stored when its body ran."""
    stored: list[bool] = []

    @world.task(in_doubt="ask")
    async def charge(name: str) -> str:
        head = world.saver.load("t")
        rows = [] if head is None else head.writes
        stored.append(any(row.channel == "__started__" for row in rows))
        return name

    @world.entrypoint
    async def flow(n: int) -> str:
        return await world.value(charge("ada"))  # type: ignore[no-any-return]

    world.invoke(flow, 0, thread_id="t", durability=durability)
    return stored


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_the_start_is_committed_before_the_task_begins(world: World, durability: str) -> None:
    """G3: under any durability, a mark of its own says that the call may have happened."""
    assert marks_before(world, durability) == [True]


def test_rerun_costs_no_commit() -> None:
    """G3: the default policy's start mark rides on a commit that happens anyway."""
    from checkpointers import MemorySaver
    from flowfn import entrypoint

    class Counting(MemorySaver):
        rows: list[str] = []  # noqa: RUF012

        def commit(self, commits: Any, *, wait: bool = True) -> Any:
            for commit in commits:
                self.rows.append("+".join(_channels(commit)))
            return super().commit(commits, wait=wait)

    saver = Counting()

    @task
    def plain(name: str) -> str:
        return name

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> str:
        return plain("ada").result()

    flow.invoke(0)
    assert [rows for rows in saver.rows if rows] == ["__call__+__return__"]


def _channels(commit: Commit) -> list[str]:
    return [row.channel for item in commit.items if isinstance(item, Writes) for row in item.rows]


# -- verify ---------------------------------------------------------------------------------------


def test_verify_gets_the_call_and_its_result_counts(world: World) -> None:
    """G3: `Done(value)` is the call's recorded result; it doesn't run again."""
    seen: list[InDoubt] = []

    def look_up(call: InDoubt) -> Done:
        seen.append(call)
        return Done(call.arguments["cents"] + 1)

    bank = Bank(world, in_doubt=look_up)
    bank.dies("ada")
    assert (bank.goes_on(), world.ran) == ([996], ["ada"])
    (call,) = seen
    assert (call.name, call.args, call.kwargs) == ("charge", ("ada",), {"cents": 995})
    assert (call.idempotency_key, call.thread_id) == (bank.keys[0], "t")
    assert call.started_at is not None


@pytest.mark.parametrize("nothing", [NotDone, NotDone()])
def test_verify_may_say_that_it_had_not_happened(world: World, nothing: Any) -> None:
    """G3: `NotDone` runs it; should that die as well, it is verified again."""
    asked_for: list[str] = []

    def look_up(call: InDoubt) -> NotDone:
        asked_for.append(call.name)
        return nothing  # type: ignore[no-any-return]

    bank = Bank(world, deaths=2, in_doubt=look_up)
    bank.dies("ada")
    bank.dies()
    assert (bank.goes_on(), world.ran, asked_for) == ([995], ["ada"] * 3, ["charge"] * 2)


def test_the_decision_is_recorded(world: World) -> None:
    """G3: once it is settled, a further crash asks nobody, and the state says who decided."""
    asked_for: list[str] = []

    def look_up(call: InDoubt) -> Done:
        asked_for.append(call.name)
        return Done(5)

    @world.task(in_doubt=look_up)
    async def charge(name: str) -> int:
        world.ran.append(name)
        raise Killed

    stops = [Killed()]

    @world.entrypoint
    async def flow(n: int) -> Any:
        found = await world.value(charge("ada"))
        if asked_for and stops:
            raise stops.pop()
        return [found, interrupt("go on?")]

    for _ in range(2):
        with pytest.raises(Killed):
            world.invoke(flow, 0 if not world.ran else None, thread_id="t")
    assert asked(world.invoke(flow, None, thread_id="t")) == ["go on?"]
    assert (asked_for, world.ran) == (["charge"], ["ada"])
    (call, _) = world.state(flow, "t").tasks[0].calls
    assert (call.status, call.result) == ("done", 5)
    assert call.decision.startswith("done, said ")


@pytest.mark.parametrize("found", [None, True, "done", {"result": 1}])
def test_verify_must_say_one_of_two_things(world: World, found: Any) -> None:
    """G3: anything else ends the run, and the call stays in doubt."""
    bank = Bank(world, in_doubt=lambda call: found)
    bank.dies("ada")
    with pytest.raises(InvalidInput, match=r"flowfn\.Done\(value\)"):
        bank.goes_on()
    assert (world.ran, bank.statuses) == (["ada"], ["in_doubt"])


def test_a_verification_that_fails_leaves_the_call_in_doubt(world: World) -> None:
    """G3: its error is the run's, and is no outcome of the call, even where the workflow catches everything."""
    answers: list[Any] = [Done(7), ConnectionError("bank is down")]

    def look_up(call: InDoubt) -> Done:
        answer = answers.pop()
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]

    deaths = [Killed()]

    @world.task(in_doubt=look_up)
    async def charge(name: str) -> int:
        world.ran.append(name)
        raise deaths.pop()

    @world.entrypoint
    async def flow(n: int) -> Any:
        try:
            return await world.value(charge("ada"))
        except Exception:
            return "swallowed"

    with pytest.raises(Killed):
        world.invoke(flow, 0, thread_id="t")
    with pytest.raises(ConnectionError):
        world.invoke(flow, None, thread_id="t")
    assert (world.invoke(flow, None, thread_id="t"), world.ran) == (7, ["ada"])


def test_an_async_task_may_be_verified_by_a_coroutine(world: World) -> None:
    """G7: a coroutine function verifies async tasks; a plain task refuses one when it is defined."""

    async def look_up(call: InDoubt) -> Done:
        return Done(1)

    if not world.is_async:
        with pytest.raises(TypeError, match="async"):
            Bank(world, in_doubt=look_up)
        return
    bank = Bank(world, in_doubt=look_up)
    bank.dies("ada")
    assert (bank.goes_on(), world.ran) == ([1], ["ada"])


# -- the option -----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["reuse", "", 5])
def test_an_unknown_policy_is_refused_at_definition(policy: Any) -> None:
    """G3: a typo must not mean "rerun"."""
    with pytest.raises(InvalidInput, match="in_doubt"):
        task(in_doubt=policy)(lambda: None)


def test_with_options_takes_it_too(world: World) -> None:
    """Section 3: for one call of a task."""

    @task
    def plain() -> None: ...

    with pytest.raises(InvalidInput, match="in_doubt"):
        plain.with_options(in_doubt="ark")  # type: ignore[arg-type]
    assert plain.with_options(in_doubt="ask").name == "plain"
