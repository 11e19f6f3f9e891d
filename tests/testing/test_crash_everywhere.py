"""`crash_everywhere` and `always_replay` pass what is sound, and name the line of what isn't."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Mapping
from copy import copy
from datetime import UTC, datetime
from functools import cached_property, partial
from gc import collect
from importlib import import_module
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any, TypedDict
from uuid import uuid4

import pytest
from pydantic import BaseModel

from checkpointers import MemorySaver
from flowfn import InvalidInput, RetryPolicy, current, entrypoint, interrupt, now, sleep, task
from flowfn.context import current_frame
from flowfn.testing import always_replay, crash_everywhere
from flowfn.testing.onlooker import Execution, Onlooker, execution_of, same_labels
from graph_compat.graph import END, START, StateGraph

from . import shop

Check = Callable[..., Any]

EACH = pytest.mark.parametrize("check", [crash_everywhere, always_replay])

ANSWER = ["receipt of ada", "receipt of bob", "receipt of eve", "receipt of kim", "yes"]


def failure(check: Check, *args: Any, **options: Any) -> str:
    """What a check says of a workflow that it finds unsound."""
    with pytest.raises(AssertionError) as caught:
        check(*args, **options)
    return str(caught.value)


def test_a_sound_workflow_passes() -> None:
    """It dies before and after each write; the report says what it came to, how often it died, and what ran."""
    report = crash_everywhere(shop.sound, ["ada", "bob", "eve"], answers="yes")
    assert report.answer == ANSWER
    assert report.points > 30
    ran = {re.sub(r"order='.+'", "order=…", label): times for label, times in report.executions.items()}
    assert ran == {
        "charge(customer='ada')": 1,
        "charge(customer='bob')": 1,
        "charge(customer='eve')": 1,
        "confirm(question='all of them?')": 2,  # it asks, and begins anew with the answer
        "child(customer='kim')": 1,
        "charge(customer='kim', order=…)": 1,
    }


def test_a_sound_workflow_is_killed() -> None:
    """With `kill=True` it is a process that dies, by SIGKILL, and the state of this one stays as it is."""
    shop.CHARGED.clear()
    report = crash_everywhere(shop.asks, "ada", answers="yes", kill=True)
    assert report.answer == "receipt of ada"
    assert report.points > 10
    assert shop.CHARGED == []


@pytest.mark.parametrize("kill", [False, True])
def test_an_async_workflow(kill: bool) -> None:
    """Coroutines die as functions do."""
    assert crash_everywhere(shop.sound_async, ["a"], kill=kill).answer == ["A", "receipt of zoe"]


def test_nothing_is_told_of_coroutines_that_died(caplog: pytest.LogCaptureFixture) -> None:
    """A body may leave some that nobody awaits any more; an error of their own is told of."""
    fetch = shop.fetch

    async def fetched(name: str) -> str:
        return await fetch(name)

    @entrypoint
    async def first(names: list[str]) -> bool:
        done, _ = await asyncio.wait(
            [asyncio.ensure_future(fetched(name)) for name in names], return_when=asyncio.FIRST_COMPLETED
        )
        return bool(done)

    assert crash_everywhere(first, ["ada", "bob"]).answer is True
    collect()
    assert "never retrieved" not in caplog.text


async def test_inside_an_event_loop() -> None:
    """An asyncio test may call it as well."""
    assert always_replay(shop.sound_async, ["a"]) == ["A", "receipt of zoe"]


@pytest.mark.parametrize("asks", [False, True])
def test_a_body_that_returns_what_stopped_it(asks: bool) -> None:
    """What `gather(return_exceptions=True)` makes of a death, or of a question that waits, is no answer."""

    @task
    async def number(x: int) -> int:
        return interrupt(x) if asks else x

    @entrypoint()
    async def both() -> list[int | BaseException]:
        return await asyncio.gather(number(1), number(2), return_exceptions=True)

    assert crash_everywhere(both, answers=lambda value: value).answer == [1, 2]


def test_what_a_dead_process_had_yet_to_ask_for_is_no_orphan() -> None:
    """A death between two tasks leaves the later one's records to the next life."""

    @task
    def twice(x: int) -> list[str]:
        return [interrupt(f"{x} a"), interrupt(f"{x} b")]

    @entrypoint()
    def flow() -> list[list[str]]:
        return [future.result() for future in twice.map([1, 2, 3])]

    assert crash_everywhere(flow, answers="yes").answer == [["yes", "yes"]] * 3


