"""The workflows whose unfinished runs each release leaves for the next ones to finish.

Rule: a program is never edited: its runs are out there. What a release adds gets a program of its own. While it is
recorded a program dies, by SIGKILL, where `stop()` stands; resumed it goes on past it. `ran` is what tasks did.
"""

from __future__ import annotations

import asyncio
import operator
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, NamedTuple, TypedDict
from urllib.error import URLError

from pydantic import BaseModel

import flowfn
from flowfn import Command, RetryPolicy, as_completed, current, entrypoint, gather, interrupt, task
from graph_compat.graph import END, START, StateGraph

ran: list[str] = []

RECORDING = "FLOWFN_GOLDEN"


def recording() -> bool:
    """Whether the run is being recorded, and not resumed."""
    return RECORDING in os.environ


def stop() -> None:
    """Die, where the run is being recorded."""
    if recording():
        os.kill(os.getpid(), signal.SIGKILL)


class Golden(NamedTuple):
    """A run: what is done with the workflow before it is left, and what has to come of it later."""

    workflow: Any
    leave: Callable[[Any], Any]
    resume: Callable[[Any], Any]
    answer: Any
    ran: list[str]


# -- tasks ------------------------------------------------------------------------------------------


@task
def double(n: int) -> int:
    ran.append(f"double {n}")
    return 2 * n


@task
def last(n: int) -> int:
    ran.append(f"last {n}")
    stop()
    return n


@task
async def adouble(n: int) -> int:
    ran.append(f"adouble {n}")
    await asyncio.sleep(0)
    return 2 * n


@task
def fails(what: str) -> str:
    ran.append(f"fails {what}")
    raise ConnectionError(what)


@task
def fails_once(what: str) -> str:
    ran.append(f"fails_once {what}")
    if recording():
        raise ConnectionError(what)
    return what


# -- one call after another, side by side, nested ----------------------------------------------------


@entrypoint
def sequence(n: int) -> list[int]:
    found = [double(i).result() for i in range(n)]
    return [*found, last(n).result()]


@entrypoint
def parallel(n: int) -> list[int]:
    found = gather(double(i) for i in range(n)).result()
    stop()
    return [*found, double(n).result()]


@entrypoint
def equal_calls(n: int) -> int:
    found = [double(n).result() for _ in range(3)]
    stop()
    return sum([*found, double(n).result()])


@task
def nested_task(n: int) -> int:
    ran.append(f"nested_task {n}")
    found = sum(double(i).result() for i in range(n))
    stop()
    return found


@entrypoint(name="golden.child")
def child(n: int) -> int:
    return double(n).result() + nested_task(n).result()


@entrypoint
def nested(n: int) -> list[int]:
    return [double(10).result(), child(n)]


@entrypoint
async def coroutines(n: int) -> list[int]:
    found = await asyncio.gather(*[adouble(i) for i in range(n)])
    stop()
    return [*found, await adouble(n)]


@task
def generated(n: int) -> Iterator[int]:
    ran.append(f"generated {n}")
    yield from range(n)


@entrypoint
def order_of_ending(n: int) -> list[Any]:
    items = generated(n).result()
    order = [future.result() for future in as_completed([double(i) for i in range(n)])]
    stop()
    return [items, sorted(order), double(n).result()]


# -- errors -----------------------------------------------------------------------------------------


@entrypoint
def caught(what: str) -> str:
    try:
        fails(what).result()
    except ConnectionError as error:
        found = double(len(str(error))).result()
    stop()
    return f"{found} {double(1).result()}"


@entrypoint
def ended_by_an_error(what: str) -> str:
    return f"{double(3).result()} {fails_once(what).result()}"


@task(retry_policy=RetryPolicy(max_attempts=2, initial_interval=0, jitter=False))
def retried(n: int) -> int:
    found = double(100 * current().attempt + n).result()
    if current().attempt == 1:
        raise ConnectionError("first attempt")
    return found


@entrypoint
def retries(n: int) -> list[int]:
    found = retried(n).result()
    stop()
    return [found, double(n).result()]


class Order(BaseModel):
    cents: int


class Refused(Exception):
    """Says what it holds, which can't be stored."""

    def __init__(self, response: Any) -> None:
        super().__init__("refused")
        self.response = response

    def __str__(self) -> str:
        return f"refused: {self.response.__name__}"


@task
def wrong(kind: str) -> None:
    ran.append(f"wrong {kind}")
    if kind == "invalid":
        Order.model_validate({"cents": "many"})
    inside = ConnectionRefusedError(111, "refused")
    raise {
        "inside": URLError(inside),
        "several": ExceptionGroup("several", [inside, KeyError("k")]),
        "refused": Refused(recording),
    }[kind]


