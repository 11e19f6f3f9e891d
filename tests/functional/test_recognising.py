"""Which recorded branch one is that code makes anew: by its call, else by its place (G2)."""

import asyncio
import sqlite3
import sys
from array import array
from collections import Counter, OrderedDict, UserDict
from collections.abc import Callable, Iterable
from contextlib import closing
from ctypes import py_object
from functools import partial
from mmap import mmap
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowfn.hosts import recognising
from flowfn.hosts.branch_calls import BranchCall, call_of
from flowfn.hosts.recognising import Recognition


def numbers(
    calls: Iterable[BranchCall], recorded: Iterable[int] = (), *, maker: int = 0, apart: bool = False
) -> list[int]:
    """Those of branches that are made in one go, or one by one."""
    recognition, branches = Recognition(lambda: recorded), []
    for call in calls:
        branches.append(recognition.add(maker, call))
        if apart:
            recognition.recognise()
    recognition.recognise()
    return [branch.number for branch in branches if branch.number is not None]


def call(argument: Any, steady: str | None = None) -> BranchCall:
    """One with an argument, of which so much is steady as is told, or all."""
    exact, rest = str(argument), str(argument) if steady is None else steady
    return BranchCall("work", (exact, exact, rest, rest))


ARGUMENTS = st.lists(st.integers(0, 5), max_size=30)


@given(ARGUMENTS, st.booleans())
def test_the_same_calls_have_the_same_numbers(arguments: list[int], apart: bool) -> None:
    """As many as there are branches, in one go or one by one."""
    calls = [*map(call, arguments)]
    before = numbers(calls)
    assert len({*before}) == len(calls)
    assert numbers(calls, before, apart=apart) == before


@given(st.data())
def test_calls_in_another_order_have_the_numbers_that_they_had(data: st.DataObject) -> None:
    """Equal ones in their own order, whichever have left no record and whatever is new."""
    arguments = data.draw(ARGUMENTS)
    before = [*zip(arguments, numbers(map(call, arguments)), strict=True)]
    recorded = data.draw(st.permutations(before))[data.draw(st.integers(0, 30)) :]
    moved = data.draw(st.permutations([*arguments, "new"]))
    after = [*zip(moved, numbers(map(call, moved), [number for _, number in recorded]), strict=True)]
    for argument in {*arguments}:
        had, has = ([number for each, number in found if each == argument] for found in (before, after))
        known = {number for _, number in recorded}
        assert [a for a, b in zip(had, has, strict=True) if a in known and a != b] == []
    assert len({number for _, number in after}) == len(moved)


def test_calls_that_differ_in_what_is_made_anew_have_the_numbers_of_their_order() -> None:
    """A deadline says nothing of a branch, and what is beside it does."""
    before = numbers([call(f"{each} {uuid4()}", each) for each in "aabc"])
    after = numbers([call(f"{each} {uuid4()}", each) for each in "cbaa"], before)
    assert after == [before[3], before[2], before[0], before[1]]


def test_calls_that_are_others_each_time_have_the_numbers_of_their_places() -> None:
    """Nothing tells a random choice from an item."""
    before = numbers(map(call, "abc"))
    assert numbers(map(call, "xyz"), before, apart=True) == before


def test_a_call_that_is_another_one_has_the_number_of_its_place_beside_known_ones() -> None:
    """Of a choice at random some come out the same."""
    before = numbers(map(call, "abcd"))
    assert numbers(map(call, "abxd"), before, apart=True) == before


def test_a_new_call_has_no_number_of_those_that_are_known_by_theirs() -> None:
    """Its place is another one's, and all others keep what they had."""
    before = numbers(map(call, "abc"))
    after = numbers(map(call, "axbc"), before)
    assert [after[0], *after[2:]] == before


def test_a_new_call_that_comes_by_itself_costs_the_next_one_its_number_alone() -> None:
    """It takes that of its place, as nobody knows whose it is; from then on places say nothing."""
    before = numbers(map(call, "abc"))
    after = numbers(map(call, "axbcy"), before, apart=True)
    assert [after[0], after[1], after[3]] == before
    assert not {after[2], after[4]} & {*before}


MANY = 8_000
"""Of so many branches some have parts of their numbers in common by chance."""


@pytest.mark.parametrize(
    "steady", [str, lambda item: None], ids=["with a deadline", "chosen at random, as far as it is seen"]
)
def test_many_calls_have_the_numbers_that_they_had(steady: Any) -> None:
    """Whichever was recorded first, and though their arguments are others each time."""
    random = Random(1)

    def made() -> list[BranchCall]:
        return [call(f"{item} {random.random()}", steady(item)) for item in range(MANY)]

    before = numbers(made())
    assert numbers(made(), random.sample(before, MANY)) == before


