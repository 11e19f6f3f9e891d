"""Forms in which futures turn out to be of other calls."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from flowfn.futures import Future
from flowfn.identity.digest import digest
from flowfn.identity.renaming import forms_of
from flowfn.identity.volatile import Window

NOW = 1_700_000_000.0


@dataclass
class Order:
    item: Any
    page: Any


def future(call: str) -> Future[Any]:
    made: Future[Any] = Future()
    made.call = call
    return made


def around(page: Any) -> list[Any]:
    others = [future(f"{number:032x}") for number in range(1, 20, 2)]
    return [
        [page, 1, -0.5, float("nan"), b"\\x00", "é", None, 2**70],
        {"a": page, "token": "9d8c7b6a5f4e3d2c1b00112233445566"},
        {page: page, **dict.fromkeys(others, 1)},
        {page, *others},
        frozenset([frozenset([page, *others]), *others]),
        OrderedDict([(1, page)]),
        (Order(page, datetime.fromtimestamp(NOW, UTC)), UUID(int=3)),
    ]


@pytest.mark.parametrize("number", range(7))
def test_a_form_with_another_call_is_that_of_its_future(number: int) -> None:
    """The digest is the one that the same arguments have with a future of that call, whatever holds it."""
    was, now = f"{4:032x}", f"{14:032x}"
    then, later = ({"x": around(future(call))[number]} for call in (was, now))

    def taken(arguments: dict[str, Any]) -> Any:
        return digest(arguments, lambda: Window(NOW, lambda: NOW, lambda: 0.0))

    forms = forms_of(then, taken(then), Window(NOW, lambda: NOW, lambda: 0.0))
    assert forms.digest_with({was: now}) == taken(later) != taken(then)
    assert forms.digest_with({}) == taken(then)