def told_of(error: Exception) -> list[Any]:
    """The type of an error, and what of it is no version's wording."""
    match error:
        case ValueError():
            return [type(error).__name__, [(each["type"], each["loc"]) for each in error.errors()]]  # type: ignore[attr-defined]
        case URLError():
            return ["URLError", type(error.reason).__name__, error.reason.errno]  # type: ignore[union-attr]
        case ExceptionGroup():
            return [error.message, *map(repr, error.exceptions)]
        case _:
            return [isinstance(error, Refused), str(error)]


@entrypoint
def kinds_of_errors(n: int) -> list[Any]:
    found: list[Any] = []
    for kind in ("invalid", "inside", "several", "refused"):
        try:
            wrong(kind).result()
        except Exception as error:
            found.append(told_of(error))
    found.append(double(1).result())
    stop()
    return [*found, double(n).result()]


# -- streams ----------------------------------------------------------------------------------------


@task
def tells(n: int) -> int:
    ran.append(f"tells {n}")
    flowfn.get_stream_writer()(f"told {n}")
    return n


@entrypoint(name="golden.inner")
def inner(n: int) -> int:
    found = tells(n).result()
    if n == 2:
        stop()
    return found + double(n).result()


@entrypoint
def streams(n: int) -> list[Any]:
    return [[*inner.stream(each, stream_mode=["custom", "updates"])] for each in range(1, n + 1)]


# -- questions, doubt, chance ------------------------------------------------------------------------


@task
def asks(question: str) -> str:
    before = double(len(question)).result()
    return f"{before} {interrupt(question, key=question)}"


@entrypoint
def questions(n: int) -> list[str]:
    asked = [asks("one?"), asks("three?")]
    return [interrupt({"payload": n}), *gather(asked).result()]


@task(in_doubt="ask")
def charge(cents: int) -> str:
    ran.append(f"charge {cents}")
    stop()
    return "charged"


@entrypoint
def in_doubt(cents: int) -> str:
    return charge(cents).result()


@task
def seen(time: datetime, id: str, number: float) -> str:
    ran.append("seen")
    return "seen"


@entrypoint
def chance(n: int) -> str:
    found = seen(flowfn.now(), str(flowfn.uuid4()), flowfn.random()).result()
    flowfn.sleep(0.001)
    stop()
    return found


# -- values -----------------------------------------------------------------------------------------


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Line:
    name: str
    price: Decimal
    colour: Colour


VALUES = {
    "line": Line("tea", Decimal("2.50"), Colour.RED),
    "when": [date(2026, 1, 2), datetime(2026, 1, 2, 3, tzinfo=UTC), timedelta(hours=1)],
    "sets": {"a", "b"},
    "bytes": b"\0\1",
    "tuple": (1, 2.5, None),
}


@task
def made(n: int) -> dict[str, Any]:
    ran.append("made")
    return VALUES


@entrypoint
def values(n: int) -> dict[str, Any]:
    found = made(n).result()
    stop()
    return found


# -- threads ----------------------------------------------------------------------------------------


@entrypoint
def chat(message: str, *, previous: list[str] | None = None) -> list[str]:
    said = [*(previous or []), message]
    if message == "stop":
        double(len(said)).result()
        stop()
    return said


def talk(thread: Any) -> None:
    """Twelve turns that are done, and one that isn't: what grows is stored as what was added."""
    for turn in range(12):
        thread(f"turn {turn}: {'long ' * 20}")
    thread("stop")


# -- graphs -----------------------------------------------------------------------------------------


class State(TypedDict, total=False):
    names: Annotated[list[str], operator.add]
    approved: str


def node(name: str) -> Callable[[State], State]:
    """A node that adds its name."""

    def add(state: State) -> State:
        ran.append(f"node {name}")
        return {"names": [name]}

    return add


def dies(state: State) -> State:
    ran.append("node dies")
    stop()
    return {"names": ["dies"]}


def approval(state: State) -> State:
    return {"approved": interrupt(f"{len(state['names'])} names?")}


def branching() -> Any:
    """Two nodes side by side, one of which dies when the other has ended; then a subgraph that asks."""
    inner = StateGraph(State).add_node("inside", node("inside")).add_node("approval", approval)
    inner.add_edge(START, "inside").add_edge("inside", "approval").add_edge("approval", END)
    outer = (
        StateGraph(State)
        .add_node("first", node("first"))
        .add_node("dies", dies)
        .add_node("inner", inner.compile())
    )
    outer.add_edge(START, "first").add_edge("first", "dies").add_edge("dies", "inner").add_edge("inner", END)
    return outer


