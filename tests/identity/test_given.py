"""What tells the object of a method from others of its class: what it was given, as far as it keeps that."""

import functools
import itertools
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from flowfn import entrypoint, task
from flowfn.identity.made_with.captured import given_to_arguments
from flowfn.identity.names import qualified_name


class Shop:
    """Keeps what it is given, and much else."""

    def __init__(self, name: str, size: Any = 3, *, folder: Path = Path("a"), rate: float = 1.0) -> None:
        self.name = name
        self.size = size
        self.folder = folder or os.getcwd()
        self.rate = rate or os.getpid()
        self.orders = 0
        self.process = os.getpid()
        self.label = f"{name} {os.getpid()}"
        self.numbers = itertools.count()

    def order(self, item: str) -> str:
        self.orders += 1
        return item

    @task
    def as_task(self, item: str) -> str:
        return item

    @entrypoint
    def as_workflow(self, item: str) -> str:
        return item

    @functools.lru_cache  # noqa: B019
    def cached(self, item: str) -> str:
        return item

    def __call__(self, item: str) -> str:
        return item


class Branch(Shop):
    """Is given more than it hands on."""

    __slots__ = ("town",)

    def __init__(self, name: str, town: str) -> None:
        super().__init__(name)
        self.town = town

    def order(self, item: str) -> str:
        return super().order(item)


class Renamed:
    """Other methods assign what it was given, or it isn't what was given."""

    def __init__(
        self, first: str, second: str, third: str, fourth: str, fifth: str, other: "Any" = None
    ) -> None:
        third = third or f"process {os.getpid()}"
        self.first = first
        self.second = second
        self.third = third
        self.fourth = fourth
        if other is not None:
            other.fifth = fifth
        self.fourth = f"process {os.getpid()}"

    @property
    def name(self) -> str:
        return self.first

    @name.setter
    def name(self, name: str) -> None:
        self.first = name

    @task
    def order(self) -> None:
        def later() -> None:
            self.second = "later"

        later()


class ByName:
    """Assigns attributes whose names it doesn't have."""

    def __init__(self, name: str) -> None:
        self.name = name

    def order(self, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(self, name, value)


class ByMapping:
    """The same by its `__dict__`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def order(self, **changes: Any) -> None:
        self.__dict__.update(changes)


class Shown:
    """Looks at its `__dict__` only."""

    def __init__(self, name: str) -> None:
        self.name = name

    def order(self) -> str:
        return f"{vars(self)}"


def test_what_it_was_given_counts() -> None:
    """Attributes that are arguments of `__init__` as they were given, of each object; nothing made there."""
    assert given_to_arguments({"self": Shop("a", folder=Path("b")), "item": "x", "other": Shop("b", 4)}) == {
        "self.name": "a", "self.size": 3, "other.name": "b", "other.size": 4,
    }  # fmt: skip


class Spread:
    """Assigns several attributes at once."""

    def __init__(self, host: str, port: int, address: Any, more: Any = None) -> None:
        self.host, self.port = host, port
        self.jobs, self.user, self.name = [], address, host
        self.street, self.number = address
        self.a, self.b, self.c, self.d = host.upper(), port + 1, more or "x", (host, port)
        self.process, self.also = os.getpid(), host
        self.also_host, self.also_process = host, os.getpid()
        self.more, self.folder = (host, port), os.getcwd()


def test_attributes_that_are_assigned_at_once_count_as_one_by_one() -> None:
    """G2: of a tuple with something else in it that isn't made of the arguments alone, none does."""
    assert given_to_arguments({"self": Spread("h", 1, ("s", 2))}) == {
        "self.host": "h", "self.port": 1, "self.user": ["s", 2], "self.name": "h", "self.street": "s",
        "self.number": 2, "self.a": "H", "self.b": 2, "self.c": "x", "self.d": ["h", 1],
    }  # fmt: skip


def test_so_does_what_a_base_was_given() -> None:
    """And what lies in slots."""
    assert given_to_arguments({"self": Branch("a", "b")}) == {
        "self.name": "a", "self.size": 3, "self.town": "b",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (threading.Lock(), qualified_name(type(threading.Lock()))),
        (len, "builtins.len"),
        (Path, qualified_name(Path)),
        (Shown.order, f"{__name__}.Shown.order"),
    ],
    ids=itertools.count(),
)
def test_what_is_no_data_counts_by_name_or_type(size: Any, told: str) -> None:
    """A function or class is its name, and of a lock there is no more to know."""
    assert given_to_arguments({"self": Shop("a", size)}) == {"self.name": "a", "self.size": told}