def test_as_many_branches_as_there_may_be_have_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is forgotten of those that were made long before."""
    monkeypatch.setattr(recognising, "_REMEMBERED", 100)
    calls = [*map(call, [*range(300), *range(300)])]
    before = numbers(calls)
    assert len({*before}) == len(calls)
    assert numbers(calls, before) == before


def test_branches_of_different_makers_have_different_numbers() -> None:
    """The same call, made in the same place."""
    assert numbers([call("a")], maker=1) != numbers([call("a")], maker=2)


async def work(first: Any = None, *args: Any) -> None:
    """A branch."""


class Line(NamedTuple):
    """An argument that is a tuple of a class."""

    order: str


class Item:
    """An argument that is no data by itself, and holds some."""

    def __init__(self, id: Any) -> None:
        self.id = id
        self.leads_to = [object()]

    def show(self) -> None:
        """A method of it."""


class Slotted:
    """The same without a dict of attributes."""

    __slots__ = ("id",)

    def __init__(self, id: str) -> None:
        self.id = id


class Text(str):
    """A text of a class of the project's."""


def row(id: str) -> sqlite3.Row:
    """As a database gives it."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.row_factory = sqlite3.Row
        found: sqlite3.Row = database.execute("SELECT ? AS id", (id,)).fetchone()
        return found


def closure(id: str) -> Callable[[], str]:
    """A function that knows what it is about from around it."""
    return lambda: id


ALIKE: list[tuple[Any, Any]] = [
    ([1, {"a": (2.5, None)}], [1, {"a": (2.5, None)}]),
    ({"b", "a"}, {"a", "b"}),
    (Item("a"), Item("a")),
    (row("a"), row("a")),
    (closure("a"), closure("a")),
    ((py_object * 1)(["a"]), (py_object * 1)(["a"])),
]
APART: list[tuple[Any, Any]] = [
    ("a", "b"),
    (1, "1"),
    (1, True),
    ([1, 2], [12]),
    ([1], (1,)),
    (Line("a"), Line("b")),
    (Line("a"), ("a",)),
    (partial(print, "a"), partial(print, "b")),
    ({"a": 1}, {"a": 2}),
    ("a" * 1000, "a" * 1001),
    (f"{'a' * 1000}b{'a' * 1000}", f"{'a' * 1000}c{'a' * 1000}"),
    (work, test_branches_of_different_makers_have_different_numbers),
    (Item("a"), Item("b")),
    (Item(["a"]), Item(["b"])),
    (Item("a").show, Item("b").show),
    (Slotted("a"), Slotted("b")),
    (SimpleNamespace(id="a"), SimpleNamespace(id="b")),
    (UserDict(id="a"), UserDict(id="b")),
    (OrderedDict(id="a"), OrderedDict(id="b")),
    (Counter("a"), Counter("b")),
    (Text("a"), Text("b")),
    (row("a"), row("b")),
    (array("i", [1]), array("i", [2])),
    (bytearray(b"a"), bytearray(b"b")),
    (memoryview(b"ab")[::2], memoryview(b"bb")[::2]),
    (Item, Slotted),
    (lambda item="a": item, lambda item="b": item),
    (closure("a"), closure("b")),
]


def said_of_work(*args: Any) -> BranchCall:
    coro = work(*args)
    found = call_of(coro)
    coro.close()
    return found


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_arguments_that_are_equal_data_say_the_same(one: Any, other: Any) -> None:
    """By value, as they were made anew."""
    assert said_of_work(one) == said_of_work(other)


@pytest.mark.parametrize(("one", "other"), APART)
def test_arguments_that_are_other_data_say_something_else(one: Any, other: Any) -> None:
    """By type as well."""
    assert said_of_work(one).said[0] != said_of_work(other).said[0]


def test_what_an_object_holds_may_have_changed() -> None:
    """What else the call is given tells it, then; so do they beside what is made anew each time."""
    one, other, another = (
        said_of_work(*each).said for each in ((Item(0), 0.5), (Item(1), 0.5), (Item(1), 1.5))
    )
    assert [a == b for a, b in zip(one, other, strict=True)] == [False, True, False, True]
    assert [a == b for a, b in zip(other, another, strict=True)] == [False, False, True, True]
    assert said_of_work(SimpleNamespace(id=0)).said[3] != said_of_work(Item(0)).said[3]


def test_what_branches_share_says_nothing_of_them() -> None:
    """A queue holds what it happens to hold, and so does a file that is mapped."""
    with mmap(-1, 4) as mapped:
        queue = asyncio.Queue[int]()
        before = said_of_work(queue, mapped, "a")
        queue.put_nowait(1)
        mapped.write(b"text")
        assert said_of_work(queue, mapped, "a") == before


def test_a_set_says_the_same_in_any_order() -> None:
    """That of texts is another in each process."""
    times = [
        10**9 + 2**20 * each for each in range(20)
    ]  # they share a place in a set, which goes to the first
    one, other = {*times}, {*reversed(times)}
    assert [*one] != [*other]
    assert said_of_work(one) == said_of_work(other)


def test_a_set_of_objects_says_the_same_in_any_order() -> None:
    """They are in the order of where they happen to be."""

    class Alike(Item):
        def __hash__(self) -> int:
            return 1

    one, other = [Alike("a"), Alike("b")], [Alike("b"), Alike("a")]
    assert [each.id for each in {*one}] != [each.id for each in {*other}]
    assert said_of_work({*one}) == said_of_work({*other})


def test_an_argument_may_hold_itself_or_be_large() -> None:
    """The first hundred values of each are looked at, and no more."""
    box: list[Any] = []
    box.append(box)
    assert said_of_work(box, [*range(10**6)], {*range(10**6)}, "a" * 10**7).said[0].count("list") <= 200


def test_what_branches_have_in_common_may_hold_many_objects() -> None:
    """At twenty of a list it is looked, and at the first hundred attributes of one."""
    assert said_of_work([Item(f"item {each}") for each in range(1000)]).said[0].count("item") == 20
    one, other = (SimpleNamespace(**{f"a{each}": object() for each in range(100)}, id=id) for id in "ab")
    assert said_of_work(one) == said_of_work(other)


def test_a_large_argument_hides_no_other_one() -> None:
    """Each is looked at for itself."""
    assert said_of_work([*range(1000)], "a").said[0] != said_of_work([*range(1000)], "b").said[0]


def test_an_argument_may_refuse_to_be_looked_at() -> None:
    """Nobody's task fails for that."""

    class Shy:
        __dataclass_fields__ = ()

        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(name)

    class ShyItem:
        __getattribute__ = Shy.__getattribute__

    assert said_of_work(Shy(), "a").said[3] != said_of_work(Shy(), "b").said[3]
    assert said_of_work(ShyItem(), "a").said[0] != said_of_work(ShyItem(), "b").said[0]


