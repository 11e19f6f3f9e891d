"""What tells the workflows that one factory makes from each other: what it was given, as far as they keep that."""

import dis
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import random
from threading import Lock
from typing import Any
from uuid import uuid4

import pytest

from flowfn import task
from flowfn.identity.made_with.factories import given_to_factory, given_to_object


def factory(given: Any, *, derived: str = "", flag: bool | None = None) -> Callable[[], Any]:
    """Make a function that keeps what it is given, and what is made of that."""
    text, count = derived.upper(), 0

    def counts() -> None:
        nonlocal count
        count += 1

    def made() -> Any:
        return given, text, flag, count, counts

    return made


def script() -> Callable[[], Any]:
    """What a script has around all that it does."""
    text = "anything"
    return lambda: text


def nested(tenant: str) -> Callable[[], Callable[[], str]]:
    """A factory of functions without parameters that make functions."""

    def inner() -> Callable[[], str]:
        text = tenant.lower()
        return lambda: text

    return inner


class Maker:
    """A class whose methods make functions."""

    def make(self, name: str) -> Callable[[], str]:
        """Make one."""
        return lambda: name

    @functools.lru_cache  # noqa: B019
    def make_cached(self, name: str) -> Callable[[], str]:
        """Make one, by a method that isn't a plain function."""
        return lambda: name


@pytest.mark.parametrize("given", ["acme", 7, 1.5, b"x", Decimal(1), Path("a"), ("a", 1), frozenset("a")])
def test_what_can_not_change_counts(given: Any) -> None:
    """By its value, and what the factory made of it as well."""
    assert given_to_factory(factory(given, derived="eu")) == {"given": given, "text": "EU"}


@pytest.mark.parametrize("given", [[1], {"a": 1}, {1}, object(), len, True, False, None])
def test_what_can_change_and_flags_do_not_count(given: Any) -> None:
    """Nor does what code beside the function assigns, which is a state."""
    assert given_to_factory(factory(given, flag=True)) == {"text": ""}


@pytest.mark.parametrize("now", [time.time, lambda: datetime.now(UTC), datetime.now])
def test_a_moment_does_not_count(now: Callable[[], Any]) -> None:
    """It was read off the clock since the process began, and is another one on the next attempt."""
    assert given_to_factory(factory(now())) == {"text": ""}


@pytest.mark.parametrize(
    "make", [uuid4, lambda: str(uuid4()), date.today, lambda: date.today().isoformat(), random]
)
def test_what_looks_as_if_it_were_another_on_each_run_counts(make: Callable[[], Any]) -> None:
    """G2: a customer's id looks random, and a nightly job is given the date: they tell two workflows apart."""
    given = make()
    assert given_to_factory(factory(given)) == {"given": given, "text": ""}


def test_a_function_without_parameters_is_no_factory() -> None:
    """Unless one around it takes some."""
    assert given_to_factory(script()) == {}
    assert given_to_factory(nested("ACME")()) == {"text": "acme"}


def test_methods_make_functions_too() -> None:
    """Also one that is found as something else than a function."""
    assert given_to_factory(Maker().make("a")) == {"name": "a"}
    assert given_to_factory(Maker().make_cached("a")) == {"name": "a"}


def test_the_code_of_a_factory_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many it makes: a service may make a workflow for each request."""
    given_to_factory(factory("acme"))
    read: list[Any] = []
    monkeypatch.setattr(dis, "get_instructions", read.append)
    assert given_to_factory(factory("globex")) == {"given": "globex", "text": ""}
    assert read == []


def test_a_function_of_a_module_was_given_nothing() -> None:
    """And neither was what isn't a function."""
    assert given_to_factory(factory) == {}
    assert given_to_factory(len) == {}


def retrying(times: int) -> Any:
    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def around() -> Any:
            return [function() for _ in range(times)]

        return around

    return decorate


def test_what_a_decorator_was_given_is_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of a module is one of a kind, and its decorators may be edited."""
    monkeypatch.setitem(globals(), "script", retrying(3)(script))
    assert given_to_factory(script) == {}


def test_what_a_decorator_was_given_by_hand_counts() -> None:
    """G2: what has the name of another function needn't be the only one."""
    assert given_to_factory(retrying(3)(script)) == {"times": 3}


def test_what_a_decorator_is_around_counts() -> None:
    """It captured the function, and that what it was given; one that captured itself is looked at once."""

    def decorated(given: str) -> Any:
        def inner() -> Any:
            return given, inner

        @functools.wraps(inner)
        def around() -> Any:
            return inner()

        return around

    assert given_to_factory(decorated("acme")) == {"inner": {"given": "acme"}}