def test_a_graph() -> None:
    """A compiled graph is a workflow: its nodes die, and those that finished aren't run again."""

    class State(TypedDict):
        names: list[str]

    def first(state: State) -> State:
        return {"names": [*state["names"], "first"]}

    def second(state: State) -> State:
        return {"names": [*state["names"], str(interrupt("ok?"))]}

    graph = StateGraph(State)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", END)
    report = crash_everywhere(graph.compile(), {"names": []}, answers="yes")
    assert report.answer == {"names": ["first", "yes"]}


@EACH
@pytest.mark.parametrize("checkpointer", [None, False])
def test_a_graph_of_coroutines(check: Check, checkpointer: bool | None) -> None:
    """A graph lives on an event loop where one of its nodes, or of those of a graph in it, needs one."""

    class State(TypedDict):
        names: list[str]

    async def first(state: State) -> State:
        return {"names": [*state["names"], "first"]}

    def second(state: State) -> State:
        return {"names": [*state["names"], "second"]}

    nested = StateGraph(State).add_node("first", first).add_edge(START, "first").compile(checkpointer)
    graph = StateGraph(State).add_sequence([("nested", nested), ("second", second)]).add_edge(START, "nested")
    found = check(graph.compile(), {"names": []})
    assert getattr(found, "answer", found) == {"names": ["first", "second"]}


def test_what_a_workflow_forks_is_killed_with_it() -> None:
    """Processes of a pool outlive the one that began them: they don't keep it from being dead."""
    assert crash_everywhere(shop.weighs, -3, kill=True).answer == 3


def test_a_workflow_made_in_a_function_is_killed() -> None:
    """What no name leads to is shipped to the process that dies."""
    word = "receipt"

    @task
    def pay(customer: str) -> str:
        return f"{word} of {customer}"

    @entrypoint(checkpointer="memory://")
    def flow(customer: str) -> str:
        return pay(customer).result()

    assert crash_everywhere(flow, "ada", kill=True).answer == "receipt of ada"


def test_always_replay_gives_the_answer_and_runs_each_task_once() -> None:
    """The body is entered again and again; what is recorded doesn't run again."""
    shop.CHARGED.clear()
    assert always_replay(shop.sound, ["ada", "bob"], answers="yes", allow_effects=True)[0] == "receipt of ada"
    watched = ["ada", "bob", "kim"]  # once more, to see what the code does outside the record
    assert sorted(shop.CHARGED) == sorted(["ada", "bob", "kim", *watched])


@EACH
def test_nobody_waits(check: Check) -> None:
    """Sleeps and waits between retries take no time, and what they wait for is recorded all the same."""

    @task(retry_policy=RetryPolicy(initial_interval=3600, jitter=False))
    def flaky(n: int) -> int:
        if current().attempt == 1:
            raise ConnectionError(n)
        return n

    @entrypoint
    def flow(n: int) -> bool:
        before = now()
        sleep(86_400)
        return flaky(n).result() == n and (now() - before).days == 1

    found = check(flow, 1)
    assert getattr(found, "answer", found) is True


@EACH
def test_the_time_of_a_call_is_no_chance(check: Check) -> None:
    """Section 4, 2: what differs by the clock alone is reused when the run goes on, and so it is here."""

    @task
    def log(at: datetime) -> str:
        return "logged"

    @entrypoint
    def flow(n: int) -> str:
        return log(datetime.now(UTC)).result()

    found = check(flow, 1)
    assert getattr(found, "answer", found) == "logged"


