"""What tells the workflows that one factory makes from each other: what it was given, as far as they keep that."""

import functools
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from flowfn.identity.factories import given_to_factory


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


def test_a_function_without_parameters_is_no_factory() -> None:
    """Unless one around it takes some."""
    assert given_to_factory(script()) == {}
    assert given_to_factory(nested("ACME")()) == {"text": "acme"}


def test_methods_make_functions_too() -> None:
    """Also one that is found as something else than a function."""
    assert given_to_factory(Maker().make("a")) == {"name": "a"}
    assert given_to_factory(Maker().make_cached("a")) == {"name": "a"}


def test_a_function_of_a_module_was_given_nothing() -> None:
    """And neither was what isn't a function."""
    assert given_to_factory(factory) == {}
    assert given_to_factory(len) == {}


def test_what_a_decorator_was_given_is_code() -> None:
    """A function of a module is one of a kind, and its decorators may be edited."""

    def retrying(times: int) -> Any:
        def decorate(function: Any) -> Any:
            @functools.wraps(function)
            def around() -> Any:
                return [function() for _ in range(times)]

            return around

        return decorate

    assert given_to_factory(retrying(3)(script)) == {}


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
