"""Generic pydantic models that were given their types, as arguments: each is what it was given, with its modules.

G2: pydantic calls two of them alike where two modules have a class of one name, or a type has options.
"""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import AfterValidator, BaseModel, Field

from flowfn.identity.code.fingerprint import fingerprint
from flowfn.identity.digest import exact

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[Any] = []


def order_of(country: str) -> type[BaseModel]:
    """A model that its module, `shops.COUNTRY`, has under the name Order."""
    module = ModuleType(f"shops.{country}")
    exec("from pydantic import BaseModel\nclass Order(BaseModel): pass", vars(module))
    found: type[BaseModel] = vars(module)["Order"]
    return found


def twice(number: int) -> int:
    return number * 2


def thrice(number: int) -> int:
    return number * 3


class Limit:
    """An option that shows where it is."""

    def __init__(self, limit: int) -> None:
        self.limit = limit


ALIKE: dict[str, tuple[Any, Any]] = {
    "modules": (order_of("eu"), order_of("us")),
    "options": (Annotated[int, AfterValidator(twice)], Annotated[int, AfterValidator(thrice)]),
    "objects": (Annotated[int, Limit(1)], Annotated[int, Limit(2)]),
    "a name": ("int", int),
}


@pytest.mark.parametrize("given", ALIKE.values(), ids=ALIKE)
def test_two_that_were_given_other_types_are_two_arguments(given: tuple[Any, Any]) -> None:
    """G2: neither an instance, nor the class, nor what was recorded of the one is taken for the other's."""
    one, other = (Page[each] for each in given)
    assert exact({"page": one()}).exact != exact({"page": other()}).exact
    assert exact({"page": one}).exact != exact({"page": other}).exact


@pytest.mark.parametrize("seed", ["0", "1", "77"])
def test_one_with_a_set_among_its_options_is_one_in_every_process(seed: str) -> None:
    """G1: a resumed run is another process, whose sets iterate in another order."""
    program = (
        f"from {__name__} import *\n"
        "def of(page: Page[Annotated[int, Field(json_schema_extra={'a': {'x', 'y', 'z'}})]]): return type(page)\n"
        "page = of.__annotations__['page']\n"
        "print(exact({'page': page()}).exact.hex(), exact({'page': page}).exact.hex(), fingerprint(page).digest)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
    )  # fmt: skip
    page = Page[Annotated[int, Field(json_schema_extra={"a": {"z", "y", "x"}})]]
    here = [exact({"page": page()}).exact.hex(), exact({"page": page}).exact.hex(), fingerprint(page).digest]
    assert done.stdout.split() == here, done.stderr