@EACH
def test_the_time_of_a_call_is_no_chance_after_a_sleep(check: Check) -> None:
    """Nobody waited for the sleep: what the machine's clock says is the time of a life that goes on after it, too."""

    @task
    def log(at: datetime) -> str:
        return "logged"

    @entrypoint
    def flow(n: int) -> list[str]:
        before = log(datetime.now(UTC)).result()
        sleep(86_400)
        return [before, log(datetime.now(UTC)).result()]

    found = check(flow, 1)
    assert getattr(found, "answer", found) == ["logged", "logged"]


def test_a_call_is_like_that_of_another_life_but_for_the_clock() -> None:
    """However far it has gone on; what looks random tells calls apart."""
    seen = []

    @task
    def log(value: object) -> None:
        frame = current_frame.get()
        assert frame is not None
        seen.append(execution_of(frame.call))

    make = {"time": lambda: datetime.now(UTC), "chance": uuid4}

    @entrypoint(checkpointer=MemorySaver())
    def flow(name: str) -> None:
        log(make[name]()).result()

    for name in ("time", "time", "chance", "chance"):
        flow(name)
    before, after, one, other = seen
    assert before.label != after.label
    assert before.alike == after.alike
    assert one.alike != other.alike


def test_a_time_from_before_a_life_is_the_same_in_a_later_one() -> None:
    """That of a file, say: to a life that begins soon after, it is a time of its own, and to a later one it isn't."""
    soon, late = Onlooker(), Onlooker()
    soon.runs(Execution("1", "read(modified=1.5)", "", "read but for the clock"))
    late.runs(Execution("2", "read(modified=1.5)", "", "read(modified=1.5)"))
    late.runs(Execution("3", "read(modified=2.5)", "", "read(modified=2.5)"))
    same = same_labels(soon, late)
    assert late.counts(same) - soon.counts(same) == {"read(modified=2.5)": 1}


# -- planted bugs -----------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("name", ["random_id", "random_answer", "random_branch"])
def test_chance_outside_tasks(check: Check, name: str) -> None:
    """Whatever is made of it, an argument, an answer or a branch, the line that asks for it is named."""
    said = failure(check, getattr(shop, name), "ada")
    assert shop.line_of_bug(name) in said


def test_chance_that_becomes_an_argument_names_the_call() -> None:
    """The message says which call differs, and how."""
    said = failure(crash_everywhere, shop.random_id, "ada")
    assert re.search(
        r"can't tell charge\(customer='ada', order='.*shop\.py:\d+ from the recorded charge", said
    )


@EACH
@pytest.mark.parametrize(
    ("name", "line"),
    [("charges_in_the_body", "charges_in_the_body"), ("charge_before_a_question", "charges_and_asks")],
)
def test_an_effect_before_a_question(check: Check, name: str, line: str) -> None:
    """A charge in a body, or in a task before it asks, is made again with the answer: its line is named."""
    assert shop.line_of_bug(line) in failure(check, getattr(shop, name), "ada", answers="yes")


@EACH
def test_an_effect_in_a_coroutine(check: Check) -> None:
    """Coroutines are watched as functions are."""
    assert shop.line_of_bug("acharges_and_asks") in failure(check, shop.acharge, "ada", answers="yes")


@EACH
def test_an_effect_in_a_node(check: Check) -> None:
    """A node that asks begins anew as well, in a subgraph too."""

    class State(TypedDict):
        customer: str

    def ask(state: State) -> State:
        return {"customer": shop.charges_and_asks.func(state["customer"])}

    inner = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
    outer = (
        StateGraph(State).add_node("inner", inner.compile()).add_edge(START, "inner").add_edge("inner", END)
    )
    said = failure(check, outer.compile(), {"customer": "ada"}, answers="yes")
    assert shop.line_of_bug("charges_and_asks") in said


