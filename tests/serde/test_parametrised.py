"""Generic pydantic models that were given their types: the program's annotations name them, and nothing else does."""

import os
import subprocess
import sys
import typing
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from enum import Enum
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest

pytest.importorskip("pydantic")

from pydantic import BaseModel, ConfigDict

from flowfn.python.parametrised import full_name, is_same

from ..nursery import ENGINE, Nursery, nursery_of

MODELS = """
from typing import Generic, TypeVar

from pydantic import BaseModel

T = TypeVar("T")


class Order(BaseModel):
    number: int


class Page(BaseModel, Generic[T]):
    items: list[T]
"""

PROGRAM = """
{future}
import os
import sys
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import attrs
import models
import other
from flowfn import entrypoint, task
from models import Order, Page
from pydantic import BaseModel


class Answer(BaseModel):
    page: Page[Order]


@dataclass
class Kept:
    page: "Page[Order]"


class Row(NamedTuple):
    page: "Page[Order]"


@attrs.define
class Sheet:
    page: "Page[Order]"


@dataclass
class Nested:
    kept: "Kept"
    numbers: "list[int]"
    texts: "dict[str, list[int]]"
    kinds: ClassVar["list[Page[int]]"]
    groups: "list[list[str]]"


@task
def load(number{unread}) -> {annotation}:
    print("load", flush=True)  # the process may die at once
    page = Page[Order](items=[Order(number=number)])
    return {result}


@entrypoint(checkpointer="runs.db")
def wf() -> int:
    found = load(7).result()
    if "dies" in sys.argv:
        os._exit(9)
    return {read}.items[0].number


if __name__ == "__main__":
    print(wf())
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def nursery(installed: Path) -> Iterator[Nursery]:
    """Starts the programs."""
    with nursery_of("attrs", "pydantic", *ENGINE, installed=installed) as made:
        yield made


@pytest.fixture
def run(tmp_path: Path, nursery: Nursery) -> Run:
    """Runs a program in a process of its own, in one folder."""

    def started(
        *words: str, other: str = "", unread: str = "", **parts: str
    ) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "models.py").write_text(MODELS)
        (tmp_path / "other.py").write_text(other)
        (tmp_path / "app.py").write_text(PROGRAM.format(unread=unread, **parts))
        return nursery.run(tmp_path, "app.py", *words)

    return started


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"], ids=["read", "text"])
@pytest.mark.parametrize(
    ("annotation", "result", "read"),
    [
        ("Page[Order]", "page", "found"),
        ("list[Page[Order]]", "[page]", "found[0]"),
        ("Answer", "Answer(page=page)", "found.page"),
        ("Kept", "Kept(page)", "found.page"),
        ("Row", "Row(page)", "found.page"),
        ("Sheet", "Sheet(page)", "found.page"),
        ("Nested", "Nested(Kept(page), [1], {}, [[]])", "found.kept.page"),
    ],
)
def test_a_model_that_an_annotation_names_is_restored(
    run: Run, future: str, annotation: str, result: str, read: str
) -> None:
    """G1: by a process that hasn't made it, wherever annotations name it and however they are kept."""
    parts = {"future": future, "annotation": annotation, "result": result, "read": read}
    died = run("dies", **parts)
    assert (died.returncode, died.stdout) == (9, "load\n")
    again = run(**parts)
    assert (again.stdout, again.stderr) == ("7\n", "")


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"], ids=["read", "text"])
def test_an_annotation_that_cannot_be_read_hides_none_beside_it(run: Run, future: str) -> None:
    """G1: a parameter's may name what is only there for type checkers."""
    parts = {"future": future, "annotation": "Page[Order]", "result": "page", "read": "found"}
    unread = ", rate: 'NotYet | None' = None"
    assert run("dies", unread=unread, **parts).stdout == "load\n"
    again = run(unread=unread, **parts)
    assert (again.stdout, again.stderr) == ("7\n", "")


def test_registered_it_is_restored_whether_annotations_name_it_or_not(run: Run) -> None:
    """G1: a process that reads a thread needn't have the tasks that made it."""
    registers = "import flowfn.serde\nfrom models import Order, Page\nflowfn.serde.allow(Page[Order])"
    parts = {"future": "", "result": "page", "read": "found", "other": registers}
    assert run("dies", annotation="Page[Order]", **parts).stdout == "load\n"
    again = run(annotation="object", **parts)
    assert (again.stdout, again.stderr) == ("7\n", "")


