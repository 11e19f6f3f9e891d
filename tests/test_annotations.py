"""What is said of types is read as far as it can be: a name that only type checkers import hides no other."""

import __future__

import sys
from types import FunctionType
from typing import Any
from unittest.mock import MagicMock

import pytest

from flowfn import entrypoint, task
from flowfn.identity.code.unwrapping import functions_of
from flowfn.python.annotations import annotations_of, signature_of

CODE = """
def price(item: Elsewhere, euros: int = 3) -> int:
    return euros

class Row:
    item: Elsewhere
    euros: int
"""


@pytest.fixture(params=["as texts", "when asked for"])
def defined(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A function and a class that name a type which isn't there."""
    later = request.param == "when asked for"
    if later and sys.version_info < (3, 14):
        pytest.skip("Python before 3.14 evaluates annotations at once, and refuses the definition")
    flags = 0 if later else __future__.annotations.compiler_flag
    namespace: dict[str, Any] = {"__name__": "prices"}
    exec(compile(CODE, "prices.py", "exec", flags, dont_inherit=True), namespace)
    return namespace


def test_what_is_not_there_is_its_text(defined: dict[str, Any]) -> None:
    """Of a function and of a class, in the order in which they say it."""
    assert [*annotations_of(defined["price"])] == ["item", "euros", "return"]
    assert [*annotations_of(defined["Row"])] == ["item", "euros"]
    assert annotations_of(defined["price"])["item"] == annotations_of(defined["Row"])["item"] == "Elsewhere"


def test_what_is_no_annotations_says_nothing() -> None:
    """A mock has an attribute of any name."""
    mock = MagicMock()
    mock.__annotations__ = "none"
    assert annotations_of(mock) == annotations_of(5) == {}


def test_a_signature_needs_no_types(defined: dict[str, Any]) -> None:
    """Parameters and their defaults are there, whatever their annotations name."""
    parameters = signature_of(defined["price"]).parameters
    assert [*parameters] == ["item", "euros"]
    assert parameters["euros"].default == 3


def test_a_function_with_such_annotations_is_durable(defined: dict[str, Any]) -> None:
    """It is a task and a workflow as any other."""
    price = task(defined["price"])

    @entrypoint(checkpointer=":memory:")
    def flow(item: str) -> int:
        return int(price(item).result())

    assert flow.invoke("desk") == 3
    assert entrypoint(checkpointer=":memory:")(defined["price"])("desk") == 3


def test_what_evaluates_annotations_is_no_method(defined: dict[str, Any]) -> None:
    """Python makes it for a class as it likes: it is no code of its author's."""
    found = [each for member in vars(defined["Row"]).values() for each in functions_of(member)]
    assert [each for each in found if isinstance(each, FunctionType)] == []
