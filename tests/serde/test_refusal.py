"""Values that cannot be stored: the error says where, what, why, and what to write instead."""

import asyncio
import io
import re
import socket
import threading
import types
from argparse import Namespace
from array import array
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo
from enum import Enum
from functools import partial
from random import Random
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NewType,
    Optional,
    Protocol,
    TextIO,
    TypedDict,
    TypeVar,
    Union,
)
from unittest.mock import MagicMock
from zipfile import ZipFile

import pydantic
import pydantic.v1
import pytest

from flowfn.serde import DEFAULT, Serde, SerializationError

T = TypeVar("T")


class Bare:
    pass


class Holds:
    def __init__(self, thing: Any) -> None:
        self.thing = thing


class Open(Protocol):
    pass


class Base:
    pass


@dataclass
class Storable(Base):
    a: Any


class Options(TypedDict):
    a: int


class Holder(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    thing: Any = None
    _client: Any = None


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


def page() -> pydantic.BaseModel:
    """Of a class that pydantic makes here; what it makes at the top of a module can be found there."""
    return Page[int](items=[])


class OldModel(pydantic.v1.BaseModel):
    pass


class Foreign(tzinfo):
    def utcoffset(self, _: Any) -> None:
        return None


class Summery(tzinfo):
    """As Python's documentation writes zones: asked of no date, it is winter."""

    def utcoffset(self, when: datetime | None) -> timedelta:
        return timedelta(hours=-5) + self.dst(when)

    def dst(self, when: datetime | None) -> timedelta:
        return timedelta(hours=when is not None and 4 <= when.month <= 9)

    def tzname(self, when: datetime | None) -> str:
        return "EDT" if self.dst(when) else "EST"


def _row_of_sqlalchemy() -> Holder:
    """A model as SQLModel has it where it is a table's."""
    holder = Holder()
    holder.__dict__["_sa_instance_state"] = Bare()
    return holder


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _refused(value: Any) -> SerializationError:
    with pytest.raises(SerializationError) as caught:
        DEFAULT.dumps(value)
    return caught.value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (threading.Lock(), ""),
        ({"rows": [0, 1, 2, {"lock": threading.Lock()}]}, '["rows"][3]["lock"]'),
        ({7: (Bare(),)}, "[7][0]"),
        ([Storable(Storable(Bare()))], "[0].a.a"),
        (Holder(thing=[Bare()]), ".thing[0]"),
        (defaultdict(list, {"a": Bare()}), '["a"]'),
        ([b"x", (memoryview(b"x"),)], "[1][0]"),
        ({"rows": MagicMock()}, '["rows"]'),
        ([_row_of_sqlalchemy()], "[0]._sa_instance_state"),
        ([Holds(threading.Lock())], "[0].thing"),
        ([Holds(ZipFile(io.BytesIO(), "w"))], "[0].thing"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_error_leads_to_the_part(value: Any, path: str) -> None:
    """`path` is rooted at "", and the message shows it after `value`."""
    error = _refused(value)
    assert error.path == path
    assert str(error).startswith(f"value{path} is of type ")


def test_private_state_of_a_model_is_named_too() -> None:
    """A client kept in a private attribute is a common cause."""
    holder = Holder()
    holder._client = Bare()
    assert _refused(holder).path == "._client"


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (len, "Store a name"),
        (lambda: None, "Store a name"),
        (partial(len, "a"), "Store a name"),
        (int, "Store its name"),
        (re, "Store its name"),
        ((n for n in "a"), "Make it a list"),
        (map(str, "a"), "Make it a list"),
        (Namespace(a=1), r"Register it, if its attributes are all of it: flowfn\.serde\.allow\(Namespace\)"),
        (io.StringIO(), "Store its path or its content"),
        (threading.Event(), "Make it inside the task"),
        (socket.socket, "Store its name"),
        (memoryview(b"x"), r"Store bytes\(view\)"),
        (MagicMock(), "Set return_value= to what the real one returns"),
        (Bare(), r"dataclass or a pydantic model, or register it: flowfn\.serde\.allow\(Bare\)"),
        (
            page(),
            r"class Named\(Page\[int\]\): ..., or register it: flowfn\.serde\.allow\(Page\[int\]\)",
        ),
        (
            OldModel(),
            r"Derive its class from pydantic.BaseModel, or register it: flowfn\.serde\.allow\(OldModel\)",
        ),
        (defaultdict(lambda: 1), "Use a builtin type such as list"),
        (datetime(2024, 1, 1, tzinfo=Foreign()), r"Use zoneinfo.ZoneInfo .*allow\(Foreign\)"),
        (datetime(2024, 7, 1, tzinfo=Summery()), r"Use zoneinfo.ZoneInfo .*allow\(Summery\)"),
        (datetime(2024, 1, 1, tzinfo=Summery()), r"Use zoneinfo.ZoneInfo .*allow\(Summery\)"),
        (time(12, tzinfo=Summery()), r"Use zoneinfo.ZoneInfo .*allow\(Summery\)"),
        (
            ZipFile(io.BytesIO(), "w"),
            "flowfn cannot restore what zipfile keeps in it. Store what you need of it",
        ),
        (Random(1), "its class extends _random.Random, whose state only it knows. Store plain values"),
        (array("d"), "it is array.array, whose state only it knows. Store plain values, and make it of them"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_error_ends_with_the_remedy(value: Any, remedy: str) -> None:
    """Section 3: errors say what to write instead."""
    with pytest.raises(SerializationError, match=remedy):
        DEFAULT.dumps([value])


def test_a_member_of_a_local_enumeration_is_named_itself() -> None:
    """What Python keeps inside a member is no part of the value."""
    error = _refused([Enum("Local", ["A"], qualname="test.<locals>.Local").A])
    assert error.path == "[0]"
    assert "its class is made inside a function" in str(error)


def test_what_a_library_made_inside_a_function_has_no_name_to_register() -> None:
    """As the lazily translated texts of Django."""
    lazy = type("Lazy", (), {"__module__": "string", "__qualname__": "lazy.<locals>.Lazy"})
    said = str(_refused([lazy()]))
    assert "string makes its class inside a function" in said
    assert ("Store what you need of it, such as str(value)" in said, "allow(" in said) == (True, False)


def test_a_class_whose_module_is_nowhere() -> None:
    """A plugin that was loaded by its file is told where to put its module."""
    module = types.ModuleType("plugin_of_nobody")
    exec("import enum\nclass Color(enum.Enum):\n    RED = 1", vars(module))
    error = _refused(module.Color.RED)
    assert "plugin_of_nobody, is not in sys.modules" in str(error)
    assert "sys.modules['plugin_of_nobody'] = module before exec_module(module)" in str(error)
    assert "flowfn.serde.allow(Color)" in str(error)


def test_a_coroutine_is_refused() -> None:
    """A forgotten `await` is named."""
    coroutine = asyncio.sleep(0)
    with pytest.raises(SerializationError, match="Await it"):
        DEFAULT.dumps(coroutine)
    coroutine.close()


def test_an_array_of_the_standard_library_is_refused_not_flattened() -> None:
    """A type without support never turns into another."""
    from array import array

    with pytest.raises(SerializationError, match=r"array\.array"):
        DEFAULT.dumps(array("i", [1]))


def test_a_value_nested_too_deep_is_refused() -> None:
    """Neither a crash nor a RecursionError."""
    for value in (_nested(300), _nested(100_000), [bytearray(b"x"), _nested(300)], {1: _nested(300)}):
        assert "nested deeper than flowfn stores" in str(_refused(value))


def test_sets_nested_too_deep_are_refused() -> None:
    """Their elements are packed on their own, and the depths add up."""
    value: Any = frozenset()
    for _ in range(100):
        value = frozenset({value})
    assert "nested deeper" in str(_refused(value))


def test_what_is_not_refused_for_depth_can_be_loaded() -> None:
    """Sets inside sets with deep elements are refused when they are stored, not when they are read."""
    value: Any = frozenset()
    for _ in range(5):
        inner: Any = value
        for _ in range(200):
            inner = (inner,)
        value = frozenset({inner})
    assert "nested deeper" in str(_refused(value))


def test_a_value_that_contains_itself_is_refused_by_its_path() -> None:
    """A list, a dict and an object in a circle."""
    items: list[Any] = [0]
    items.append(items)
    mapping: dict[str, Any] = {"a": {}}
    mapping["a"]["b"] = [mapping]
    thing = Storable(None)
    thing.a = thing
    assert [_refused(value).path for value in (items, mapping, thing)] == ["[1]", '["a"]["b"][0]', ".a"]
    assert "contains itself" in str(_refused(items))


def test_an_object_that_cannot_be_stored_and_leads_back_to_itself_is_told_where_it_does() -> None:
    """A node of a tree that knows its parent: the way to the culprit has an end."""
    parent, child = Holds([]), Holds(None)
    parent.thing.append(child)
    child.thing = parent
    error = _refused(parent)
    assert error.path == ".thing[0].thing"
    assert "Make Holds a dataclass" in str(error)


def test_an_error_in_the_values_own_code_is_told() -> None:
    """A broken `__iter__` or property is not flowfn's word."""

    class Broken(dict[str, int]):
        def __getstate__(self) -> Any:
            raise KeyError("mine")

    assert "Broken" in str(_refused(Broken()))


def test_a_signal_inside_an_encoder_is_not_swallowed() -> None:
    """G8: msgpack drops what its hook raises; a KeyboardInterrupt must come out."""

    class Interrupting(type):
        @property
        def _fields(cls) -> Any:
            raise KeyboardInterrupt

    class Value(tuple[int, ...], metaclass=Interrupting):
        pass

    with pytest.raises(KeyboardInterrupt):
        DEFAULT.dumps([Value((1,))])


def test_max_bytes_bounds_what_is_written() -> None:
    """The message gives both sizes."""
    with pytest.raises(SerializationError, match=r"1,00\d bytes, and max_bytes is 100"):
        Serde(max_bytes=100).dumps("x" * 1000)


@pytest.mark.parametrize(
    "annotation",
    [
        threading.Lock,
        type(threading.Lock()),
        Callable,
        Callable[[int], str],
        Generator[int, None, None],
        Iterator[int],
        TextIO,
        io.BytesIO,
        Bare,
        type[int],
        type,
        list[Bare],
        dict[str, Bare],
        Annotated[Bare, "note"],
        NewType("Alias", Bare),
        Union[Bare, Callable[[], int]],  # noqa: UP007
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_annotation_that_no_storable_value_fits_is_refused(annotation: Any) -> None:
    """Before any work: the task's author learns it from the annotation."""
    if annotation is threading.Lock and not isinstance(annotation, type):
        pytest.skip("a function before Python 3.13")
    with pytest.raises(SerializationError, match="What fetch returns cannot be stored"):
        DEFAULT.check(annotation, "fetch")


def test_a_future_inside_a_value_is_named_itself() -> None:
    """Who forgot to wait for one of several results reads where, and not what a future is made of."""
    with pytest.raises(
        SerializationError, match=r"^value\[1\]\[.b.\] is of type .*Future .* Store that: its \.result"
    ):
        DEFAULT.dumps([1, {"b": Future()}])


@pytest.mark.parametrize(
    "annotation",
    [
        None,
        Any,
        object,
        T,
        "Unresolved",
        int,
        list,
        dict[str, list[int]],
        tuple[int, ...],
        Bare | None,
        Optional[Callable[[], int]],  # noqa: UP045
        Literal["a"],
        Sequence[int],
        Options,
        Open,
        Base,
        Storable,
        Holder,
        ValueError,
        datetime,
        {"not": "an annotation"},
    ],
    ids=lambda value: type(value).__name__,
)
def test_check_is_silent_where_a_value_could_be_storable(annotation: Any) -> None:
    """A wrong refusal would cost more than a late one."""
    assert DEFAULT.check(annotation, "fetch") is None


def test_check_knows_registered_classes() -> None:
    """What `allow` made storable is storable for `check` as well."""
    assert Serde().allow(Bare).check(Bare, "fetch") is None


def test_the_path_leads_past_a_key_that_cannot_be_shown() -> None:
    """Python writes no number of more than 4,300 decimals."""
    with pytest.raises(SerializationError, match=r"value\[<int.*>\] is of type _thread.lock"):
        DEFAULT.dumps({10**5000: threading.Lock()})