def test_one_that_stands_in_its_module_is_no_other_that_annotations_name(run: Run) -> None:
    """G1: of two that share a name, that which the module itself has is found by it."""
    stands = "import models\nmodels.__dict__['Page[Order]'] = models.Page[models.Order]"
    other = (
        f"{stands}\nfrom flowfn import task\nclass Order(models.Order): pass\n"
        "@task\ndef also() -> models.Page[Order]: ..."
    )
    parts = {"future": "", "annotation": "object", "result": "page", "read": "found"}
    assert run("dies", other=stands, **parts).stdout == "load\n"
    again = run(other=other, **parts)
    assert (again.stdout, again.stderr) == ("7\n", "")


def test_types_that_are_annotated_are_named_by_no_address(run: Run) -> None:
    """G1: another process has the validator elsewhere."""
    page = "Page[Annotated[Order, AfterValidator(lambda order: order)]]"
    other = (
        "import models\nfrom models import *\nfrom typing import Annotated\nfrom pydantic import AfterValidator\n"
        f"models.Checked = {page}"
    )
    parts = {"future": "", "annotation": "models.Checked", "read": "found", "other": other}
    parts["result"] = "models.Checked(items=[Order(number=number)])"
    assert run("dies", **parts).stdout == "load\n"
    again = run(**parts)
    assert (again.stdout, again.stderr) == ("7\n", "")


def test_it_has_one_name_whoever_made_it_first(run: Run) -> None:
    """G1: what pydantic says of its module depends on that."""
    parts = {"future": "", "annotation": "Page[Order]", "result": "page", "read": "found"}
    assert run("dies", **parts).stdout == "load\n"
    by_a_function = "from models import *\ndef make(): return Page[Order]\nkept = make()"
    again = run(other=by_a_function, **parts)
    assert (again.stdout, again.stderr) == ("7\n", "")


def test_it_is_told_from_one_that_was_given_another_type_of_that_name(run: Run) -> None:
    """G1: a process that imports both reads what one stored that imports either."""
    parts = {"future": "", "annotation": "Page[Order]", "result": "page", "read": "found"}
    assert run("dies", **parts).stdout == "load\n"
    other = (
        "import models\nfrom flowfn import task\nclass Order(models.Order): pass\n"
        "@task\ndef also() -> models.Page[Order]: ...\n"
    )
    again = run(other=other, **parts)
    assert (again.stdout, again.stderr) == ("7\n", "")


TWO = """
import models
from models import *
from typing import Annotated, Optional
from pydantic import Field
from flowfn import task
class Check: pass
{}
@task
def also() -> models.Another: ...
"""
ONE = {
    "future": "",
    "annotation": "models.One",
    "result": "models.One(items=[Order(number=number)])",
    "read": "(found if type(found) is models.One else None)",
}
TITLED = "Page[Annotated[Order, Field(title='{}')]]"


@pytest.mark.parametrize(
    ("one", "another"),
    [
        (TITLED.format("a"), TITLED.format("b")),
        ("Page[Order]", "Page['Order']"),
        ("Page['Order']", "Page[str]"),
        ("Page[Order | None]", "Page[Optional[Order]]"),
    ],
    ids=["by an option", "by its name", "by that of another", "as it is written"],
)
def test_it_is_told_from_one_that_was_given_almost_the_same(run: Run, one: str, another: str) -> None:
    """G1: each is restored as itself, whichever a process has made first."""
    made = [f"models.One = {one}", f"models.Another = {another}"]
    assert run("dies", other=TWO.format("\n".join(made)), **ONE).stdout == "load\n"
    again = run(other=TWO.format("\n".join(reversed(made))), **ONE)
    assert (again.stdout, again.stderr) == ("7\n", "")


def test_of_two_that_were_given_equal_types_either_is_restored(run: Run) -> None:
    """G1: each `Field()` is another object, and says the same."""
    made = [f"models.{name} = {TITLED.format('a')}" for name in ("One", "Another")]
    parts = {**ONE, "read": "found"}
    assert run("dies", other=TWO.format("\n".join(made)), **parts).stdout == "load\n"
    again = run(other=TWO.format("\n".join(reversed(made))), **parts)
    assert (again.stdout, again.stderr) == ("7\n", "")


