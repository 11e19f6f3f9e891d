"""Inputs are validated before anything is recorded (section 3)."""

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import StringIO
from typing import (
    IO,
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    NotRequired,
    Protocol,
    TextIO,
    TypedDict,
    TypeVar,
)
from uuid import UUID

import pytest
import typing_extensions as te
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic.errors import PydanticUserError

from flowfn import InvalidInput, UnknownCheckpoint, UnknownThread

from ..worlds import World

if TYPE_CHECKING:
    from decimal import Decimal

T = TypeVar("T")


class Order(BaseModel):
    id: int
    items: list[str] = []


async def lone(x: int) -> int:
    return x


async def two(x: int, y: Literal["a", "b"] = "a") -> list[Any]:
    return [x, y]


async def bounded(x: Annotated[int, Field(gt=0)]) -> int:
    return x


async def model(order: Order) -> int:
    return order.id


class Ledger:
    """A class that pydantic knows nothing of."""


async def instance(ledger: Ledger) -> None: ...


async def many(*xs: int, **named: int) -> list[Any]:
    return [xs, named]


class Line(TypedDict):
    amount: int
    note: NotRequired[str]
    parts: NotRequired["list[Line]"]


async def typed(line: Line) -> Any:
    return line


class Pair(TypedDict, Generic[T]):
    one: T
    two: list[T]


@dataclass
class Bill:
    line: Line
    parts: "list[Bill]" = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Closed:
    line: Line


@dataclass
class Rated:
    line: Line
    rate: int = 1
    most: ClassVar[int] = 9

    @field_validator("rate")
    @classmethod
    def is_allowed(cls, rate: int) -> int:
        if rate > cls.most:
            raise ValueError("too much")
        return rate


@dataclass
class Taxed(Rated):
    tax: int = 0
    most: ClassVar[int] = 5

    @model_validator(mode="after")
    def with_tax(self) -> "Taxed":
        self.tax += self.rate
        return self


async def rated(rated: Rated) -> Any:
    return rated


async def taxed(taxed: Taxed) -> Any:
    return taxed


async def generic(pair: Pair[int]) -> Any:
    return pair


async def billed(bill: Bill | None, closed: Closed | None = None) -> Any:
    return bill or closed


async def nested(lines: dict[str, list[Annotated[Line, "a line"]] | None]) -> Any:
    return lines


class Fee(TypedDict):
    amount: int
    tax: NotRequired["Decimal"]


class Sum(NamedTuple):
    amount: int
    tax: "Decimal | None" = None


class Account(BaseModel):
    balance: "Decimal"


@dataclass
class Put:
    __pydantic_config__ = ConfigDict(defer_build=True)
    amount: int


class Held(TypedDict):
    __pydantic_config__ = ConfigDict(defer_build=True)  # type: ignore[misc]
    amount: int


def of_function() -> Any:
    class Part(TypedDict):
        amount: int

    class Whole(TypedDict):
        part: "Part"

    return Whole


