"""What tells the object of a method from others of its class: what it was given, as far as it keeps that."""

import functools
import itertools
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flowfn import entrypoint, task
from flowfn.identity.captured import given_to_owner


class Shop:
    """Keeps what it is given, and much else."""

    def __init__(self, name: str, size: Any = 3, *, folder: Path = Path("a"), rate: float = 1.0) -> None:
        self.name = name
        self.size = size
        self.folder, self.both = folder, name
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


@pytest.mark.parametrize(
    "method",
    [Shop.order, Shop("a").order, Shop.as_task.func, Shop("a").as_workflow.func, Shop.__call__, Shop("a")],
    ids=["function", "method", "task", "workflow", "call", "object"],
)
def test_what_it_was_given_counts(method: Any) -> None:
    """Attributes that are arguments of `__init__` as they were given, whatever calls the method; nothing made there."""
    assert given_to_owner(method, {"self": Shop("a", folder=Path("b")), "item": "x"}) == {
        "self.name": "a", "self.size": 3,
    }  # fmt: skip


def test_so_does_what_a_base_was_given() -> None:
    """And what lies in slots."""
    assert given_to_owner(Branch.order, {"self": Branch("a", "b")}) == {
        "self.name": "a", "self.size": 3, "self.town": "b",
    }  # fmt: skip


@pytest.mark.parametrize("size", [[1], {"a": 1}, object(), lambda: 1])
def test_what_can_change_does_not_count(size: Any) -> None:
    """What a list holds may be another after the next call."""
    assert given_to_owner(Shop.order, {"self": Shop("a", size)}) == {"self.name": "a"}


@pytest.mark.parametrize("value", [Renamed("a", "b", "c", "d", "e"), ByName("a"), ByMapping("a")])
def test_what_the_class_assigns_again_does_not_count(value: Any) -> None:
    """It is a state: after a crash the object has the first one, and its calls are recorded with later ones."""
    assert given_to_owner(type(value).order, {"self": value}) == {}


def test_a_class_that_shows_all_that_it_has_assigns_nothing() -> None:
    """Reading `__dict__` is no assignment."""
    assert given_to_owner(Shown.order, {"self": Shown("a")}) == {"self.name": "a"}


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
    assert given_to_owner(Client.get, {"self": Client("a", secure=False)}) == {
        "self.base": "a:00080", "self.url": "http://a:00080", "self.name": "nobody", "self.shown": "nobody",
        "self.insecure": True,
    }  # fmt: skip


@pytest.mark.parametrize("name", [{"a", "b"}, object()])
def test_a_text_that_differs_between_processes_does_not_count(name: Any) -> None:
    """The order of a set, and where an object lies in memory."""
    assert "self.shown" not in given_to_owner(Client.get, {"self": Client("a", name=name)})


def test_a_text_with_braces_that_was_given_counts() -> None:
    """It is the caller's, as a prompt."""
    assert given_to_owner(Shop.order, {"self": Shop("{a}")})["self.name"] == "{a}"


def test_what_a_condition_may_take_from_elsewhere_does_not_count() -> None:
    """An `__init__` that makes a token where none is given makes another one on the next attempt."""
    assert given_to_owner(Token.get, {"self": Token("a")}) == {}


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (Shop.order, {"item": "x"}),
        (Shop.order, {"self": SimpleNamespace(name="a")}),
        (Shop.order, {"self": Renamed}),
        (lambda self: self, {"self": Shop("a")}),
        (lambda: 1, {}),
        (len, {"self": Shop("a")}),
        (Path.exists, {"self": Path("a")}),
    ],
    ids=itertools.count(),
)
def test_other_arguments_tell_nothing(function: Any, arguments: dict[str, Any]) -> None:
    """Objects that are left out of the identity, strangers, what isn't a method, and libraries' objects."""
    assert given_to_owner(function, arguments) == {}