def waiting() -> Any:
    """A graph that waits for an answer."""
    graph = StateGraph(State).add_node("first", node("first")).add_node("approval", approval)
    return graph.add_edge(START, "first").add_edge("first", "approval").add_edge("approval", END)


# -- what is recorded -------------------------------------------------------------------------------


def goes_on(thread: Any) -> Any:
    return thread.invoke(None)


def answered(thread: Any) -> Any:
    """Answer all that is asked."""
    answers = {question.id: "yes" for question in thread.state.interrupts}
    return thread.invoke(Command(resume=answers))


def settled(thread: Any) -> Any:
    """Take up the call in doubt, and say what came of it."""
    (question,) = thread.invoke(None)["__interrupt__"]
    assert question.value["in_doubt"] == "charge(cents=995)"
    return thread.resume({"result": "looked up"})


def taken_up_and_answered(thread: Any) -> Any:
    thread.invoke(None)
    return answered(thread)


async def _awaited(thread: Any, given: Any) -> Any:
    return await thread.ainvoke(given)


def over_and_again(thread: Any) -> list[Any]:
    """Finish the last turn, and take another one, which sees what all before it saved."""
    thread.invoke(None)
    said = thread("more")
    return [len(said), said[0], said[-2:], len(list(thread.history()))]


GOLDEN: dict[str, Golden] = {
    "sequence": Golden(sequence, lambda t: t(3), goes_on, [0, 2, 4, 3], ["last 3"]),
    "parallel": Golden(parallel, lambda t: t(4), goes_on, [0, 2, 4, 6, 8], ["double 4"]),
    "equal_calls": Golden(equal_calls, lambda t: t(5), goes_on, 40, ["double 5"]),
    "nested": Golden(nested, lambda t: t(3), goes_on, [20, 12], ["nested_task 3"]),
    "coroutines": Golden(
        coroutines,
        lambda t: asyncio.run(_awaited(t, 3)),
        lambda t: asyncio.run(_awaited(t, None)),
        [0, 2, 4, 6],
        ["adouble 3"],
    ),
    "order_of_ending": Golden(
        order_of_ending, lambda t: t(3), goes_on, [[0, 1, 2], [0, 2, 4], 6], ["double 3"]
    ),
    "caught": Golden(caught, lambda t: t("bank"), goes_on, "8 2", ["double 1"]),
    "ended_by_an_error": Golden(
        ended_by_an_error, lambda t: t("bank"), goes_on, "6 bank", ["fails_once bank"]
    ),
    "retries": Golden(retries, lambda t: t(7), goes_on, [414, 14], ["double 7"]),
    "kinds_of_errors": Golden(
        kinds_of_errors,
        lambda t: t(7),
        goes_on,
        [
            ["ValidationError", [("int_parsing", ("cents",))]],
            ["URLError", "ConnectionRefusedError", 111],
            ["several", "ConnectionRefusedError(111, 'refused')", "KeyError('k')"],
            [True, "refused: recording"],
            2,
            14,
        ],
        ["double 7"],
    ),
    "streams": Golden(
        streams,
        lambda t: t(2),
        goes_on,
        [
            [
                ("custom", f"told {n}"),
                ("updates", {"tells": n}),
                ("updates", {"double": 2 * n}),
                ("updates", {"golden.inner": 3 * n}),
            ]
            for n in (1, 2)
        ],
        ["double 2"],
    ),
    "questions": Golden(questions, lambda t: t.invoke(1), answered, ["yes", "8 yes", "12 yes"], []),
    "in_doubt": Golden(in_doubt, lambda t: t(995), settled, "looked up", []),
    "chance": Golden(chance, lambda t: t(1), goes_on, "seen", []),
    "values": Golden(values, lambda t: t(1), goes_on, VALUES, []),
    "chat": Golden(chat, talk, over_and_again, [14, f"turn 0: {'long ' * 20}", ["stop", "more"], 28], []),
    "graph": Golden(
        branching(),
        lambda t: t.invoke({"names": ["start"]}),
        taken_up_and_answered,
        {"names": ["start", "first", "dies", "start", "first", "dies", "inside"], "approved": "yes"},
        ["node dies", "node inside"],
    ),
    "graph_waits": Golden(
        waiting(),
        lambda t: t.invoke({"names": ["a"]}),
        answered,
        {"names": ["a", "first"], "approved": "yes"},
        [],
    ),
}