class Lazy:
    """What stands for something that is to be fetched."""

    def __getattribute__(self, name: str) -> Any:
        pytest.fail(f"it is asked for {name}")


class LazyDict:
    """The same, that says what it has."""

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        pytest.fail("it is asked for its attributes")


class LazyRest:
    """The same of what it doesn't have itself."""

    __slots__ = ("id",)

    def __getattr__(self, name: str) -> Any:
        pytest.fail(f"it is asked for {name}")


@pytest.mark.parametrize("kind", [Lazy, LazyDict, LazyRest])
def test_looking_at_an_argument_fetches_nothing(kind: type) -> None:
    """It would be fetched by the loop, and for nobody."""
    assert kind.__name__ in said_of_work(kind()).said[0]


def test_bytes_may_grow_while_they_are_looked_at() -> None:
    """A thread may go on at any line."""
    grown, failed = bytearray(b"a"), []

    def grow(*_: Any) -> Any:
        try:
            grown.append(0)
        except BufferError as error:
            failed.append(error)
        return grow

    before = sys.gettrace()
    sys.settrace(grow)
    try:
        said_of_work(grown)
    finally:
        sys.settrace(before)
    assert len(grown) > 1
    assert failed == []


def nested(makers: str, recorded: Iterable[int] = ()) -> dict[str, list[int]]:
    """The numbers of what branches make, by their makers, of which none has made a call by itself."""
    recognition, found = Recognition(lambda: recorded), {}
    made = [recognition.add(0, call(each)) for each in makers]
    recognition.recognise()
    for maker, branch in zip(makers, made, strict=True):
        assert branch.number is not None
        inner = [recognition.add(branch.number, call(each)) for each in range(2)]
        recognition.recognise()
        found[maker] = [each.number for each in inner if each.number is not None]
    return found


def test_branches_that_a_branch_makes_are_told_by_its_call() -> None:
    """Wherever it is made, and though it has left no record."""
    before = nested("abc")
    assert nested("cab", [number for numbers in before.values() for number in numbers]) == before


def test_branches_that_a_branch_makes_are_told_by_its_place_where_its_call_is_another_each_time() -> None:
    """The places of both count, then."""
    before = nested("abc")
    after = nested("xyz", [number for numbers in before.values() for number in numbers])
    assert [*after.values()] == [*before.values()]