@dataclass
class Settings:
    tenant: str


class Model(BaseModel):
    tenant: str


class Growing(Shop):
    def grow(self) -> None:
        self.size.append("more")


class Moving(Shop):
    def move(self) -> None:
        self.size.tenant = "another"


HOLDING: list[Any] = [
    lambda tenant: {"tenant": tenant}, lambda tenant: [tenant], lambda tenant: {tenant}, Settings,
    lambda tenant: Model(tenant=tenant), lambda tenant: SimpleNamespace(tenant=tenant), lambda tenant: ([tenant],),
]  # fmt: skip


@pytest.mark.parametrize("made", HOLDING, ids=itertools.count())
def test_what_can_change_counts_by_what_it_holds(made: Any) -> None:
    """G2: a service is told by its settings, in whatever form these are."""
    first, same, other = (given_to_arguments({"self": Shop("a", made(tenant))}) for tenant in "aab")
    assert first == same != other


@pytest.mark.parametrize(("cls", "made"), [(Growing, HOLDING[0]), (Growing, HOLDING[1]), (Moving, Settings)])
def test_what_the_class_may_change_counts_by_type(cls: Any, made: Any) -> None:
    """It is a state: after a crash the object has the first one, and its calls are recorded with later ones."""
    first, other = (given_to_arguments({"self": cls("a", made(tenant))}) for tenant in "ab")
    assert first == other == {"self.name": "a", "self.size": first["self.size"]}


@pytest.mark.parametrize("value", [Renamed("a", "b", "c", "d", "e"), ByName("a"), ByMapping("a")])
def test_what_the_class_assigns_again_does_not_count(value: Any) -> None:
    """It is a state: after a crash the object has the first one, and its calls are recorded with later ones."""
    assert given_to_arguments({"self": value}) == {}


def test_a_class_that_shows_all_that_it_has_assigns_nothing() -> None:
    """Reading `__dict__` is no assignment."""
    assert given_to_arguments({"self": Shown("a")}) == {"self.name": "a"}


class Client:
    """Keeps what operators, conditions and f-strings make of what it is given."""

    def __init__(self, host: str = "", port: int = 80, name: Any = None, *, secure: bool = True) -> None:
        if name is None:
            name = "nobody"
        base = f"{host or 'localhost'}:{port:05}"
        self.base = base
        self.url = ("https://" if secure else "http://") + base
        self.name = name
        self.shown = f"{name}"
        self.insecure = not secure
        self.closed = False

    def get(self) -> str:
        return self.base


class Token:
    """What else is made there reaches these by a condition."""

    def __init__(self, token: str | None, name: str = "a") -> None:
        self.first = str(os.getpid()) if token is None else token
        self.second = token if token else str(os.getpid())
        self.third = (process := os.getpid()) and name
        self.process = process
        self.all = [os.getpid() for _ in "a"] and name
        if os.getpid() > 0:
            name = "b"
        self.name = name

    def get(self) -> str:
        return self.first


def test_what_is_made_of_what_it_was_given_counts() -> None:
    """By operators, conditions, f-strings, and variables that hold nothing else; a constant tells nothing."""
    assert given_to_arguments({"self": Client("a", secure=False)}) == {
        "self.base": "a:00080", "self.url": "http://a:00080", "self.name": "nobody", "self.shown": "nobody",
        "self.insecure": True,
    }  # fmt: skip


class Parts:
    """Keeps parts of what it is given, and what pure functions and a method of its own make of it."""

    def __init__(
        self, *names: str, folder: str = "", make: Any = None, source: Any = None, **options: Any
    ) -> None:
        self.names = names
        self.first = names[0]
        self.region = options["region"]
        self.tier = options.pop("tier", "free")
        self.options = options
        self.folder = Path(folder.rstrip("/"))
        self.size = int(options.get("size", "3"))
        self._connect(folder, f"{folder}!")
        if make is not None:
            self.made = make()
            self.got = source.get("x")
            self.kept = str(make())

    def _connect(self, host: str, name: str) -> None:
        self.host = host
        self.name = name
        self._again()

    def _again(self) -> None:
        self.again = "again"

    def get(self) -> str:
        return self.host


class Loose:
    """Keeps options by their names, one of which it makes itself."""

    def __init__(self, **options: Any) -> None:
        self.__dict__.update(options)
        self.made = os.getpid()

    def get(self) -> Any:
        return self.made


class Setting(Loose):
    """The same by `setattr`."""

    def __init__(self, **options: Any) -> None:
        for name, value in options.items():
            setattr(self, name, value)
        self.made = os.getpid()