def test_an_option_may_be_edited(run: Run) -> None:
    """G1: what was stored by the model as it was is restored by the one that it has become."""
    made = f"models.One = models.Another = {TITLED}"
    assert run("dies", other=TWO.format(made.format("a")), **ONE).stdout == "load\n"
    again = run(other=TWO.format(made.format("b")), **ONE)
    assert (again.stdout, again.stderr) == ("7\n", "")


def test_two_that_nothing_tells_apart_are_refused(run: Run) -> None:
    """Section 4.5: another process might take the one for the other."""
    made = "".join(f"models.{name} = Page[Annotated[Order, Check()]]\n" for name in ("One", "Another"))
    ended = run(other=TWO.format(made), **ONE)
    assert ended.returncode == 1
    assert "SerializationError" in ended.stderr


def test_it_has_one_name_on_every_python() -> None:
    """G9: what a type was given is called as the library publishes it, wherever this Python keeps it."""
    assert full_name(Page[Future[int]]) == "Page[concurrent.futures.Future[int]]"


@pytest.mark.parametrize("seed", ["1", "2"])
def test_its_name_says_what_it_was_given_and_how(seed: str) -> None:
    """G1: two classes of pydantic's have two names, and each the same in every process."""
    given: list[Any] = [
        *(list[int], typing.List[int], typing.Optional[int], int | None, None, type(None)),  # noqa: UP006, UP045
        *(Literal[Level.LOW], "int", int, Annotated[int, {"b", "a"}], Annotated[int, partial(max, 1)]),
        *(Annotated[int, lambda x: x > 1], Annotated[int, lambda x: x > 2], Annotated[int, [len]]),
        *(
            Annotated[int, lambda x: x < 1],
            Annotated[int, lambda *, x=1: x],
            Annotated[int, lambda *, x=2: x],
        ),
        *(Annotated[int, lambda x: [y + 1 for y in x]], Annotated[int, lambda x: [y + 2 for y in x]]),
    ]
    classes = [Page[each] for each in given]  # from Python 3.14 on two of these are one
    names = [*map(full_name, classes)]
    assert len(set(names)) == len(set(classes)) >= 18
    assert f"Page[Literal[{__name__}.Level(LOW)]]" in names
    shows = f"from {__name__} import *; print(full_name(Page[Annotated[int, {{'b', 'a'}}]]))"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", shows], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() in names


class AtMost:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def check(self, value: int) -> int:
        return min(value, self.limit)


class AtLeast(AtMost):
    def __repr__(self) -> str:
        return f"AtLeast({self.limit})"


def same(value: int) -> int:
    return value


def at_most(limit: int) -> Any:
    return wraps(same)(lambda value: min(value, limit))


@pytest.mark.parametrize(
    ("one", "another", "are_told"),
    [
        (AtMost(5).check, AtMost(500).check, True),
        (AtLeast(5).check, AtLeast(500).check, True),
        (at_most(5), at_most(500), True),
        (lru_cache(at_most(5)), lru_cache(at_most(500)), True),
        ("5".zfill, "6".zfill, True),
        (str.upper, str.lower, True),
        (same, at_most(5), True),
    ],
    ids=["objects", "objects with a repr", "decorated", "cached", "built-in", "by name", "original"],
)
def test_options_are_told_by_more_than_a_name_that_they_share(one: Any, another: Any, are_told: bool) -> None:
    """G1: of two models with such options neither is taken for the other."""
    models = [Page[Annotated[int, each]] for each in (one, another)]  # type: ignore[valid-type]
    assert (full_name(models[0]) != full_name(models[1]), is_same(*models)) == (are_told, False)


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    item: Any = None


class Level(Enum):
    LOW = object()


def test_a_model_that_no_annotation_names_is_refused(run: Run) -> None:
    """Section 4.5: before it is stored, not when a resumed run can't go on."""
    ended = run(future="", annotation="object", result="page", read="found")
    assert ended.returncode == 1
    assert "SerializationError" in ended.stderr
    assert "is made by whoever asks for it" in ended.stderr
