"""Generic pydantic models that were given their types: the program's annotations name them, and nothing else does."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pydantic")

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


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program in a process of its own, in one folder."""

    def started(
        *words: str, other: str = "", unread: str = "", **parts: str
    ) -> "subprocess.CompletedProcess[str]":
        (tmp_path / "models.py").write_text(MODELS)
        (tmp_path / "other.py").write_text(other)
        (tmp_path / "app.py").write_text(PROGRAM.format(unread=unread, **parts))
        return subprocess.run(
            [sys.executable, "app.py", *words], cwd=tmp_path, capture_output=True, text=True
        )

    return started


@pytest.mark.parametrize(
    "unread", ["", ", rate: 'NotYet | None' = None"], ids=["", "beside one that is not read"]
)
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
    run: Run, future: str, unread: str, annotation: str, result: str, read: str
) -> None:
    """G1: by a process that hasn't made it, wherever annotations name it and however they are kept."""
    parts = {"future": future, "unread": unread, "annotation": annotation, "result": result, "read": read}
    died = run("dies", **parts)
    assert (died.returncode, died.stdout) == (9, "load\n")
    again = run(**parts)
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


def test_a_model_that_no_annotation_names_is_refused(run: Run) -> None:
    """Section 4.5: before it is stored, not when a resumed run can't go on."""
    ended = run(future="", annotation="object", result="page", read="found")
    assert ended.returncode == 1
    assert "SerializationError" in ended.stderr
    assert "is made by whoever asks for it" in ended.stderr