def factory_of_a_task(given: Any) -> Callable[[], Any]:
    @task
    def load() -> Any:
        return given

    def made() -> Any:
        return load()

    return made


def factory_of_a_class(given: Any, *, flag: bool = True) -> Any:
    class Step:
        """Keeps what its factory was given."""

        kept = given
        is_kept = flag

        def run(self) -> Any:
            return given

    return Step


def capturing(value: Any) -> Callable[[], Any]:
    def made() -> Any:
        return value

    return made


def test_what_a_captured_task_was_given_counts() -> None:
    """G2: where only a task reads it, the workflow is another one all the same."""
    assert given_to_factory(factory_of_a_task("acme")) == {"load": {"given": "acme"}}


def test_what_a_captured_class_was_made_with_counts() -> None:
    """G2: its constants, and what its methods captured; so of its instances. Flags don't."""
    name = "factory_of_a_class.<locals>.Step"
    step = factory_of_a_class("acme")
    told = {f"{name}.kept": "acme", f"{name}.run.given": "acme"}
    for captured in (step, step()):
        assert given_to_factory(capturing(captured)) == {"value": told}
    assert given_to_object(step()) == {"class": f"{__name__}.{name}", **told}


def test_what_a_captured_object_was_given_counts() -> None:
    """G2: as far as it keeps that; so of what an object of a method keeps."""
    assert given_to_factory(capturing(Keeper("acme", None))) == {"value": {".name": "acme"}}
    assert given_to_object(Keeper("a", Keeper("acme", None)))[".other"] == {".name": "acme"}


@dataclass
class Settings:
    """Data, of which something counts up."""

    tenant: str
    debug: bool = False
    seen: int = 0
    read: int = 0

    def see(self) -> None:
        """Change it."""
        self.seen += 1


def factory_with_settings(settings: Any) -> Any:
    def made() -> None:
        settings.read += 1

    return made


def test_the_fields_of_captured_data_count() -> None:
    """G2: those that neither its class nor the factory assigns; so where an object of a method has it."""
    assert given_to_factory(factory_with_settings(Settings("acme"))) == {"settings": {".tenant": "acme"}}
    assert given_to_object(Keeper("a", Settings("acme")))[".other"] == {".tenant": "acme", ".read": 0}


def test_what_a_class_in_a_function_without_parameters_has_is_code() -> None:
    """No factory made it, and it may be edited."""

    def script() -> Any:
        class Step:
            """Has a constant."""

            kept = "anything"

        return capturing(Step)

    assert given_to_factory(script()) == {}


class Keeper:
    """Keeps what it is given, an object too."""

    def __init__(self, name: str, other: Any) -> None:
        self.name = name
        self.other = other


class Client:
    """An object with all that objects have."""

    def __init__(self, url: str) -> None:
        self.url, self.retries, self.is_open, self.sent, self.lock, self.seen = url, 3, True, 0, Lock(), [1]
        self.last = ""

    def send(self) -> None:
        """Change the state."""

        def sent() -> None:
            self.sent += 1

        sent()

    @property
    def message(self) -> str:
        """The last message."""
        return self.last

    @message.setter
    def message(self, text: str) -> None:
        self.last = text

    @functools.cached_property
    def size(self) -> int:
        """What is kept when it was first asked for."""
        return 7


class Special(Client):
    """One of a class below it."""

    def __init__(self) -> None:
        super().__init__("special")
        self.kind = "x"


@dataclass(slots=True)
class Point:
    """An object without a dict."""

    x: int
    tags: list[str]


HERE = __name__


def test_an_object_is_told_by_what_it_was_made_with() -> None:
    """By its class, and by what can't change and no method of its class, or of one above it, assigns."""
    client = Client("a")
    assert client.size == 7
    assert given_to_object(client) == {"class": f"{HERE}.Client", ".retries": 3, ".url": "a"}
    special = {"class": f"{HERE}.Special", ".kind": "x", ".retries": 3, ".url": "special"}
    assert given_to_object(Special()) == special


def test_an_object_may_be_without_a_dict() -> None:
    """It has slots, or is a value that can't change."""
    assert given_to_object(Point(1, ["a"])) == {"class": f"{HERE}.Point", ".x": 1}
    assert given_to_object(Path("a")) == {"value": Path("a")}
    assert given_to_object(object()) == {"class": "builtins.object"}


def test_a_class_method_is_told_by_its_class() -> None:
    """Which may be one below that of the method."""
    assert given_to_object(Special) == {"class": f"{HERE}.Special"}