@EACH
def test_a_file_that_a_body_writes(check: Check, tmp_path: Path) -> None:
    """What the interpreter audits counts as an effect too."""
    said = failure(check, shop.writes_a_file, str(tmp_path / "charges"))
    assert shop.line_of_bug("writes_a_file") in said
    assert "writes to" in said


@EACH
def test_what_python_keeps_of_a_class_is_no_effect(check: Check) -> None:
    """Whoever takes an object apart, to copy or to store it, has `copyreg` keep the names of its slots in its class."""

    class Receipt:
        __slotnames__: list[str]

    @entrypoint
    def body(customer: str) -> str:
        receipt = copy(Receipt())
        del Receipt.__slotnames__  # as in a process that has yet to take one apart
        return f"{type(receipt).__name__} of {customer}"

    report = check(body, "ada")
    assert getattr(report, "answer", report) == "Receipt of ada"


@EACH
def test_what_an_import_does_is_no_effect(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module is imported once in a process, by the line that comes first: it is compiled, and may register itself."""
    name = f"shelf{uuid4().hex}"
    (tmp_path / f"{name}.py").write_text("import sys\n\nsys.modules['shelves'].FOUND.append(__name__)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    shelves: Any = ModuleType("shelves")
    shelves.FOUND = found = list[str]()
    monkeypatch.setitem(sys.modules, "shelves", shelves)

    @entrypoint
    def body(n: int) -> int:
        import_module(name)
        return len(found)

    report = check(body, 1)
    assert getattr(report, "answer", report) == 1


@EACH
def test_a_line_is_not_blamed_for_what_a_task_does_on_a_thread(check: Check) -> None:
    """The body goes on while a task is in the middle of a line, and has changed something in it."""
    sold: list[bool] = []
    begun, going, seen = Event(), Event(), Event()

    @task
    def sell(n: int) -> int:
        begun.set()
        (going.wait(60) and sold.append(True)) or seen.wait(60)  # type: ignore[func-returns-value]
        return n

    @entrypoint
    def body(n: int) -> int:
        future = sell(n)
        begun.wait(60)
        going.set()
        while not sold:
            pass
        seen.set()
        return future.result()

    report = check(body, 1)
    assert getattr(report, "answer", report) == 1


@EACH
def test_a_line_is_not_blamed_for_what_a_task_without_lines_does(check: Check) -> None:
    """A function of a library's has none to be blamed; the line that waits for it changes nothing."""
    sold: list[int] = []
    sell = task(sold.append, name="sell")

    @entrypoint
    def body(n: int) -> bool:
        sell(n).result()
        return n in sold

    report = check(body, 1)
    assert getattr(report, "answer", report) is True


@EACH
def test_an_effect_on_what_a_task_gives(check: Check) -> None:
    """The line goes on after the call: what it does then is its own."""
    kept: list[str] = []

    @entrypoint
    def body(customer: str) -> str:
        kept.append(shop.charge(customer).result())
        return customer

    assert "changes what outlives the run" in failure(check, body, "ada")


@EACH
def test_what_an_object_remembers_is_no_effect(check: Check) -> None:
    """It is worked out where somebody asks first, and the same in each process."""

    class Settings:
        @cached_property
        def url(self) -> str:
            return "http://shop"

    class Order(BaseModel):
        n: int

    settings = Settings()

    @entrypoint
    def body(n: int) -> str:
        order = Order(n=n)
        order.n += 1  # for which pydantic notes something in the class
        return f"{settings.url}/{order.n}"

    report = check(body, 1)
    assert getattr(report, "answer", report) == "http://shop/2"


@EACH
def test_an_effect_in_slots(check: Check) -> None:
    """What an object of the user's has there is its state as well."""

    class Till:
        __slots__ = ("sales",)

    till = Till()
    till.sales = 0

    @entrypoint
    def body(n: int) -> int:
        till.sales += 1
        return n

    assert "changes what outlives the run" in failure(check, body, 1)


@EACH
def test_what_cannot_be_looked_at_is_left_alone(check: Check) -> None:
    """A proxy with nothing behind it yet, and a mapping that is closed, raise whatever they are asked."""

    class Closed(Mapping[str, int]):
        def __getitem__(self, key: str) -> int:
            raise ValueError("closed")

        __iter__ = __len__ = __getitem__  # type: ignore[assignment]

    class Proxy:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("outside of a request")

        __class__ = property(__getattr__)  # type: ignore[assignment]

    closed, proxy = Closed(), Proxy()

    @task
    def known(n: int) -> bool:
        return closed is not None and proxy is not None

    @entrypoint
    def body(n: int) -> bool:
        return known(n).result()

    report = check(body, 1)
    assert getattr(report, "answer", report) is True


@EACH
def test_chance_before_a_question(check: Check) -> None:
    """It takes no crash to notice: the body is entered again with the answer."""
    said = failure(check, shop.random_id_and_a_question, "ada", answers="yes")
    assert shop.line_of_bug("random_id_and_a_question") in said


def test_a_planted_bug_is_found_by_kills() -> None:
    """The process that dies says the same, in the same words."""
    assert shop.line_of_bug("random_id") in failure(crash_everywhere, shop.random_id, "ada", kill=True)


@EACH
def test_effects_may_be_allowed(check: Check) -> None:
    """A test that counts in the body says so."""
    check(shop.charges_in_the_body, "ada", answers="yes", allow_effects=True)


def test_a_task_whose_result_is_lost_is_found() -> None:
    """The check of executions can fail: a task that a resumed body leaves out is missed."""
    lives: list[int] = []

    @task
    def first() -> int:
        return 1

    @task
    def second() -> int:
        return 2

    @entrypoint
    def flow(n: int) -> int:
        lives.append(n)
        if len(lives) % 2:
            second().result()
        return first().result()

    assert "second()" in failure(crash_everywhere, flow, 1, allow_effects=True)


# -- what has to be said ----------------------------------------------------------------------------


def test_answers_that_differ_from_run_to_run() -> None:
    """Whether a crash changed them can't be told, unless `same=` says what counts."""
    said = failure(crash_everywhere, shop.by_idempotency_key, "ada")
    assert "same=" in said
    crash_everywhere(shop.by_idempotency_key, "ada", same=lambda one, other: len(one) == len(other))


def test_a_question_without_an_answer() -> None:
    """The question is shown, and what to pass."""
    with pytest.raises(InvalidInput, match=r"asks 'all of them\?': pass answers="):
        crash_everywhere(shop.sound, ["ada"])


@EACH
def test_a_call_in_doubt(check: Check) -> None:
    """G3: what asks before it runs again is told to, where `answers=` is no function."""

    @task(in_doubt="ask")
    def pay(n: int) -> int:
        return n

    @entrypoint
    def flow(n: int) -> int:
        return pay(n).result() + pay(n + 1).result()

    found = check(flow, 1)
    assert getattr(found, "answer", found) == 3


def test_answers_by_question() -> None:
    """A function says what a human answers to which question."""
    answers = {"all of them?": "yes", "who says so?": "kim"}
    assert always_replay(shop.sound, ["ada"], answers=answers.get)[-1] == "kim"


@EACH
def test_the_error_of_a_workflow_is_its_own(check: Check) -> None:
    """A workflow that fails without a crash fails with its own error."""

    @entrypoint
    def fails(n: int) -> int:
        raise ZeroDivisionError(n)

    with pytest.raises(ZeroDivisionError):
        check(fails, 1)


def test_what_is_no_workflow() -> None:
    """A task, or a function, is refused by name."""
    with pytest.raises(InvalidInput, match="is no workflow"):
        crash_everywhere(partial(print), 1)


def test_its_own_checkpointer_is_left_alone(tmp_path: Path) -> None:
    """No run of the test is seen where the workflow keeps its runs."""
    flow = shop.sound_async.with_checkpointer(tmp_path / "runs.db")
    crash_everywhere(flow, ["a"])
    assert not (tmp_path / "runs.db").exists()