BAD = {
    "another type": (lone, "no number"),
    "no mapping": (two, 3),
    "a wrong value": (two, {"x": 1, "y": "c"}),
    "a missing key": (two, {"y": "a"}),
    "an unknown key": (two, {"x": 1, "z": 1}),
    "out of bounds": (bounded, 0),
    "no model": (model, {"items": []}),
    "no instance": (instance, "a ledger"),
    "a wrong item": (many, {"xs": [1, "b"]}),
    "a wrong named item": (many, {"named": {"a": "b"}}),
    "a missing key of a typed dict": (typed, {"sum": 1}),
    "a wrong key of a typed dict": (typed, {"amount": 1, "note": 2}),
    "one in a typed dict": (typed, {"amount": 1, "parts": [{}]}),
    "a typed dict in others": (nested, {"a": [{"amount": "lots"}]}),
    "a generic typed dict": (generic, {"one": 1, "two": ["b"]}),
    "a typed dict in a dataclass": (billed, {"bill": {"line": {"amount": "lots"}}}),
    "one in a dataclass in another": (billed, {"bill": {"line": {"amount": 1}, "parts": [{"line": {}}]}}),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_input_leaves_the_thread_unknown(world: World, name: str) -> None:
    """A bad input is a TypeError or ValidationError, and nothing was recorded: nobody knows the thread."""
    function, given = BAD[name]
    wf = world.entrypoint(function)
    with pytest.raises((InvalidInput, ValidationError)):
        world.invoke(wf, given, thread_id="t")
    assert world.saver.thread("t") is None
    assert list(world.saver.threads()) == []
    with pytest.raises(UnknownThread):
        world.invoke(wf, None, thread_id="t")


@pytest.mark.parametrize("name", BAD)
def test_a_bad_input_leaves_a_known_thread_as_it_was(world: World, name: str) -> None:
    """A thread that has a past keeps it, and its status, when a bad input is refused."""
    function, given = BAD[name]
    wf = world.entrypoint(function)
    world.do(wf, "update_state", None, "before", thread_id="t")
    before = world.state(wf, "t")
    with pytest.raises((InvalidInput, ValidationError)):
        world.invoke(wf, given, thread_id="t")
    assert world.state(wf, "t") == before


@pytest.mark.parametrize("name", BAD)
def test_a_bad_stream_input_is_refused_alike(world: World, name: str) -> None:
    """`stream` refuses what `invoke` refuses, before the first chunk."""
    function, given = BAD[name]
    with pytest.raises((InvalidInput, ValidationError)):
        world.stream(world.entrypoint(function), given, thread_id="t")
    assert world.saver.thread("t") is None


@pytest.mark.parametrize(
    ("kind", "given"),
    [(Fee, {"amount": 1}), (list[Fee], [{"amount": 1}]), (of_function(), {"part": 1}), (Sum, (1,))],
    ids=["an import for type checkers", "inside another type", "in a function", "of a tuple"],
)
def test_a_type_that_names_what_is_not_there_is_not_validated(world: World, kind: Any, given: Any) -> None:
    """Section 3: on every Python. The function gets what it was given, as it would without the decorator."""

    async def back(value: Any) -> Any:
        return value

    back.__annotations__["value"] = kind
    assert world.invoke(world.entrypoint(back), given, thread_id="t") == given


@pytest.mark.parametrize("make", [TypedDict, te.TypedDict], ids=["typing", "typing_extensions"])
def test_a_type_is_validated_once_what_it_names_is_there(
    world: World, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Section 3: in a notebook a later cell may make it, and not all modules are imported at the first call."""

    async def back(value: Any) -> Any:
        return value

    back.__annotations__["value"] = list[make("Receipt", {"amount": int, "stamp": "Stamp"})]
    workflow = world.entrypoint(back)
    given = [{"amount": "1", "stamp": "2"}]
    assert world.invoke(workflow, given, thread_id="before") == given
    monkeypatch.setattr(sys.modules[__name__], "Stamp", int, raising=False)
    assert world.invoke(workflow, given, thread_id="after") == [{"amount": 1, "stamp": 2}]


@pytest.mark.parametrize(
    ("kind", "expected"), [(Put, Put(1)), (Held, {"amount": 1})], ids=["a dataclass", "a TypedDict"]
)
def test_a_type_that_puts_its_validator_off_is_validated(world: World, kind: Any, expected: Any) -> None:
    """Section 3: pydantic's `defer_build` makes it when it is needed, which is now."""

    async def back(value: Any) -> Any:
        return value

    back.__annotations__["value"] = kind
    workflow = world.entrypoint(back)
    assert world.invoke(workflow, {"amount": "1"}, thread_id="t") == expected
    with pytest.raises(ValidationError):
        world.invoke(workflow, {"amount": "no"}, thread_id="bad")


def test_a_model_that_names_what_is_not_there_says_so(world: World) -> None:
    """It can be made of nothing, and the function would get a dict in its place."""

    async def back(account: Account | None) -> Any:
        return account

    with pytest.raises(PydanticUserError, match="not fully defined"):
        world.invoke(world.entrypoint(back), {"balance": 1}, thread_id="t")
    assert world.saver.thread("t") is None


CALLS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "another type": (lone, lambda wf: wf("no number")),
    "too many": (lone, lambda wf: wf(1, 2)),
    "too few": (two, lambda wf: wf()),
    "unknown": (two, lambda wf: wf(1, z=2)),
    "wrong item": (many, lambda wf: wf(1, "b")),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_bad_direct_call_starts_nothing(world: World, name: str) -> None:
    """Arguments that don't fit are refused before a thread is made for them."""
    function, call = CALLS[name]
    wf = world.entrypoint(function)
    with pytest.raises((InvalidInput, ValidationError)):
        world.call(lambda: call(wf))
    assert list(world.saver.threads()) == []


NAMED: dict[str, tuple[Any, Any, str, tuple[str | int, ...]]] = {
    "another type": (lone, "no number", "lone", ("x",)),
    "a wrong value": (two, {"x": 1, "y": "c"}, "two", ("y",)),
    "out of bounds": (bounded, 0, "bounded", ("x",)),
    "no model": (model, {"items": []}, "model", ("order", "id")),
    "no instance": (instance, "a ledger", "instance", ("ledger",)),
    "no typed dict": (typed, {"sum": 1}, "typed", ("line", "amount")),
    "a wrong item": (many, {"xs": [1, "b"]}, "many", ("xs[1]",)),
    "a wrong named item": (many, {"named": {"a": "b"}}, "many", ("a",)),
}


@pytest.mark.parametrize("name", NAMED)
def test_what_does_not_fit_is_told_by_function_and_parameter(world: World, name: str) -> None:
    """Of several parameters only the one at fault is named, with the way to what is wrong in it."""
    function, given, owner, at = NAMED[name]
    with pytest.raises(ValidationError) as refused:
        world.invoke(world.entrypoint(function), given, thread_id="t")
    assert (refused.value.title, [each["loc"] for each in refused.value.errors()]) == (owner, [at])


def test_a_refusal_shows_function_and_value(world: World) -> None:
    """The message names the function, its parameters and the value that was passed."""
    with pytest.raises(
        InvalidInput, match=r"'two' takes 2 parameters \(x, y\).*mapping.*not 3: write invoke\({'x': …}\)"
    ):
        world.invoke(world.entrypoint(two), 3)
    with pytest.raises(InvalidInput, match=r"two\(x: ?'?int'?, .* can't be called with \(y='b'\): missing"):
        world.invoke(world.entrypoint(two), {"y": "b"})


def test_a_mapping_for_a_lone_parameter_is_told(world: World) -> None:
    """An input that names the only parameter is refused with what to write; another mapping is just a wrong value."""

    async def one(items: list[int]) -> None: ...

    notes = []
    for given in ({"items": [1]}, {"things": [1]}):
        with pytest.raises(ValidationError) as refused:
            world.invoke(world.entrypoint(one), given)
        notes.append(getattr(refused.value, "__notes__", []))
    said = "'one' has one parameter, so its input is the value itself: write invoke(value), not "
    assert notes == [[said + "invoke({'items': value})"], []]


def test_an_input_of_what_takes_none_is_refused(world: World) -> None:
    """It says so, and not that a mapping of no parameters is missing."""

    async def nothing() -> None: ...

    with pytest.raises(InvalidInput, match="'nothing' takes no input, and got 3: leave it out"):
        world.invoke(world.entrypoint(nothing), 3)


def test_inputs_become_their_annotated_types(world: World) -> None:
    """What pydantic can convert is converted: "3" for an int, a dict for a model."""
    seen: list[Any] = []

    @world.entrypoint
    async def wf(x: int, order: Order, *rest: int, **named: float) -> str:
        seen.extend([x, type(order), order.id, rest, named])
        return "done"

    world.invoke(wf, {"x": "3", "order": {"id": 4}, "rest": ["5"], "named": {"f": "1.5"}})
    assert seen == [3, Order, 4, (5,), {"f": 1.5}]


@pytest.mark.parametrize("given", [{"amount": "3"}, {"amount": 3, "note": "a", "parts": [{"amount": "4"}]}])
def test_a_typed_dict_has_what_it_requires(world: World, given: Any) -> None:
    """Other keys may be missing, and values become what they are annotated with, on every Python."""
    taken = {**given, "amount": 3, **({"parts": [{"amount": 4}]} if "parts" in given else {})}
    wf = world.entrypoint(typed)
    assert world.invoke(wf, given) == taken
    assert world.invoke(world.entrypoint(nested), {"a": [given], "b": None}) == {"a": [taken], "b": None}


def test_a_typed_dict_may_be_generic_or_in_a_dataclass(world: World) -> None:
    """What is made of the input is of the annotated classes, on every Python."""
    assert world.invoke(world.entrypoint(generic), {"one": "1", "two": ["2"]}) == {"one": 1, "two": [2]}
    wf = world.entrypoint(billed)
    line = {"amount": "1"}
    bill = Bill({"amount": 1}, [Bill({"amount": 1})])
    assert world.invoke(wf, {"bill": {"line": line, "parts": [{"line": line}]}}) == bill
    assert world.invoke(wf, {"bill": None, "closed": {"line": line}}) == Closed({"amount": 1})


def test_a_dataclass_with_a_typed_dict_is_validated_by_its_own_validators(world: World) -> None:
    """On every Python: of its fields and of the whole, its own ones and those of what it extends."""
    given, line = {"line": {"amount": "1"}, "rate": "5"}, Line(amount=1)
    assert world.invoke(world.entrypoint(rated), given) == Rated(line, 5)
    assert world.invoke(world.entrypoint(taxed), given) == Taxed(line, 5, 5)
    for wf, rate in ((rated, 10), (taxed, 6)):
        with pytest.raises(ValidationError, match="too much"):
            world.invoke(world.entrypoint(wf), {**given, "rate": rate}, thread_id="t")
    assert world.saver.thread("t") is None


def test_values_that_fit_are_passed_as_they_are(world: World) -> None:
    """A value of the annotated type isn't copied or changed: True stays out of `int | str` only by pydantic."""

    @world.entrypoint(checkpointer=None)
    async def wf(x: int | str | None, y: list[int], z: Any) -> list[Any]:
        return [x, y, z]

    assert world.invoke(wf, {"x": None, "y": [1], "z": {"deep": [1]}}) == [None, [1], {"deep": [1]}]


def test_an_annotation_that_means_nothing_here_is_no_obstacle(world: World) -> None:
    """A name that can't be resolved at run time leaves the input unvalidated."""

    @world.entrypoint
    async def wf(x: "Unknown") -> Any:  # type: ignore[name-defined]  # noqa: F821
        return x

    assert world.invoke(wf, 3) == 3


def test_an_annotation_that_means_nothing_here_says_nothing_of_the_others(world: World) -> None:
    """Section 3: of an import for type checkers alone nobody knows what it is; the rest is validated."""

    @world.entrypoint
    async def wf(x: "Unknown", order: "Order", *, count: "int") -> Any:  # type: ignore[name-defined]  # noqa: F821
        return x, order, count

    assert world.invoke(wf, {"x": "1", "order": {"id": "3"}, "count": "2"}) == ("1", Order(id=3), 2)


@pytest.mark.parametrize("given", [["1", 2], ("1", 2), [1, 2], (1, 2), {1, 2}, {1: "a", 2: "b"}, range(2)])
def test_what_is_given_for_an_iterable_may_be_read_twice(world: World, given: Any) -> None:
    """Section 3: its items become what they are annotated with; it is stored, and is there again on resume."""

    @world.entrypoint
    async def wf(x: Iterable[int], more: list[Iterable[int] | None] | None = None) -> Any:
        return x, [sum(x), sum(x)], more

    expected = type(given)(map(int, given)) if isinstance(given, list | tuple) else given
    assert world.invoke(wf, {"x": given, "more": [given, None]}) == (
        expected,
        [sum(expected)] * 2,
        [expected, None],
    )
    with pytest.raises(ValidationError, match=r"x\.1"):
        world.invoke(wf, {"x": [1, "a"]}, thread_id="t")
    assert world.saver.thread("t") is None


class Sized(Protocol):
    """What nothing can be asked to be."""

    size: int


def test_what_nothing_can_be_asked_to_be_is_taken(world: World) -> None:
    """Section 3: a protocol that isn't checked at run time, and files; what is beside them is validated."""

    @world.entrypoint(checkpointer=None)
    async def wf(x: Sized | None, files: dict[int, TextIO], texts: list[IO[str]], n: int) -> Any:
        return x, files, texts, n

    file = StringIO()
    given = {"x": 3, "files": {"1": file}, "texts": [file], "n": "4"}
    assert world.invoke(wf, given) == (3, {1: file}, [file], 4)


@pytest.mark.parametrize("id", [5, UUID(int=5), b"5"], ids=lambda id: type(id).__name__)
def test_a_checkpoint_id_is_its_text(world: World, id: Any) -> None:
    """As a thread's is: what no checkpoint has is unknown to each database, and no value that it can't take."""
    wf = world.entrypoint(lone)
    world.invoke(wf, 1, thread_id="t")
    config = {"configurable": {"thread_id": "t", "checkpoint_id": id}}
    with pytest.raises(UnknownCheckpoint, match=re.escape(repr(str(id)))):
        world.invoke(wf, 1, config)


def test_a_config_that_fits_nothing_is_refused(world: World) -> None:
    """A config is a mapping, and thread ids that differ are one too many."""
    wf = world.entrypoint(lone)
    with pytest.raises(InvalidInput, match="no mapping: pass thread_id="):
        world.invoke(wf, 1, "t")
    with pytest.raises(InvalidInput, match="differ: pass one"):
        world.invoke(wf, 1, {"configurable": {"thread_id": "a"}}, thread_id="b")
    with pytest.raises(InvalidInput, match="thread_id='' names none"):
        world.invoke(wf, 1, thread_id="")
    with pytest.raises(InvalidInput, match="thread_id=None names none"):
        wf.thread(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="has a lone surrogate"):
        world.invoke(wf, 1, thread_id="\udce9t\xe9")
    with pytest.raises(InvalidInput, match="has a lone surrogate"):
        wf.thread("\udce9t\xe9")
    with pytest.raises(InvalidInput, match="is no checkpoint's: take one from"):
        world.invoke(wf, 1, {"configurable": {"thread_id": "t", "checkpoint_id": "\udce9"}})
    with pytest.raises(InvalidInput, match="names no thread: pass thread_id='t', or config="):
        world.invoke(wf, 1, {"thread_id": "t"})
    with pytest.raises(
        InvalidInput, match=r"config\['configurables'\] is unknown: write 'configurable', or another"
    ):
        world.invoke(wf, 1, {"configurables": {"thread_id": "t"}})
    with pytest.raises(
        InvalidInput, match=r"\['threadId'\] is unknown: write 'configurable': {'thread_id': '…'}"
    ):
        world.invoke(wf, 1, {"threadId": "t"})
    with pytest.raises(InvalidInput, match=r"config\['max_concurency'\] is unknown: write 'max_concurrency'"):
        world.invoke(wf, 1, {"max_concurency": 2})
    with pytest.raises(InvalidInput, match="recursion_limit must be at least 1, got 0"):
        world.invoke(wf, 1, {"recursion_limit": 0})
    with pytest.raises(InvalidInput, match="max_concurrency must be at least 1, got 0"):
        world.invoke(wf, 1, {"max_concurrency": 0})
    with pytest.raises(InvalidInput, match=r"max_concurrency must be a whole number, got 2\.5"):
        world.invoke(wf, 1, {"max_concurrency": 2.5})
    with pytest.raises(InvalidInput, match="stream_mode='everything' is unknown: use values, updates"):
        world.stream(wf, 1, stream_mode="everything")
    with pytest.raises(InvalidInput, match="stream_mode=5 is unknown: use values, updates"):
        world.invoke(wf, 1, stream_mode=5)
    assert list(world.saver.threads()) == []


def test_keys_of_others_in_a_config_are_handed_on(world: World) -> None:
    """Those that LangChain has, and those that are like none of flowfn's, are the program's own."""

    @world.entrypoint
    async def wf(x: int, config: Any) -> list[str]:
        return sorted(key for key in config if key in ("callbacks", "run_name", "team"))

    mine = {"callbacks": None, "run_name": "first", "team": "red", "configurable": {"thread_ids": 3}}
    assert world.invoke(wf, 1, mine, thread_id="t") == ["callbacks", "run_name", "team"]


@pytest.mark.parametrize("key", ["read_id", "head_id", "thread", "thread_ts", "slack_thread_id"])
def test_a_key_of_ones_own_is_no_misspelt_thread(world: World, key: str) -> None:
    """Where a call names no thread, a key beside its place is the program's, unless it is all but `thread_id`."""

    @world.entrypoint
    async def wf(x: int, config: Any) -> Any:
        return config["configurable"][key]

    assert world.invoke(wf, 1, {"configurable": {key: "C1"}}) == "C1"


@pytest.mark.parametrize("key", ["threadId", "thread-id", "THREAD_ID", "thraed_id", "thead_id"])
def test_a_misspelt_thread_is_refused(world: World, key: str) -> None:
    """It would begin a new one, which nobody finds again."""
    with pytest.raises(
        InvalidInput, match="names no thread: write 'thread_id', or another key if it is your own"
    ):
        world.invoke(world.entrypoint(lone), 1, {"configurable": {key: "t"}})
    assert list(world.saver.threads()) == []


def test_arguments_by_name_are_no_input(world: World) -> None:
    """`invoke` takes one input, and says how it is written."""
    one, two = world.entrypoint(lone), world.entrypoint(lambda x, y: None)
    with pytest.raises(
        TypeError, match=r"got its arguments by name: write invoke\(…\), as they are one input"
    ):
        one.invoke(x=1)
    with pytest.raises(TypeError, match=r"by name: write invoke\({'x': …, 'y': …}\), as they are one input"):
        two.invoke(x=1, y=2)


def test_a_direct_call_that_names_its_thread_is_told_how(world: World) -> None:
    """Its arguments are the function's; the thread stands before them."""
    with pytest.raises(
        InvalidInput, match=r"keyword argument 'thread_id': to name the thread write lone\.thread\('…'\)"
    ):
        world.entrypoint(lone)(1, thread_id="t")