class Changing:
    """What it keeps changes later: by other code, by helpers that are called again, or with what it made."""

    def __init__(self, a: str, b: str, c: str, **options: Any) -> None:
        self.options = options
        self._first(a)
        self._second(os.getpid())
        self._third(c)

    def _first(self, a: str) -> None:
        self.a = a

    def _second(self, b: Any) -> None:
        self.b = b

    def _third(self, c: str) -> None:
        self.c = c

    def use(self) -> None:
        self._first("again")
        later = lambda: self._third("again")  # noqa: E731
        later()
        self.options["x"] = 1


def test_parts_of_what_it_was_given_count() -> None:
    """By indices and keys, by methods of texts and pure functions, and by a method that only `__init__` calls."""
    given = {"tier": "a", "region": "eu", "size": "7", "more": [1]}
    parts = Parts("a", "b", folder="/x/", make=os.getpid, source={"x": 1}, **given)
    assert given_to_arguments({"self": parts}) == {
        "self.first": "a", "self.folder": Path("/x"), "self.host": "/x/", "self.name": "/x/!", "self.names": ["a", "b"],
        "self.options.more": [1], "self.options.region": "eu", "self.options.size": "7",
        "self.region": "eu", "self.size": 7, "self.tier": "a",
    }  # fmt: skip


@pytest.mark.parametrize("kind", [Loose, Setting])
def test_what_was_given_by_name_counts(kind: Any) -> None:
    """Where it sets whatever it is given, that is what nothing in its code assigns."""
    assert given_to_arguments({"self": kind(a=1, b="c", made=2)}) == {"self.a": 1, "self.b": "c"}


def test_what_is_set_again_does_not_count() -> None:
    """By a method that others call too, or with something else; nor a mapping whose items code of the class changes."""
    assert given_to_arguments({"self": Changing("a", "b", "c", d="e")}) == {}


def test_what_other_objects_were_given_counts() -> None:
    """An object that it was given counts by what that was given in turn; one that leads back to it, by nothing."""
    name = f"{__name__}.Shop"
    assert given_to_arguments({"self": Shop("a", Shop("b"))}) == {
        "self.name": "a", "self.size": {name: {"name": "b", "size": 3}},
    }  # fmt: skip
    shop = Shop("a")
    shop.size = shop
    assert given_to_arguments({"self": shop}) == {"self.name": "a", "self.size": name}


@pytest.mark.parametrize("name", [{"a", "b"}, object()])
def test_a_text_that_differs_between_processes_does_not_count(name: Any) -> None:
    """The order of a set, and where an object lies in memory."""
    assert "self.shown" not in given_to_arguments({"self": Client("a", name=name)})


def test_a_text_with_braces_that_was_given_counts() -> None:
    """It is the caller's, as a prompt."""
    assert given_to_arguments({"self": Shop("{a}")})["self.name"] == "{a}"


def test_what_a_condition_may_take_from_elsewhere_does_not_count() -> None:
    """An `__init__` that makes a token where none is given makes another one on the next attempt."""
    assert given_to_arguments({"self": Token("a")}) == {}


@pytest.mark.parametrize(
    "argument",
    [SimpleNamespace(name="a"), Shop, Path("a"), "a", [Shop("a")], Shop.order, threading.Lock(), None],
)
def test_other_arguments_tell_nothing(argument: Any) -> None:
    """Classes, strangers, libraries' objects, and what has a digest by itself."""
    assert given_to_arguments({"self": argument}) == {}


_TABLES = """
from dataclasses import dataclass
from enum import Enum

from flowfn.identity.digest import exact
from flowfn.identity.made_with.captured import captured

class Named(Enum):
    ALL = frozenset("abc")

@dataclass(frozen=True)
class Tags:
    names: frozenset

def low(x): return x

def holding(table): return lambda: table

keys = [low, Tags(frozenset("abc")), (low, 1), frozenset("abc"), Named.ALL]
print(*[exact(captured(holding(each))).exact.hex() for key in keys for each in ({key: 1}, {key}, {key: 2})])
"""


def test_what_a_table_is_keyed_by_is_one_in_every_process() -> None:
    """G1: a task that captured it and finished isn't run again, though a key or an item shows an address, or a set."""
    paths = os.pathsep.join(sys.path)
    environments = ({**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths} for seed in "123")
    found = {
        subprocess.run(
            [sys.executable, "-c", _TABLES], env=each, capture_output=True, text=True, check=True
        ).stdout
        for each in environments
    }
    assert [len({*each.split()}) for each in found] == [15]
